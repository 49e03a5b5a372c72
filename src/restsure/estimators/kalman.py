"""A level and its trend, filtered: many filters of many curves at once, loss by loss."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]

STATE = LEVEL, P11, AT, TREND, P12, P22, LIKELIHOOD, S0, LEAST, MOST = range(10)
"""Layers of a filter: the level and its variance, where it stands along log-time, the trend, its covariance with the level
and its variance, twice the log of prior weight and likelihood, and what does not change from loss to loss: the offset of
log-time, and the least and the most that the square of the level counts for in process noise.

The trend ``v`` is kept as ``v / rho``, the level that it will have cost in the end: a step ``du`` of log-time costs the share
``h = 1 - exp(-rho du)`` of it. A layer has a row a filter and a column a cell.
"""


Step: TypeAlias = tuple[Floats, ...]
"""What a step ``du`` of log-time does to filters: the share ``f = exp(-rho du)`` of the trend that stays, ``1 - f``, ``f * f``,
and the process noise of the level and of the trend, as shares of the squared size; of each, a row a filter."""


def follow(state: Floats, steps: Any, losses: Sequence[Any], noises: Sequence[Any]) -> tuple[Floats, Floats]:
    """Take filters over steps of log-time (each a :data:`Step`), each to a loss of some variance, in place.

    Returns the errors of prediction and their variances. A step of no length to a loss of infinite variance changes nothing.
    """
    level, p11, _, trend, p12, p22, _, _, least, most = state
    errors, variances = np.empty((2, len(steps), *level.shape))
    for step, loss, noise, error, variance in zip(steps, losses, noises, errors, variances, strict=True):
        f, h, square, moves_level, moves_trend = step
        # The level drops by the trend, the trend dies out, and both become less certain.
        size = squared_size(level, least, most)
        level -= h * trend
        trend *= f
        less = p12 - h * p22
        p11 += moves_level * size - h * (p12 + less)
        np.multiply(less, f, out=p12)
        p22 *= square
        p22 += moves_trend * size
        # The scalar Kalman step.
        np.subtract(loss, level, out=error)
        np.add(p11, noise, out=variance)
        gain, trend_gain = p11 / variance, p12 / variance
        level += gain * error
        trend += trend_gain * error
        p22 -= trend_gain * p12
        left = 1 - gain
        p12 *= left
        p11 *= left
    return errors, variances


def squared_size(level: Floats, least: Floats, most: Floats) -> Floats:
    """What process noise is a share of, squared: the level, within reason."""
    return np.minimum(np.maximum(level * level, least), most)

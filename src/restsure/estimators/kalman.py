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


Step: TypeAlias = tuple[Any, ...]
"""What a step ``du`` of log-time does to filters: the share ``f = exp(-rho du)`` of the trend that stays, ``1 - f``, ``f * f``,
and the process noise of the level and of the trend, as shares of the squared size; of each, a number or a row a filter."""


def advance(
    level: Any, p11: Any, trend: Any, p12: Any, p22: Any, size: Any, step: Step, loss: Any, noise: Any
) -> tuple[Any, ...]:
    """One step of log-time and the loss of some variance that it leads to, of one filter in numbers, or of many in arrays.

    ``size``: what process noise is a share of, squared. Returns the filter after it, the error of the prediction, and the
    variance of that. A step of no length to a loss of infinite variance changes nothing.
    """
    f, h, square, moves_level, moves_trend = step
    # The level drops by the trend, the trend dies out, and both become less certain.
    level = level - h * trend
    less = p12 - h * p22
    p11 = p11 + (moves_level * size - h * (p12 + less))
    p12 = less * f
    p22 = p22 * square + moves_trend * size
    # The scalar Kalman step.
    error, variance = loss - level, p11 + noise
    gain, trend_gain = p11 / variance, p12 / variance
    left = 1 - gain
    trend = trend * f + trend_gain * error
    return level + gain * error, p11 * left, trend, p12 * left, p22 - trend_gain * p12, error, variance


def follow(state: Floats, steps: Any, losses: Sequence[Any], noises: Sequence[Any]) -> tuple[Floats, Floats]:
    """Take filters over steps of log-time (each a :data:`Step`), each to a loss of some variance, in place.

    Returns the errors of prediction and their variances.
    """
    level, p11, _, trend, p12, p22, _, _, least, most = state
    errors, variances = np.empty((2, len(steps), *level.shape))
    for k, (step, loss, noise) in enumerate(zip(steps, losses, noises, strict=True)):
        size = squared_size(level, least, most)
        level, p11, trend, p12, p22, errors[k], variances[k] = advance(
            level, p11, trend, p12, p22, size, step, loss, noise
        )
    state[LEVEL], state[P11], state[TREND], state[P12], state[P22] = level, p11, trend, p12, p22
    return errors, variances


def squared_size(level: Floats, least: Floats, most: Floats) -> Floats:
    """What process noise is a share of, squared: the level, within reason."""
    return np.minimum(np.maximum(level * level, least), most)

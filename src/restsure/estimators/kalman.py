"""A level and its trend, filtered: many filters of many curves at once, loss by loss."""

from typing import TypeAlias

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


def follow(
    state: Floats, step: Floats, stay: Floats, level_noise: Floats, trend_noise: Floats, loss: Floats, noise: Floats
) -> None:
    """Take filters over steps of log-time, each to a loss: arrays of shape (steps, filters, cells).

    In place: of ``state``, of ``loss``, where errors of prediction are left, and of ``noise``, the variance of the losses,
    where that of the errors is. ``stay`` is ``exp(-rho du)``; the process noises are for an e-fold. A step of no length to a
    loss of infinite variance changes nothing.
    """
    rows = tuple(state)
    steps = zip(stay, 1 - stay, level_noise * step, trend_noise * step, loss, noise, strict=True)
    for f, h, moves_level, moves_trend, y, variance in steps:
        _propagate(rows, f, h, moves_level, moves_trend)
        _observe(rows, y, variance)


def squared_size(level: Floats, least: Floats, most: Floats) -> Floats:
    """What process noise is a share of, squared: the level, within reason."""
    return np.minimum(np.maximum(level * level, least), most)


def _propagate(rows: tuple[Floats, ...], f: Floats, h: Floats, level_noise: Floats, trend_noise: Floats) -> None:
    """The level drops by the trend, the trend dies out, and both become less certain."""
    level, p11, _, trend, p12, p22, _, _, least, most = rows
    size = squared_size(level, least, most)
    level -= h * trend
    trend *= f
    less = p12 - h * p22
    p11 += level_noise * size - h * (p12 + less)
    np.multiply(less, f, out=p12)
    p22 *= f * f
    p22 += trend_noise * size


def _observe(rows: tuple[Floats, ...], loss: Floats, noise: Floats) -> None:
    """The scalar Kalman step; the error and its variance take the places of the loss and of its variance."""
    level, p11, _, trend, p12, p22, _, _, _, _ = rows
    loss -= level
    noise += p11
    gain, trend_gain = p11 / noise, p12 / noise
    level += gain * loss
    trend += trend_gain * loss
    p22 -= trend_gain * p12
    left = 1 - gain
    p12 *= left
    p11 *= left

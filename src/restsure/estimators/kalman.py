"""A level and its trend, filtered: many filters of many curves at once, loss by loss."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from restsure.estimators import live_filters

Floats: TypeAlias = NDArray[np.float64]

STATE = LEVEL, P11, AT, TREND, P12, P22, LIKELIHOOD, S0, LEAST, MOST = range(10)
"""Layers of a filter: the level and its variance, where it stands along log-time, the trend, its covariance with the level
and its variance, twice the log of prior weight and likelihood, and what does not change from loss to loss: the offset of
log-time, and the least and the most that the square of the level counts for in process noise.

The trend ``v`` is kept as ``v / rho``, the level that it will have cost in the end: a step ``du`` of log-time costs the share
``h = 1 - exp(-rho du)`` of it. A layer has a row a filter and a column a cell.
"""


Step: TypeAlias = tuple[Any, ...]
"""As in live_filters.py; of each part a row a filter."""

Formula: TypeAlias = Callable[..., tuple[Any, ...]]
begin: Formula = live_filters.begin  # interpreted, they take arrays as well
advance: Formula = live_filters.advance
wander: Formula = live_filters.wander
at_floor: Callable[..., Any] = live_filters.at_floor


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

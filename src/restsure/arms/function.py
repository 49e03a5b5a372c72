"""Arms from functions of the pull count."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from restsure import checks
from restsure.arms.base import Arms
from restsure.arms.noise import Noise
from restsure.errors import InvalidParameter, WrongType

Curve = Callable[[NDArray[np.float64]], Any]
"""Mean losses at an array of pull counts 1, 2, ..."""


class FunctionArms(Arms):
    """Arms whose mean loss after s pulls is ``curves[i](s)``; each curve takes and returns an array.

    >>> arms = FunctionArms([lambda s: 1 / s, lambda s: 0.4 + 0 * s], noise=None)
    >>> arms.means(np.array([0]), 5)
    array([[0.2, 0.4]])
    """

    instances = None

    def __init__(self, curves: Sequence[Curve], *, noise: Noise | None = None):
        self.curves = tuple(curves)
        if not self.curves:
            raise InvalidParameter("curves: must not be empty")
        for curve in self.curves:
            if not callable(curve):
                raise WrongType(f"curves: must be functions of the pull count, but one is {curve!r}")
        if noise is not None:
            checks.instance("noise", noise, Noise)
        self.noise = noise
        self.n_arms = len(self.curves)
        self._kept: dict[bytes, NDArray[np.float64]] = {}

    def mean(self, run: ArrayLike, arm: ArrayLike, pull: ArrayLike) -> NDArray[np.float64]:
        pull = np.asarray(pull, dtype=np.float64)
        if pull.ndim == 2 and len(pull) == 1 and np.ndim(arm) == 2:  # arms in step
            return np.asarray(self._stretch(pull[0])[np.asarray(arm)[:, 0]])
        arms, pulls = np.broadcast_arrays(np.asarray(arm), pull)
        means = np.empty(pulls.shape)
        for index in np.unique(arms).tolist():
            here = arms == index
            means[here] = self.curves[index](pulls[here])
        return means

    def _stretch(self, pulls: NDArray[np.float64]) -> NDArray[np.float64]:
        """All curves at some pulls; runs ask for the same few stretches again and again, so they are kept."""
        key = pulls.tobytes()
        if key not in self._kept:
            if len(self._kept) >= 64:
                self._kept.clear()
            self._kept[key] = np.stack([np.broadcast_to(curve(pulls), pulls.shape) for curve in self.curves])
        return self._kept[key]

"""Arms read from tables of recorded losses."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from restsure import checks
from restsure.arms.base import Arms
from restsure.arms.noise import Noise
from restsure.errors import InvalidParameter


class TableArms(Arms):
    """Replay of recorded learning curves.

    ``losses[i, s - 1]`` is the true loss of arm i after s pulls, by which the regret is scored: shape (K, T), or (R, K, T)
    for one instance a run. The policy sees ``observed`` (same shape; ``losses`` if None), plus ``noise`` if one is given.

    >>> arms = TableArms([[0.5, 0.3, 0.2], [0.4, 0.4, 0.4]])
    >>> arms.n_arms, arms.longest, float(arms.mean(0, 0, 3))
    (2, 3, 0.2)
    """

    def __init__(self, losses: ArrayLike, *, observed: ArrayLike | None = None, noise: Noise | None = None):
        self.losses = checks.real_array("losses", losses)
        self.seen = self.losses if observed is None else checks.real_array("observed", observed)
        if self.losses.ndim not in (2, 3):
            raise InvalidParameter(f"losses: must have shape (K, T) or (R, K, T), but has {self.losses.shape}")
        if self.seen.shape != self.losses.shape:
            raise InvalidParameter(f"observed: must have the shape {self.losses.shape}, but has {self.seen.shape}")
        if noise is not None:
            checks.instance("noise", noise, Noise)
        self.noise = noise
        self.n_arms, self.longest = self.losses.shape[-2:]
        self.instances = None if self.losses.ndim == 2 else self.losses.shape[0]

    def mean(self, run: ArrayLike, arm: ArrayLike, pull: ArrayLike) -> NDArray[np.float64]:
        return self._cells(self.losses, run, arm, pull)

    def observed(self, run: ArrayLike, arm: ArrayLike, pull: ArrayLike) -> NDArray[np.float64]:
        return self._cells(self.seen, run, arm, pull)

    def _cells(self, table: NDArray[np.float64], run: Any, arm: Any, pull: Any) -> NDArray[np.float64]:
        column = np.asarray(pull) - 1
        return np.asarray(table[arm, column] if self.instances is None else table[run, arm, column])

    def __repr__(self) -> str:
        return f"TableArms(<{' x '.join(map(str, self.losses.shape))} losses>, noise={self.noise})"

"""Rules that pull the arm with the lowest index, one pull a decision."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from restsure.estimators import Cells
from restsure.policies.peer import Floats, PeerPlay, Rows
from restsure.policies.windows import TrendWindows


class IndexedPlay(PeerPlay, ABC):
    """Pull every arm ``warmup`` times in turn, then always the lowest index; in the end return the best standing."""

    def __init__(self, n_arms: int, horizon: int, runs: int, *, warmup: int, eps: float, log: bool = False):
        super().__init__(n_arms, horizon, runs, log=log)
        self.warmup, self.warming = warmup, True
        self.windows = TrendWindows(runs * n_arms, eps)

    @abstractmethod
    def index(self, rows: Rows) -> Floats:
        """What is minimised when an arm is chosen: shape (runs, arms)."""

    def learn(self, cells: Cells, losses: Floats) -> None:
        self.windows.update(cells, losses)

    def decide(self, rows: Rows) -> None:
        made = self.spent(rows)
        ended = made == self.horizon
        if ended.any():  # runs need not end together: an arm that fails takes a pull with it
            self.choose(rows[ended], self.best(rows[ended]), "lowest estimate at the end")
            rows, made = rows[~ended], made[~ended]
        if not rows.size:
            return
        if self.warming:
            cold = (self.pulls[rows] < self.warmup) & ~self.failed[rows]
            warming = cold.any(axis=1)
            self._warm_up(rows[warming], cold[warming], made[warming])
            rows = rows[~warming]
            self.warming = bool(warming.any())
        if rows.size:
            index = self.index(rows)
            if self.failed.any():
                index = np.where(self.failed[rows], np.inf, np.minimum(index, 1e300))
            self.wanted[rows, index.argmin(axis=1)] = 1

    def _warm_up(self, rows: Rows, cold: NDArray[np.bool_], made: NDArray[np.int64]) -> None:
        """One pull of each of the coldest arms, as far as the budget goes."""
        pulls = np.where(cold, self.pulls[rows], self.horizon + 1)
        coldest = cold & (pulls == pulls.min(axis=1, keepdims=True))
        fits = np.cumsum(coldest, axis=1) <= (self.horizon - made)[:, None]
        self.wanted[rows] = coldest & fits

    def table(self, values: Floats) -> Floats:
        """One row a run."""
        return values.reshape(-1, self.n_arms)

"""Means over the last losses of an arm, and their projection along the last trend."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from restsure.estimators import Cells

Floats = NDArray[np.float64]


class TrendWindows:
    """The sums behind the rising-bandit estimators, for many cells at once, in constant time a loss.

    After ``n`` losses ``y_1..y_n`` the window is ``h = floor(eps n)``. Kept are, over the last h losses, the sums of ``y_l``,
    ``y_{l-h}``, ``l y_l`` and ``l y_{l-h}``; with them the projection to any number of pulls m is

        (1/h) sum_{l=n-h+1..n} [ y_l + (m - l) (y_l - y_{l-h}) / h ]

    The losses themselves are kept too: those that leave a window must be known, 8 bytes each.
    """

    def __init__(self, cells: int, eps: float):
        self.eps = eps
        self.losses = np.zeros((cells, 16))
        self.pulls = np.zeros(cells, dtype=np.int64)
        self.width = np.zeros(cells, dtype=np.int64)
        self.total = np.zeros(cells)  # of all losses
        self.now, self.before = np.zeros(cells), np.zeros(cells)  # sums of y_l and of y_{l-h}
        self.now_at, self.before_at = np.zeros(cells), np.zeros(cells)  # the same, times l

    def update(self, cells: Cells, losses: Floats) -> None:
        """The next losses of each cell: shape (number of cells, block)."""
        rows: Any = np.arange(len(self.pulls))[cells]
        for column in losses.T:
            self._add(rows, column)

    def _add(self, rows: NDArray[np.intp], loss: Floats) -> None:
        n = self.pulls[rows] + 1
        self.pulls[rows] = n
        self.total[rows] += loss
        if int(n.max()) > self.losses.shape[1]:
            self.losses = np.concatenate((self.losses, np.zeros_like(self.losses)), axis=1)
        self.losses[rows, n - 1] = loss
        old = self.width[rows]
        h = (self.eps * n).astype(np.int64)
        self.width[rows] = h
        # A window that stays as wide drops its oldest loss; one that grows takes one in on either side.
        grown = h > old
        leaving = np.where(grown, 0.0, self.losses[rows, n - h - 1])
        entering = self.losses[rows, np.maximum(n - 2 * h - 1 + grown, 0)]
        before = self.before[rows] + np.where(grown, entering, leaving - entering)
        self.now[rows] += loss - leaving
        self.before[rows] = before
        self.now_at[rows] += n * loss - (n - h) * leaving
        self.before_at[rows] += np.where(grown, (n - h) * entering + before, n * leaving - (n - h) * entering)

    def mean(self, cells: Cells) -> Floats:
        """Mean of the last window; of all losses while the window is empty; infinite before the first loss."""
        n, h = self.pulls[cells], self.width[cells]
        sums = np.where(h > 0, self.now[cells], self.total[cells])
        return divided(sums, np.where(h > 0, h, n))

    def projection(self, cells: Cells, pulls: Any) -> Floats:
        """Where the last trend leads after ``pulls`` pulls; the mean so far while the window is empty."""
        h = self.width[cells]
        width = np.maximum(h, 1)
        now, before = self.now[cells], self.before[cells]
        drift = (pulls * (now - before) - (self.now_at[cells] - self.before_at[cells])) / width
        return np.where(h > 0, (now + drift) / width, self.mean(cells))


def divided(sums: Any, counts: Any) -> Floats:
    """``sums / counts``, infinite where nothing was counted."""
    return np.asarray(np.divide(sums, counts, out=np.full(np.shape(sums), np.inf), where=np.asarray(counts) > 0))

"""Means over the last losses of an arm, and their projection along the last trend."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from restsure.estimators import Cells, indices_of

Floats = NDArray[np.float64]

PULLS, WIDTH, TOTAL, NOW, BEFORE, NOW_AT, BEFORE_AT = range(7)  # rows of the state


class TrendWindows:
    """The sums behind the rising-bandit estimators, for many cells at once, in constant time a loss.

    After ``n`` losses ``y_1..y_n`` the window is ``h = floor(eps n)``. Kept are, over the last h losses, the sums of ``y_l``,
    ``y_{l-h}``, ``l y_l`` and ``l y_{l-h}``; with them the projection to any number of pulls m is

        (1/h) sum_{l=n-h+1..n} [ y_l + (m - l) (y_l - y_{l-h}) / h ]

    The losses themselves are kept too: those that leave a window must be known, 8 bytes each. What is known of a cell stands
    in one row of ``state``, so that a pull touches one line of memory and not seven.
    """

    def __init__(self, cells: int, eps: float):
        self.eps = eps
        self.losses = np.empty((cells, 16))
        self.state = np.zeros((cells, 8))

    def update(self, cells: Cells, losses: Floats) -> Floats:
        """The next losses of each cell: shape (number of cells, block). Returns their state, a column a cell."""
        rows = indices_of(cells, len(self.state))
        for column in losses.T:
            state = self._add(rows, column)
        return state

    def _add(self, rows: NDArray[np.intp], loss: Floats) -> Floats:
        state = self.state[rows].T.copy()
        n = state[PULLS] + 1
        h = np.floor(self.eps * n)
        last, wide = n.astype(np.intp) - 1, h.astype(np.intp)
        if int(last.max()) >= self.losses.shape[1]:
            self.losses = np.concatenate((self.losses, np.empty_like(self.losses)), axis=1)
        flat, newest = self.losses.reshape(-1), rows * self.losses.shape[1] + last
        flat[newest] = loss
        # A window that stays as wide drops its oldest loss; one that grows takes one in on either side.
        grown = h > state[WIDTH]
        leaving = np.where(grown, 0.0, flat[newest - wide])
        entering = flat[newest - 2 * wide + grown]
        before = (n - h) * entering
        state[PULLS], state[WIDTH] = n, h
        state[TOTAL] += loss
        state[NOW] += loss - leaving
        state[BEFORE] += np.where(grown, entering, leaving - entering)
        state[NOW_AT] += n * loss - (n - h) * leaving
        state[BEFORE_AT] += np.where(grown, before + state[BEFORE], n * leaving - before)
        self.state[rows] = state.T
        return state

    def counts(self, cells: Cells) -> tuple[Floats, Floats]:
        """Losses seen, and the width of the window."""
        return self.state[cells, PULLS], self.state[cells, WIDTH]

    def total_mean(self, cells: Cells) -> Floats:
        """Mean of all losses; infinite before the first."""
        return divided(self.state[cells, TOTAL], self.state[cells, PULLS])

    def mean(self, cells: Cells) -> Floats:
        """Mean of the last window; of all losses while the window is empty; infinite before the first loss."""
        n, h = self.counts(cells)
        sums = np.where(h > 0, self.state[cells, NOW], self.state[cells, TOTAL])
        return divided(sums, np.where(h > 0, h, n))

    def projection(self, cells: Cells, pulls: Any) -> Floats:
        """Where the last trend leads after ``pulls`` pulls; the mean so far while the window is empty."""
        return projected(self.state[cells].T, pulls)


def projected(state: Floats, pulls: Any) -> Floats:
    """:meth:`TrendWindows.projection` from the state itself, a column a cell."""
    h = state[WIDTH]
    width = np.maximum(h, 1)
    drift = (pulls * (state[NOW] - state[BEFORE]) - (state[NOW_AT] - state[BEFORE_AT])) / width
    trend = (state[NOW] + drift) / width
    empty = h == 0
    return np.where(empty, divided(state[TOTAL], state[PULLS]), trend) if empty.any() else trend


def divided(sums: Any, counts: Any) -> Floats:
    """``sums / counts``, infinite where nothing was counted."""
    return np.asarray(np.divide(sums, counts, out=np.full(np.shape(sums), np.inf), where=np.asarray(counts) > 0))

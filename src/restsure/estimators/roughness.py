"""How large the losses of a run are, and how noisy those of each arm: from the losses alone, whatever their curve."""

import numpy as np
from numpy.typing import NDArray

from restsure.estimators.base import Cells

Floats = NDArray[np.float64]

POOLED = 20.0  # what the noise of all arms weighs against an arm's own, in second differences
OWN = 10  # second differences of an arm that count towards the noise of all


class Roughness:
    """Losses, their scale and their noise, for the arms of many runs.

    With ``a_i`` the mean loss of arm i and ``med`` their median, the scale is ``L = min(med, max(8 std(a_i), med / 10))``. The
    noise of an arm comes from second differences ``d_s = y_s - 2 y_{s-1} + y_{s-2}``, which no smooth curve has, weighed by
    ``s - 1``: ``V_i = sum w d^2 / 6 / sum w``. That of all arms is ``Rp = (sum min(n_i - 2, 10) V_i + (.02 L)^2) / (sum
    min(n_i - 2, 10) + 1)``, and the noise used is ``(20 Rp + (n_i - 2) V_i) / (20 + n_i - 2)``, at least ``(.001 L)^2``.
    """

    def __init__(self, runs: int, n_arms: int):
        cells = runs * n_arms
        self.runs, self.n_arms = runs, n_arms
        self.losses = np.zeros((cells, 16))
        self.pulls = np.zeros(cells, dtype=np.int64)
        self.total, self.squares, self.weights = np.zeros(cells), np.zeros(cells), np.zeros(cells)

    def update(self, cells: NDArray[np.intp], losses: Floats) -> None:
        """The next losses of each cell: shape (number of cells, block)."""
        block, n = losses.shape[1], self.pulls[cells]
        while int(n.max()) + block > self.losses.shape[1]:
            self.losses = np.concatenate((self.losses, np.zeros_like(self.losses)), axis=1)
        columns = n[:, None] + np.arange(block)
        self.losses[cells[:, None], columns] = losses
        pull = columns + 1
        rough = pull > 2
        bend = losses - 2 * self._before(cells, columns, 1) + self._before(cells, columns, 2)
        weight = np.where(rough, pull - 1.0, 0.0)
        self.squares[cells] += (weight * bend * bend).sum(axis=1) / 6
        self.weights[cells] += weight.sum(axis=1)
        self.total[cells] += losses.sum(axis=1)
        self.pulls[cells] = n + block

    def _before(self, cells: NDArray[np.intp], columns: NDArray[np.int64], back: int) -> Floats:
        earlier: Floats = self.losses[cells[:, None], np.maximum(columns - back, 0)]
        return earlier

    def mean(self, cells: Cells) -> Floats:
        """Mean of all losses; infinite before the first."""
        pulls = self.pulls[cells]
        return np.where(pulls > 0, self.total[cells] / np.maximum(pulls, 1), np.inf)

    def scale(self, runs: NDArray[np.intp]) -> Floats:
        """``L`` of some runs, over the arms that have been pulled."""
        shape = (self.runs, self.n_arms)
        pulls = self.pulls.reshape(shape)[runs]
        means = self.total.reshape(shape)[runs] / np.maximum(pulls, 1)
        if not pulls.any(axis=1).all():
            return np.full(len(runs), 1e-9)
        if (pulls > 0).all():
            middle, spread = np.median(means, axis=1), np.std(means, axis=1)
        else:
            means = np.where(pulls > 0, means, np.nan)
            middle, spread = np.nanmedian(means, axis=1), np.nanstd(means, axis=1)
        return np.asarray(np.maximum(np.minimum(middle, np.maximum(8 * spread, middle / 10)), 1e-9))

    def noise(self, runs: NDArray[np.intp], scale: Floats) -> Floats:
        """The variance of one loss, for every arm of some runs of that scale: shape (runs, arms)."""
        shape, size = (self.runs, self.n_arms), scale[:, None]
        extra = np.maximum(self.pulls.reshape(shape)[runs] - 2, 0)
        weights = self.weights.reshape(shape)[runs]
        own = np.where(weights > 0, self.squares.reshape(shape)[runs] / np.maximum(weights, 1), 0.0)
        counted = np.minimum(extra, OWN)
        pooled = ((counted * own).sum(axis=1, keepdims=True) + (0.02 * size) ** 2) / (
            counted.sum(axis=1, keepdims=True) + 1
        )
        blended = (POOLED * pooled + extra * own) / (POOLED + extra)
        return np.asarray(np.maximum(blended, (0.001 * size) ** 2))

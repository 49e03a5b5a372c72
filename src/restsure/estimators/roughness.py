"""How large the losses of a run are, and how noisy those of each arm: from the losses alone, whatever their curve."""

import numpy as np
from numpy.typing import NDArray

from restsure.estimators.base import Cells, cells_of

Floats = NDArray[np.float64]

POOLED = 20.0  # what the noise of all arms weighs against an arm's own, in second differences
OWN = 10  # second differences of an arm that count towards the noise of all


HEIGHT = 8.0  # times the usual loss of a run: above that a loss only says that it is far too high
FADES = 4.0  # an arm's level is at most so many times its last losses: what it started with is past
STOCK = 1.05  # scale and noise are looked at again when the losses of a run have grown by this factor


class Roughness:
    """The scale and the noise of losses, for the arms of many runs; constant memory an arm.

    With ``a_i`` the mean loss of arm i (at most four times its last ones) and ``med`` the size of their median, the scale is
    ``L = min(med, max(8 std(a_i), med / 10))`` (``med`` for an arm alone), at least a thousandth of the largest. The noise of
    an arm comes from second differences ``d_s = y_s - 2 y_{s-1} + y_{s-2}``, which no smooth curve has, weighed by ``s - 1``:
    ``V_i = sum w d^2 / 6 / sum w``, over its last losses: those since the last power of two but one, from the 16th on.
    That of all arms is ``Rp = (sum min(n_i - 2, 10) V_i + (.02 L)^2) / (sum min(n_i - 2, 10) + 1)``, and the noise used is
    ``(20 Rp + (n_i - 2) V_i) / (20 + n_i - 2)``, at least ``(.001 L)^2``.

    Losses may start anywhere, or run away: above ``h = 8 med`` they count as ``h (1 + log(y / h))``, and not as noise.
    """

    def __init__(self, runs: int, n_arms: int):
        cells = runs * n_arms
        self.shape = runs, n_arms
        self.last = np.zeros((cells, 2))  # the last loss but one, and the last
        self.pulls = np.zeros(cells, dtype=np.int64)
        self.total, self.squares, self.highest = np.zeros(cells), np.zeros(cells), np.full(cells, -np.inf)
        self.older, self.ends = (
            np.zeros(cells),
            np.full(cells, 16.0),
        )  # squares of the age before, and when this one ends
        self.height = np.full(cells, np.inf)  # as of the last time that stock was taken
        self.stock_at = np.zeros(runs)  # losses of a run from which on it is time to look again

    def update(self, cells: Cells, losses: Floats) -> None:
        """The next losses of each cell: shape (number of cells, block)."""
        block, n = losses.shape[1], self.pulls[cells]
        series = np.concatenate((self.last[cells], losses), axis=1)
        self.last[cells] = series[:, -2:]
        highest = self.highest[cells] = np.maximum(self.highest[cells], losses.max(axis=1))
        bend = series[:, 2:] - 2 * series[:, 1:-1] + series[:, :-2]
        height = self.height[cells]
        if (highest > height).any():
            usual = series <= height[:, None]
            bend = np.where(usual[:, 2:] & usual[:, 1:-1] & usual[:, :-2], bend, 0.0)
        before = n[:, None] + np.arange(block)  # pull s has s - 1 before it
        self._add(cells, n, before * (before > 1) * bend * bend / 6)
        self.total[cells] += losses.sum(axis=1)
        self.pulls[cells] = n + block

    def _add(self, cells: Cells, n: NDArray[np.int64], squares: Floats) -> None:
        """Weighed squares of the losses after the n-th; those of the last age but one are forgotten when one ends.

        Ages end before the 16th loss, the 32nd, ...: what an arm started with, which can be any number, is forgotten.
        """
        block, ends = squares.shape[1], self.ends[cells]
        if (n + block < ends).all():
            self.squares[cells] += squares.sum(axis=1)
            return
        age = np.maximum(np.frexp(n[:, None] + 1 + np.arange(block))[1] - 4, 0)  # of each loss: 0 before the 16th
        last, then = age[:, -1], np.frexp(ends)[1] - 5
        same, next_one = then == last, then == last - 1
        now, before = self.squares[cells], self.older[cells]
        self.older[cells] = np.where(same, before, np.where(next_one, now, 0.0)) + _total(
            squares, age == last[:, None] - 1
        )
        self.squares[cells] = np.where(same, now, 0.0) + _total(squares, age == last[:, None])
        self.ends[cells] = np.ldexp(16.0, last)

    def due(self, runs: NDArray[np.intp], seen: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether to take stock of these runs: their losses have grown by a twentieth, or an arm has its first ones.

        ``seen``: losses of each of their arms that were there the last time.
        """
        pulls = self.pulls.reshape(self.shape)[runs]
        told = pulls.sum(axis=1)
        due = told >= self.stock_at[runs]
        if not seen.all():
            due |= ((seen.reshape(pulls.shape) == 0) & (pulls > 0)).any(axis=1)
        self.stock_at[runs[due]] = STOCK * told[due]
        return np.asarray(due)

    def mean(self, cells: Cells) -> Floats:
        """Mean of all losses, at most four times the last ones; infinite before the first."""
        pulls, last = self.pulls[cells], self.last[cells]
        mean = self.total[cells] / np.maximum(pulls, 1)
        latest = last.max(axis=1)
        faded = np.where((latest > 0) & (pulls > 1), np.minimum(mean, FADES * latest), mean)
        return np.where(pulls > 0, faded, np.inf)

    def scale(self, runs: NDArray[np.intp]) -> Floats:
        """``L`` of some runs, over the arms that have been pulled; tiny before the first loss."""
        pulls = self.pulls.reshape(self.shape)[runs]
        seen = pulls > 0
        count = seen.sum(axis=1)
        means = self.mean(cells_of(runs, self.shape[1])).reshape(pulls.shape)
        ranked = np.sort(means, axis=1)
        row, middle = np.arange(len(runs)), np.maximum(count - 1, 0)
        median = np.abs((ranked[row, middle // 2] + ranked[row, (middle + 1) // 2]) / 2)
        height = np.where(median > 0, HEIGHT * median, np.inf)
        self.height.reshape(self.shape)[runs] = height[:, None]
        means = np.where(seen, np.minimum(means, height[:, None]), 0.0)  # a runaway is not to set the scale
        size = np.maximum(count, 1)[:, None]
        apart = np.where(seen, means - means.sum(axis=1, keepdims=True) / size, 0.0)
        spread = np.sqrt((apart * apart).sum(axis=1) / size[:, 0])
        scale = np.minimum(median, np.where(count > 1, np.maximum(8 * spread, median / 10), median))
        least = np.maximum(1e-3 * np.abs(means).max(axis=1), 1e-9)  # where most arms have no loss at all
        return np.where(count > 0, np.maximum(scale, least), 1e-9)

    def noise(self, runs: NDArray[np.intp], scale: Floats) -> Floats:
        """The variance of one loss, for every arm of some runs of that scale: shape (runs, arms)."""
        size = scale[:, None]
        pulls = self.pulls.reshape(self.shape)[runs]
        extra = np.maximum(pulls - 2, 0)
        began = self.ends.reshape(self.shape)[runs] / 4  # the age before this one
        skipped = np.where(began > 8, (began - 1) * (began - 2), 2)
        weights = np.maximum((pulls * (pulls - 1) - skipped) / 2, 1)  # of s - 1 over s = 3, ..., n, or from there
        own = (self.squares + self.older).reshape(self.shape)[runs] / weights
        counted = np.minimum(extra, OWN)
        pooled = ((counted * own).sum(axis=1, keepdims=True) + (0.02 * size) ** 2) / (
            counted.sum(axis=1, keepdims=True) + 1
        )
        blended = (POOLED * pooled + extra * own) / (POOLED + extra)
        return np.asarray(np.maximum(blended, (0.001 * size) ** 2))


def flattened(losses: Floats, height: Floats) -> Floats:
    """``h (1 + log(y / h))`` in the place of losses y above h."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(losses > height, height * (1 + np.log(losses / height)), losses)


def _total(values: Floats, which: NDArray[np.bool_]) -> Floats:
    return np.asarray(np.where(which, values, 0.0).sum(axis=1))

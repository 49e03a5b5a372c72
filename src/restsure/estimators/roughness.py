"""How large the losses of a run are, and how noisy those of each arm: from the losses alone, whatever their curve."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from restsure.estimators.base import Cells, cells_of, indices_of, pick, place_of

Floats = NDArray[np.float64]

POOLED = 20.0  # what the noise of all arms weighs against an arm's own, in second differences
OWN = 10  # second differences of an arm that count towards the noise of all
HEIGHT = 8.0  # times the usual loss of a run: above that a loss only says that it is far too high
RUNAWAY = HEIGHT * HEIGHT  # the upper one of two middle arms counts as so many times the lower one at the most
NOTHING = 1e-60  # the size of losses that are all zero: its square is still a number, and so is the square of that
FADES = 4.0  # an arm's level is at most so many times its last losses: what it started with is past
STOCK = 1.05  # scale and noise are looked at again when the losses of a run have grown by this factor
KEPT = BEFORE, LAST, PULLS, HIGHEST, TOTAL, SQUARES, ENDS, HEIGHTS = range(8)  # layers of what is kept of an arm


class Roughness:
    """The scale and the noise of losses, for the arms of many runs; constant memory an arm.

    With ``a_i`` the mean loss of arm i (at most four times its last ones) and ``med`` the size of their median, the scale is
    ``L = min(med, max(8 std(a_i), med / 10))`` (``med`` for an arm alone), at least a thousandth of the largest. The noise of
    an arm comes from second differences ``d_s = y_s - 2 y_{s-1} + y_{s-2}``, which no smooth curve has, weighed by ``s - 1``:
    ``V_i = sum w d^2 / 6 / sum w``, over its last losses: those since the last power of two but one, from the 16th on.
    That of all arms is ``Rp = (sum min(n_i - 2, 10) V_i + (.02 L)^2) / (sum min(n_i - 2, 10) + 1)``, and the noise used is
    ``(20 Rp + (n_i - 2) V_i) / (20 + n_i - 2)``, at least ``(.001 L)^2``.

    Losses may start anywhere, or run away: above ``h = 8 med`` they count as ``h (1 + log(y / h))``, and not as noise. Where
    half of the arms have run away, the upper one of the two in the middle counts as 64 times the lower one at the most.
    """

    def __init__(self, runs: int, n_arms: int):
        cells = runs * n_arms
        self.shape = runs, n_arms
        self.kept = np.zeros((len(KEPT), cells))
        self.kept[HIGHEST], self.kept[HEIGHTS] = -np.inf, np.inf  # the height as of the last time that stock was taken
        self.kept[ENDS] = (
            2  # before this loss an age ends, whose squares are summed up: there are none of the first two
        )
        self.older = np.zeros(cells)  # squares of the age before
        self.skipped = np.full(cells, 2.0)  # twice the weights of the losses before these ages
        self.stock_at = np.zeros(runs)  # losses of a run from which on it is time to look again

    @property
    def pulls(self) -> Floats:
        """The number of losses of each arm."""
        return np.asarray(self.kept[PULLS])

    @property
    def highest(self) -> Floats:
        """The highest loss of each arm."""
        return np.asarray(self.kept[HIGHEST])

    @property
    def height(self) -> Floats:
        """Above which a loss of an arm is far too high, as of the last time that stock was taken."""
        return np.asarray(self.kept[HEIGHTS])

    def update(self, cells: Cells, losses: Floats) -> None:
        """The next losses of each cell: shape (number of cells, block)."""
        which = indices_of(cells, self.kept.shape[1])
        kept = self.kept.take(which, axis=1)
        _, _, pulls, highest, total, squares, ends, height = kept
        series = np.concatenate((kept[:PULLS], losses.T))
        new = series[2:]
        bend = new - 2 * series[1:-1] + series[:-2]
        kept[:PULLS] = series[-2:]
        total += _along(np.add, new)
        np.maximum(highest, _along(np.maximum, new), out=highest)
        if np.count_nonzero(highest > height):
            usual = series <= height
            bend = np.where(usual[2:] & usual[1:-1] & usual[:-2], bend, 0.0)
        before = pulls + np.arange(float(len(new)))[:, None]  # pull s has s - 1 before it
        weighed = before * bend * bend
        pulls += len(new)
        if np.count_nonzero(pulls >= ends):
            self._turn_ages(which, kept, before, weighed)
        else:
            squares += _along(np.add, weighed)
        self.kept[:, place_of(which)] = kept

    def _turn_ages(self, cells: NDArray[np.intp], kept: Floats, before: Floats, weighed: Floats) -> None:
        """Weighed squares of losses with so many before them; those of the last age but one are forgotten when one ends.

        Ages end before the 16th loss, the 32nd, ...: what an arm started with, which can be any number, is forgotten.
        """
        weighed = np.where(before < 2, 0.0, weighed)
        age = np.maximum(np.frexp(before + 1)[1] - 4, 0)  # of each loss: 0 before the 16th
        last, then = age[-1], np.frexp(kept[ENDS])[1] - 5
        same, next_one = then == last, then == last - 1
        older, now = self.older[cells], kept[SQUARES]
        self.older[cells] = np.where(same, older, np.where(next_one, now, 0.0)) + _total(weighed, age == last - 1)
        kept[SQUARES] = np.where(same, now, 0.0) + _total(weighed, age == last)
        kept[ENDS] = np.where(kept[PULLS] < 2, 2, np.ldexp(16.0, last))
        began = np.ldexp(4.0, last)  # the age before this one
        self.skipped[cells] = np.where(began > 8, (began - 1) * (began - 2), 2)

    def due(self, runs: NDArray[np.intp], pulls: NDArray[Any], seen: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether to take stock of these runs: their losses have grown by a twentieth, or an arm has its first ones.

        ``pulls``: losses of each of their arms; ``seen``: those that were there the last time.
        """
        pulls = pulls.reshape(-1, self.shape[1])
        told = np.add.reduce(pulls, axis=1)
        due = told >= self.stock_at[runs]
        if np.count_nonzero(seen) < seen.size:
            due |= ((seen.reshape(pulls.shape) == 0) & (pulls > 0)).any(axis=1)
        if np.count_nonzero(due):
            self.stock_at[runs[due]] = STOCK * told[due]
        return np.asarray(due)

    def mean(self, cells: Cells) -> Floats:
        """Mean of all losses, at most four times the last ones; infinite before the first."""
        before, last, pulls, _, total, _, _, _ = pick(self.kept, cells)
        mean = total / np.maximum(pulls, 1.0)
        latest = np.maximum(before, last)
        faded = np.where(latest > 0, np.minimum(mean, FADES * latest), mean)
        return faded if np.count_nonzero(pulls) == len(pulls) else np.where(pulls > 0, faded, np.inf)

    def scale(self, runs: NDArray[np.intp]) -> Floats:
        """``L`` of some runs, over the arms that have been pulled; tiny before the first loss."""
        pulls = self.pulls.reshape(self.shape).take(runs, axis=0)
        means = self.mean(cells_of(runs, self.shape)).reshape(pulls.shape)
        everyone = np.count_nonzero(pulls) == pulls.size
        count: Any = self.shape[1] if everyone else np.add.reduce(pulls > 0, axis=1)
        row: Any = slice(None) if everyone else np.arange(len(runs))
        ranked = means.copy()
        ranked.sort(axis=1)
        lower, upper = ranked[row, abs(count - 1) // 2], ranked[row, count // 2]
        upper = np.where(lower > 0, RUNAWAY * np.minimum(upper / RUNAWAY, lower), upper)
        median = np.abs(lower + upper) / 2
        height = np.where(median > 0, HEIGHT * median, np.inf)[:, None]
        self.kept[HEIGHTS].reshape(self.shape)[runs] = height
        means = np.minimum(means, height)  # a runaway is not to set the scale
        if not everyone:
            means[pulls == 0] = 0.0
            count = np.maximum(count, 1)
        apart = means - (np.add.reduce(means, axis=1) / count)[:, None]
        if not everyone:
            apart[pulls == 0] = 0.0
        spread = np.sqrt(np.add.reduce(apart * apart, axis=1) / count)
        scale = np.minimum(median, np.where(count > 1, np.maximum(8 * spread, median / 10), median))
        # where most arms have no loss at all
        least = np.maximum(1e-3 * np.maximum.reduce(np.abs(means), axis=1), NOTHING)
        scale = np.maximum(scale, least)
        return scale if everyone else np.where(pulls.any(axis=1), scale, NOTHING)

    def noise(self, runs: NDArray[np.intp], scale: Floats) -> Floats:
        """The variance of one loss, for every arm of some runs of that scale: shape (runs, arms)."""
        cells = cells_of(runs, self.shape)
        _, _, pulls, _, _, squares, _, _ = pick(self.kept, cells)
        extra = np.maximum(pulls - 2, 0.0)
        weights = np.maximum((pulls * (pulls - 1) - self.skipped[cells]) / 2, 1.0)  # of s - 1 over s = 3, ..., n, or on
        own = (squares + self.older[cells]) / (6 * weights)
        extra, own = extra.reshape(-1, self.shape[1]), own.reshape(-1, self.shape[1])
        counted = np.minimum(extra, OWN)
        pooled = np.add.reduce(counted * own, axis=1) + (0.02 * scale) ** 2
        pooled /= np.add.reduce(counted, axis=1) + 1
        blended = ((POOLED * pooled)[:, None] + extra * own) / (POOLED + extra)
        return np.asarray(np.maximum(blended, ((0.001 * scale) ** 2)[:, None]))


def flattened(losses: Floats, height: Floats) -> Floats:
    """``h (1 + log(y / h))`` in the place of losses y above h."""
    if not np.count_nonzero(losses > height):
        return losses
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(losses > height, height * (1 + np.log(losses / height)), losses)


def _along(ufunc: np.ufunc, series: Floats) -> Floats:
    """Sum or maximum over the losses of each cell; one loss is its own."""
    return series[0] if len(series) == 1 else np.asarray(ufunc.reduce(series))


def _total(values: Floats, which: NDArray[np.bool_]) -> Floats:
    return np.asarray(np.where(which, values, 0.0).sum(axis=0))

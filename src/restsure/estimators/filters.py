"""Filters of a learning curve: which there are, their prior, and what they predict once they have run."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from restsure.estimators.base import Cells, pick
from restsure.estimators.curve_model import CurveStates, Floats
from restsure.estimators.misfit import RISES, bends


class Filter(NamedTuple):
    """One way a curve may go on: ``dl = -v du``, ``dv = -rho v du`` in ``u = log(s + offset T)``; sizes in units of L."""

    offset: float  # s0 as a share of the pulls an arm can get
    rho: float  # how fast the trend dies out along log-time: 1/2 as in the paper, -1 for a straight line
    weight: float  # prior
    slope_sd: float  # prior spread of the trend; in units of the arm's own mean loss, where that is far above the scale
    level_noise: float = 0.05  # process noise an e-fold, as a share of the level
    trend_noise: float = 0.10


FILTERS = (
    Filter(0, 1 / 2, 6 / 17, 0.3, 0.04),  # falls at once
    Filter(1 / 20, 1 / 2, 3 / 17, 0.6, 0.03),  # after a delay
    Filter(1 / 2, 1 / 2, 1 / 17, 0.6, 0.075),  # nearly linear
    Filter(2 / 5, -1, 2 / 17, 0.45),  # a straight line, until it is not
    Filter(0, 1, 2 / 17, 0.3, 0.08),  # soon done
    Filter(0, 1 / 10, 1 / 17, 0.2),  # nearly linear in log-time
    Filter(0, 1 / 2, 2 / 17, 0.6, 0.01, 0.02),  # nearly exactly a power law
)
LEVEL_SD, SLOPE = 2.0, 0.1  # prior spread of the level and prior mean of the trend, in units of the scale
ALOFT = 1.5  # an arm whose mean loss is so many times the scale is far above the others
STALE = 1.25  # a filter is run again when its noise or scale has moved by more than this factor
KINSHIP = 8.0  # arms that the prior weights of the filters count for, against the arms of the run
LEAST_SIZE, MOST_SIZE = 0.02**2, 2.0**2  # what the square of the level counts for in process noise, likewise squared
OUTLOOK = START, SPREAD, SINCE, FALL, DRIFT, LESS, MORE, BOTTOM, WEIGHT, OFFSET, MINUS_RHO = range(11)  # of predictions


class FilteredCurves(CurveStates):
    """What filters predict, however they were run; arrays have layers, in each a row a filter and a column a cell."""

    def __init__(self, runs: int, lengths: Floats, filters: Sequence[Filter] = FILTERS, kinship: float = KINSHIP):
        cells, size = runs * len(lengths), (len(filters), runs * len(lengths))
        self.shape, self.kinship = (runs, len(lengths)), kinship
        offset, self.rho, self.prior, slope_sd, level_noise, trend_noise = (
            np.array(column)[:, None] for column in zip(*filters, strict=True)
        )
        self.noises = level_noise, trend_noise = level_noise**2, (trend_noise / self.rho) ** 2
        self.drift, self.curb = level_noise + trend_noise, trend_noise / self.rho
        self.slope, self.slope_variance = SLOPE / self.rho, (slope_sd / self.rho) ** 2
        self.s0 = offset * lengths
        self.lines = np.flatnonzero(self.rho[:, 0] < 0)
        # where v / rho is if the trend v falls: a line, for which rho < 0, has it below 0
        self.falling = np.where(self.rho > 0, 0.0, -np.inf), np.where(self.rho > 0, np.inf, 0.0)
        self.outlook = np.zeros((len(OUTLOOK), *size))
        self.outlook[OFFSET], self.outlook[MINUS_RHO] = np.tile(self.s0, runs), -self.rho
        self.outlook[WEIGHT] = 1 / len(filters)
        self.seen = np.zeros(cells, dtype=np.int64)  # losses that the filters have run over
        self.at = np.ones(cells)  # the pull from which predictions start
        self.odd = np.zeros(cells, dtype=np.int8)  # curves that do not follow any filter, and how
        self.line = np.zeros((3, cells))  # and where they could go: level, fall a pull, and after how many

    @abstractmethod
    def means(self, cells: Cells) -> Floats:
        """The mean loss of each cell, which is all that is known before its filters have run; infinite without a loss."""

    def note_bends(self, cells: NDArray[np.intp], count: Floats, total: Floats, noise: Floats) -> None:
        """Which of these curves do not follow any filter, by what they lost in the quarters of their pulls."""
        found = bends(count, total, noise)
        if np.count_nonzero(found.kind):
            rising = (found.kind == RISES) & (self.odd[cells] == RISES)  # where it was going before stays as it was
            self.line[:, cells] = np.where(rising, self.line[:, cells], (found.level, found.fall, found.at))
        self.odd[cells] = found.kind

    def misfits(self) -> NDArray[np.int8]:
        return self.odd

    def hope(self, cells: Cells, pulls: Floats) -> Floats:
        """A straight line: a curve that speeds up may go on as it does, one that rises may go back to where it was going."""
        level, fall, at = self.line[:, cells]
        return np.where(self.odd[cells] > 0, np.maximum(level - fall * (pulls - at), np.minimum(level, 0.0)), np.inf)

    def straight(self, cells: Cells, pulls: Floats, width: Floats) -> Floats:
        """The lowest loss in the joint confidence region of filter and loss, among the filters that are straight lines.

        Loss x of filter j is in it if ``((x - M_j) / S_j)**2 - 2 log(p_j / max p) <= width**2``: the less likely the line, the
        less of the spread it may use.
        """
        mean, variance, weight = self._ahead(cells, pulls)
        mean, variance, odds = mean[self.lines], variance[self.lines], weight[self.lines] / np.maximum.reduce(weight)
        with np.errstate(divide="ignore"):
            left = width * width + 2 * np.log(odds)
        lowest = mean - np.sqrt(np.maximum(left, 0.0) * np.maximum(variance, 0.0))
        return np.asarray(np.minimum.reduce(np.where(left >= 0, lowest, np.inf), initial=np.inf))

    def predict(self, cells: Cells, pulls: Floats) -> tuple[Floats, Floats]:
        mean, variance, weight = self._ahead(cells, pulls)
        seen, mixed = self.seen[cells], np.add.reduce(weight * mean)
        apart = mean - mixed
        sd = np.sqrt(np.add.reduce(weight * (variance + apart * apart)))
        if np.count_nonzero(seen) == len(seen):
            return mixed, sd
        return np.where(seen > 0, mixed, self.means(cells)), np.where(seen > 0, sd, np.inf)

    def bound(self, cells: Cells, near: Floats, far: Floats) -> tuple[Floats, Floats]:
        """The mean falls along the way, and the variance of each filter grows; only the filters' disagreement may do either.

        That is at most the spread around a fixed point, and a square is largest at one of the ends.
        """
        mean, variance, weight = self._ahead(cells, far)
        mean_before, _, _ = self._ahead(cells, near)
        lowest = np.add.reduce(weight * mean)
        apart = np.maximum((mean - lowest) ** 2, (mean_before - lowest) ** 2)
        return lowest, np.sqrt(np.add.reduce(weight * (variance + apart)))

    def _ahead(self, cells: Cells, pulls: Floats) -> tuple[Floats, Floats, Floats]:
        """Each filter's mean and variance at ``pulls``, and its weight."""
        start, spread, since, fall, drift, less, more, bottom, weight, s0, minus_rho = pick(self.outlook, cells)
        time = np.log(np.maximum(pulls, self.at[cells]) + s0) - since
        h = 1 - np.exp(minus_rho * time)
        return np.maximum(start - fall * h, bottom), spread + drift * time - h * (less - more * h), weight

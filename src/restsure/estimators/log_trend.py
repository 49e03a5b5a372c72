"""Learning curves of unknown shape: a level and a trend in log-time, filtered."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from restsure.estimators.base import Cells, among, cells_of, pick, place_of
from restsure.estimators.curve_model import CurveModel, CurveStates, Floats
from restsure.estimators.kalman import (
    AT,
    LEAST,
    LEVEL,
    LIKELIHOOD,
    MOST,
    P11,
    P12,
    P22,
    S0,
    STATE,
    TREND,
    follow,
    squared_size,
)
from restsure.estimators.log_time import LogTime, batches, for_each
from restsure.estimators.misfit import FEWEST, RISES, bends
from restsure.estimators.roughness import Roughness, flattened
from restsure.estimators.thinned import ThinnedLosses


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
USED = SCALE, NOISE, HEIGHT = range(3)  # layers of what the filters of an arm were started with
OUTLOOK = START, SPREAD, SINCE, FALL, DRIFT, LESS, MORE, BOTTOM, WEIGHT, OFFSET, MINUS_RHO = range(11)  # of predictions


@dataclass(frozen=True)
class LogTrend(CurveModel):
    """A level ``l`` and a drop ``v`` per e-fold of training, ``dl = -v du``, ``dv = -rho v du`` in ``u = log(s + s0)``.

    Without process noise this *is* ``alpha (s + s0)**-rho + beta``. With a little of it old losses are forgotten at the rate
    the noise justifies, and a wrong exponent is absorbed. Kalman filters with several ``s0`` and ``rho`` (``FILTERS``), among
    them a straight line, are mixed by prior weight times likelihood. All sizes are relative to the scale L of the run's
    losses, and the noise of each arm comes from second differences of its losses, drawn towards that of all arms
    (:class:`Roughness`).

    Late losses are fed as means of groups of a twentieth of the pulls before them (:class:`ThinnedLosses`), so that n losses
    are ``40 + 20 log(n / 40)`` steps of a filter and as many numbers kept. When scale or noise have moved by a quarter, the
    filters of that arm run over these groups again. The scale settles with the first losses and the noise with its estimate:
    this happens a few times in a game, at a cost that grows with log n.

    Losses are measured from a known lower bound, ``HorizonLCB(floor=...)``.
    """

    def numbers_kept(self, pulls: int) -> int:
        return 24 * len(FILTERS) + 256

    def start(self, runs: int, lengths: Floats) -> "LogTrendStates":
        return LogTrendStates(runs, lengths)


class LogTrendStates(CurveStates):
    """The filters of many arms, and what they predict; arrays have layers, in each a row a filter and a column a cell."""

    def __init__(self, runs: int, lengths: Floats, filters: Sequence[Filter] = FILTERS, kinship: float = KINSHIP):
        cells, size = runs * len(lengths), (len(filters), runs * len(lengths))
        self.shape, self.kinship = (runs, len(lengths)), kinship
        offset, rho, self.prior, slope_sd, level_noise, trend_noise = (
            np.array(column)[:, None] for column in zip(*filters, strict=True)
        )
        level_noise, trend_noise = level_noise**2, (trend_noise / rho) ** 2
        self.drift, self.curb = level_noise + trend_noise, trend_noise / rho
        self.slope, self.slope_variance = SLOPE / rho, (slope_sd / rho) ** 2
        # where v / rho is if the trend v falls: a line, for which rho < 0, has it below 0
        self.falling = np.where(rho > 0, 0.0, -np.inf), np.where(rho > 0, np.inf, 0.0)
        self.roughness, self.losses = Roughness(runs, len(lengths)), ThinnedLosses(cells)
        self.time = LogTime(self.losses.groups, offset * lengths, rho, level_noise, trend_noise)
        self.used = np.full((len(USED), cells), np.nan)
        self.full = np.zeros((len(STATE), *size))  # after all complete groups
        self.done = np.zeros(cells, dtype=np.int64)  # how many these are
        self.outlook = np.zeros((len(OUTLOOK), *size))  # after the losses of the group at hand too
        self.seen = np.zeros(cells, dtype=np.int64)  # how many losses that makes
        self.at = np.ones(cells)  # the pull from which predictions start
        self.full[S0] = self.outlook[OFFSET] = np.tile(offset * lengths, runs)
        self.outlook[MINUS_RHO], self.outlook[WEIGHT] = -rho, 1 / len(filters)
        self.alone = np.zeros(size)  # posterior weights of the filters, each arm by itself
        self.odd = np.zeros(cells, dtype=np.int8)  # curves that do not follow any filter, and how
        self.line = np.zeros((3, cells))  # and where they could go: level, fall a pull, and after how many

    def update(self, cells: Cells, losses: Floats) -> None:
        self.roughness.update(cells, losses)
        self.losses.update(cells, losses)

    def refresh(self, runs: NDArray[np.intp]) -> NDArray[np.intp]:
        """Run the filters over the losses they have not seen; start those again whose scale or noise has moved.

        Only here, at a decision, so that neither the blocks in which losses are told nor a look in between changes anything.
        Stock of scale and noise is taken when the losses of a run have grown by a twentieth, and for an arm's first losses.
        """
        cells = cells_of(runs, self.shape)
        pulls, seen = self.losses.pulls[cells], self.seen[cells]
        new = seen < pulls
        due = self.roughness.due(runs, pulls, seen)
        if np.count_nonzero(due):
            new.reshape(-1, self.shape[1])[due] |= self._take_stock(runs[due])
        changed = among(cells, new)
        if changed.size:
            self._run(changed)
            self._share_weights(changed, runs)
        return changed

    def _take_stock(self, runs: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Back to the prior where scale or noise have moved: which arms of these runs that are, shape (runs, arms)."""
        cells = cells_of(runs, self.shape)
        scale = self.roughness.scale(runs)
        self._look_for_misfits(cells)
        now = np.empty((len(USED), len(runs), self.shape[1]))
        now[SCALE], now[NOISE] = scale[:, None], self.roughness.noise(runs, scale)
        now[HEIGHT] = self.roughness.height[cells].reshape(now[HEIGHT].shape)
        new, old = now.reshape(len(USED), -1), pick(self.used, cells)
        moved = np.maximum(new[:HEIGHT] / old[:HEIGHT], old[:HEIGHT] / new[:HEIGHT])  # NaN where there was none before
        stale = ~(np.maximum(moved[SCALE], moved[NOISE]) <= STALE)
        higher = self.roughness.highest[cells] > np.fmin(new[HEIGHT], old[HEIGHT])
        if np.count_nonzero(higher):
            with np.errstate(invalid="ignore"):
                stale |= higher & (np.maximum(new[HEIGHT] / old[HEIGHT], old[HEIGHT] / new[HEIGHT]) > STALE)
        stale &= self.losses.pulls[cells] > 0
        if np.count_nonzero(stale):
            self._start_again(among(cells, stale), new[:, stale])
        return np.asarray(stale.reshape(-1, self.shape[1]))

    def _start_again(self, cells: NDArray[np.intp], used: Floats) -> None:
        """The prior, in units of the scale."""
        scale, _, height = self.used[:, cells] = used
        own = np.abs(flattened(self.roughness.mean(cells), height))
        steep = np.where(own > ALOFT * scale, own, scale)  # who is far above can fall far
        state, square = self.full.take(cells, axis=2), scale * scale
        state[LEVEL], state[TREND], state[P12] = scale, self.slope * scale, 0.0
        state[P11], state[P22] = LEVEL_SD**2 * square, self.slope_variance * (steep * steep)
        state[AT] = np.log(state[S0] + 1)  # that of the first loss: no step before it
        state[LIKELIHOOD] = 2 * np.log(self.prior)
        state[LEAST], state[MOST] = 0.02**2 * square, 2**2 * square
        self.full[:, :, place_of(cells)], self.done[cells] = state, 0

    def _look_for_misfits(self, cells: Cells) -> None:
        pulls = self.losses.pulls[cells]
        grown = among(cells, (pulls >= FEWEST) & (pulls > self.seen[cells]))
        if grown.size:
            found = bends(self.losses, grown, self.used[NOISE, grown])
            if np.count_nonzero(found.kind):
                rising = (found.kind == RISES) & (self.odd[grown] == RISES)  # where it was going before stays as it was
                self.line[:, grown] = np.where(rising, self.line[:, grown], (found.level, found.fall, found.at))
            self.odd[grown] = found.kind

    def misfits(self) -> NDArray[np.int8]:
        return self.odd

    def hope(self, cells: Cells, pulls: Floats) -> Floats:
        """A straight line: a curve that speeds up may go on as it does, one that rises may go back to where it was going."""
        level, fall, at = self.line[:, cells]
        return np.where(self.odd[cells] > 0, np.maximum(level - fall * (pulls - at), np.minimum(level, 0.0)), np.inf)

    def _run(self, cells: NDArray[np.intp]) -> None:
        """Feed complete groups that a filter has not seen, then what there is of the next one, on trial."""
        if len(cells) == 1:
            self._run_one(int(cells[0]))
            return
        pulls, groups = self.losses.pulls[cells], self.losses.groups
        complete, done, state = groups.complete(pulls), self.done[cells], self.full.take(cells, axis=2)
        missing, at, begun = complete - done, groups.middles[complete - 1], pulls > groups.edges[complete]
        if np.count_nonzero(missing):
            for which in batches(missing):
                some = state.take(which, axis=2)
                self._feed(cells[which], some, done[which], missing[which])
                state[:, :, which] = some
            self.full[:, :, cells], self.done[cells] = state, complete
        if np.count_nonzero(begun):
            some = state[:, :, begun]
            at[begun] = self._feed_on_trial(cells[begun], some, complete[begun])
            state[:, :, begun] = some
        self.seen[cells], self.at[cells] = pulls, at
        self._look_ahead(cells, state)

    def _run_one(self, cell: int) -> None:
        """The same of one cell: plain numbers, where arrays of one entry would take longer."""
        groups, place = self.losses.groups, slice(cell, cell + 1)
        pulls, done, state = self.losses.pulls.item(cell), self.done.item(cell), self.full[:, :, place].copy()
        complete = groups.of_loss.item(pulls)
        at = groups.middles.item(complete - 1)
        if complete > done:
            self._feed(cell, state, done, complete - done)
            self.full[:, :, place], self.done[cell] = state, complete
        if pulls > groups.edges.item(complete):
            at = self._feed_on_trial(cell, state, complete)
        self.seen[cell], self.at[cell] = pulls, at
        self._look_ahead(place, state)

    def _feed(self, cells: Any, state: Floats, first: Any, count: Any) -> None:
        """Take the filters over ``count`` complete groups of losses from group ``first`` on, in place.

        Cells with fewer groups than others wait at first: steps of no length, to losses that tell nothing.
        """
        waits, alone = None, isinstance(cells, int)
        if alone:
            group: Any = slice(first, first + count)
            _, noise, height = self.used[:, cells].tolist()
        else:
            width = int(count.max())
            group = first + (count - width) + np.arange(width)[:, None]
            if np.count_nonzero(count < width):
                waits = np.asarray(group < first)
                group = np.maximum(group, first)
            _, noise, height = self.used.take(cells, axis=1)
        mean, size = self.losses.means(cells, group)
        losses, noises = flattened(mean, height), noise / size
        steps, end = self.time.steps(state, group, waits)
        if waits is not None:
            noises[waits] = np.inf
        both = (losses.tolist(), noises.tolist()) if alone else (for_each(losses, state), for_each(noises, state))
        errors, variances = follow(state, steps, *both)
        terms = np.log(variances) + errors * errors / variances
        if waits is not None:
            np.copyto(terms, 0.0, where=waits[:, None])
        state[LIKELIHOOD] -= terms[0] if len(steps) == 1 else np.add.reduce(terms)
        state[AT] = end

    def _feed_on_trial(self, cells: Any, state: Floats, group: Any) -> Any:
        """Take the filters to what there is of a group; the pull they get to."""
        mean, size, middle = self.losses.begun(cells, group)
        _, noise, height = self.used[:, cells]
        when = np.log(state[S0] + middle)
        step = self.time.step(state[AT], when)
        [error], [variance] = follow(state, [step], [flattened(mean, height)], [noise / size])
        state[LIKELIHOOD] -= np.log(variance) + error * error / variance
        state[AT] = when
        return middle

    def _look_ahead(self, cells: Cells, state: Floats) -> None:
        """What predictions of these cells need, and the posterior weights of their filters, each arm by itself.

        With ``h = 1 - exp(-rho du)`` the mean is ``START - FALL h`` and the variance ``SPREAD + DRIFT du - h (LESS - MORE h)``.
        """
        level, _, _, trend, p12, p22, likelihood, _, least, most = state
        odds = np.exp(0.5 * (likelihood - np.maximum.reduce(likelihood)))
        self.alone[:, cells] = odds / np.add.reduce(odds)
        size = squared_size(level, least, most)
        curb = self.curb * size
        outlook = np.empty((WEIGHT, *level.shape))
        outlook[: SINCE + 1] = state[: AT + 1]
        np.minimum(np.maximum(trend, self.falling[0]), self.falling[1], out=outlook[FALL])
        np.multiply(self.drift, size, out=outlook[DRIFT])
        np.add(p12 + p12, curb, out=outlook[LESS])
        np.subtract(p22, 0.5 * curb, out=outlook[MORE])
        np.minimum(np.copysign(np.inf, level), 0.0, out=outlook[BOTTOM])  # a loss below the floor knows no floor
        self.outlook[:WEIGHT, :, cells] = outlook

    def _share_weights(self, cells: NDArray[np.intp], runs: NDArray[np.intp]) -> None:
        """How often a kind of curve is met among the arms of a run is learnt from all of them.

        The prior weight of filter j is ``(c w_j + sum_i p_ij) / (c + K)``, with ``p_ij`` the weights of arm i by itself. It
        is looked up when an arm has new losses, so that its weights change only then.
        """
        if self.shape[0] == 1:
            shared = np.add.reduce(self.alone, axis=1, keepdims=True) / self.prior + self.kinship
        else:
            alone = self.alone.reshape(-1, *self.shape)
            alone = alone if len(runs) == self.shape[0] else alone.take(runs, axis=1)
            shared = np.add.reduce(alone, axis=2) / self.prior + self.kinship
            shared = shared[:, np.searchsorted(runs, cells // self.shape[1])]
        weight = self.alone.take(cells, axis=1) * shared
        self.outlook[WEIGHT][:, place_of(cells)] = weight / np.add.reduce(weight)

    def predict(self, cells: Cells, pulls: Floats) -> tuple[Floats, Floats]:
        mean, variance, weight = self._ahead(cells, pulls)
        seen, mixed = self.seen[cells], np.add.reduce(weight * mean)
        apart = mean - mixed
        sd = np.sqrt(np.add.reduce(weight * (variance + apart * apart)))
        if np.count_nonzero(seen) == len(seen):
            return mixed, sd
        untold = self.roughness.mean(cells)  # before the first decision: no filter has run
        return np.where(seen > 0, mixed, untold), np.where(seen > 0, sd, np.inf)

    def bound(self, cells: Cells, near: Floats, far: Floats) -> tuple[Floats, Floats]:
        """The mean falls along the way, and the variance of each filter grows; only the filters' disagreement may do either.

        That is at most the spread around a fixed point, and a square is largest at one of the ends.
        """
        mean, variance, weight = self._ahead(cells, far)
        mean_before, _, _ = self._ahead(cells, near)
        lowest = np.add.reduce(weight * mean)
        apart = np.maximum((mean - lowest) ** 2, (mean_before - lowest) ** 2)
        return lowest, np.sqrt(np.add.reduce(weight * (variance + apart)))

    def variance_of_a_loss(self, cell: int) -> float:
        return float(self.used[NOISE, cell])

    def _ahead(self, cells: Cells, pulls: Floats) -> tuple[Floats, Floats, Floats]:
        """Each filter's mean and variance at ``pulls``, and its weight."""
        start, spread, since, fall, drift, less, more, bottom, weight, s0, minus_rho = pick(self.outlook, cells)
        time = np.log(np.maximum(pulls, self.at[cells]) + s0) - since
        h = 1 - np.exp(minus_rho * time)
        return np.maximum(start - fall * h, bottom), spread + drift * time - h * (less - more * h), weight

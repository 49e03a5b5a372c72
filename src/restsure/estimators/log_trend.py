"""Learning curves of unknown shape: a level and a trend in log-time, filtered."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from restsure.estimators.base import Cells, among, cells_of, pick, place_of
from restsure.estimators.curve_model import CurveModel, Floats
from restsure.estimators.filters import (
    ALOFT,
    BOTTOM,
    DRIFT,
    FALL,
    FILTERS,
    KINSHIP,
    LEAST_SIZE,
    LESS,
    MORE,
    MOST_SIZE,
    SINCE,
    STALE,
    WEIGHT,
    Filter,
    FilteredCurves,
)
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
    begin,
    follow,
    squared_size,
    wander,
)
from restsure.estimators.live_trend import MOST_ARMS, LiveTrend
from restsure.estimators.log_time import LogTime, batches, for_each
from restsure.estimators.misfit import FEWEST, windows
from restsure.estimators.roughness import Roughness, flattened
from restsure.estimators.thinned import ThinnedLosses

USED = SCALE, NOISE, HEIGHT = range(3)  # layers of what the filters of an arm were started with


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

    def start(self, runs: int, lengths: Floats) -> FilteredCurves:
        few = runs == 1 and len(lengths) <= MOST_ARMS
        return LiveTrend(lengths) if few else LogTrendStates(runs, lengths)


class LogTrendStates(FilteredCurves):
    """The filters of many arms; arrays have layers, in each a row a filter and a column a cell."""

    def __init__(self, runs: int, lengths: Floats, filters: Sequence[Filter] = FILTERS, kinship: float = KINSHIP):
        super().__init__(runs, lengths, filters, kinship)
        cells, size = runs * len(lengths), (len(filters), runs * len(lengths))
        self.roughness, self.losses = Roughness(runs, len(lengths)), ThinnedLosses(cells)
        self.time = LogTime(self.losses.groups, self.s0, self.rho, *self.noises)
        self.used = np.full((len(USED), cells), np.nan)
        self.full = np.zeros((len(STATE), *size))  # after all complete groups
        self.full[S0] = np.tile(self.s0, runs)
        self.done = np.zeros(cells, dtype=np.int64)  # how many these are
        self.alone = np.zeros(size)  # posterior weights of the filters, each arm by itself

    def update(self, cells: Cells, losses: Floats) -> None:
        self.roughness.update(cells, losses)
        self.losses.update(cells, losses)

    def means(self, cells: Cells) -> Floats:
        return self.roughness.mean(cells)

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
        state[LEVEL], state[P11], state[TREND], state[P12], state[P22] = begin(
            scale, steep, self.slope, self.slope_variance
        )
        state[AT] = np.log(state[S0] + 1)  # that of the first loss: no step before it
        state[LIKELIHOOD] = 2 * np.log(self.prior)
        state[LEAST], state[MOST] = LEAST_SIZE * square, MOST_SIZE * square
        self.full[:, :, place_of(cells)], self.done[cells] = state, 0

    def _look_for_misfits(self, cells: Cells) -> None:
        pulls = self.losses.pulls[cells]
        grown = among(cells, (pulls >= FEWEST) & (pulls > self.seen[cells]))
        if grown.size:
            self.note_bends(grown, *windows(self.losses, grown), self.used[NOISE, grown])

    def _run(self, cells: NDArray[np.intp]) -> None:
        """Feed complete groups that a filter has not seen, then what there is of the next one, on trial."""
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

    def _feed(self, cells: NDArray[np.intp], state: Floats, first: NDArray[np.int64], count: NDArray[np.int64]) -> None:
        """Take the filters over ``count`` complete groups of losses from group ``first`` on, in place.

        Cells with fewer groups than others wait at first: steps of no length, to losses that tell nothing.
        """
        waits, width = None, int(count.max())
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
        errors, variances = follow(state, steps, for_each(losses, state), for_each(noises, state))
        terms = np.log(variances) + errors * errors / variances
        if waits is not None:
            np.copyto(terms, 0.0, where=waits[:, None])
        state[LIKELIHOOD] -= terms[0] if len(steps) == 1 else np.add.reduce(terms)
        state[AT] = end

    def _feed_on_trial(self, cells: NDArray[np.intp], state: Floats, group: NDArray[np.int64]) -> Any:
        """Take the filters to what there is of a group; the pull they get to."""
        mean, size, middle = self.losses.begun(cells, group)
        _, noise, height = self.used[:, cells]
        when = np.log(state[S0] + middle)
        step = self.time.step(state[AT], when)
        [error], [variance] = follow(state, [step], [flattened(mean, height)], [noise / size])
        state[LIKELIHOOD] -= np.log(variance) + error * error / variance
        state[AT] = when
        return middle

    def _look_ahead(self, cells: NDArray[np.intp], state: Floats) -> None:
        """What predictions of these cells need, and the posterior weights of their filters, each arm by itself."""
        level, _, _, trend, p12, p22, likelihood, _, least, most = state
        odds = np.exp(0.5 * (likelihood - np.maximum.reduce(likelihood)))
        self.alone[:, cells] = odds / np.add.reduce(odds)
        outlook = np.empty((WEIGHT, *level.shape))
        outlook[: SINCE + 1] = state[: AT + 1]
        outlook[FALL] = np.minimum(np.maximum(trend, self.falling[0]), self.falling[1])
        outlook[DRIFT], outlook[LESS], outlook[MORE] = wander(
            squared_size(level, least, most), p12, p22, self.drift, self.curb
        )
        outlook[BOTTOM] = np.minimum(np.copysign(np.inf, level), 0.0)  # a loss below the floor knows no floor
        self.outlook[:WEIGHT, :, cells] = outlook

    def _share_weights(self, cells: NDArray[np.intp], runs: NDArray[np.intp]) -> None:
        """How often a kind of curve is met among the arms of a run is learnt from all of them.

        The prior weight of filter j is ``(c w_j + sum_i p_ij) / (c + K)``, with ``p_ij`` the weights of arm i by itself. It
        is looked up when an arm has new losses, so that its weights change only then.
        """
        alone = self.alone.reshape(-1, *self.shape)
        alone = alone if len(runs) == self.shape[0] else alone.take(runs, axis=1)
        shared = np.add.reduce(alone, axis=2) / self.prior + self.kinship
        shared = shared[:, np.searchsorted(runs, cells // self.shape[1])]
        weight = self.alone.take(cells, axis=1) * shared
        self.outlook[WEIGHT][:, place_of(cells)] = weight / np.add.reduce(weight)

    def variance_of_a_loss(self, cell: int) -> float:
        return float(self.used[NOISE, cell])

"""Learning curves of unknown shape: a level and a trend in log-time, filtered."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from restsure.estimators.base import Cells, cells_of
from restsure.estimators.curve_model import CurveModel, CurveStates, Floats
from restsure.estimators.misfit import FEWEST, RISES, bends
from restsure.estimators.roughness import Roughness, flattened
from restsure.estimators.thinned import ThinnedLosses


class Filter(NamedTuple):
    """One way a curve may go on: ``dl = -v du``, ``dv = -rho v du`` in ``u = log(s + offset T)``; sizes in units of L."""

    offset: float  # s0 as a share of the pulls an arm can get
    rho: float  # how fast the trend dies out along log-time: 1/2 as in the paper, -1 for a straight line
    weight: float  # prior
    slope_sd: (
        float  # prior spread of the trend; in units of the arm's own mean loss, where that is above twice the scale
    )
    level_noise: float = 0.05  # process noise an e-fold, as a share of the level
    trend_noise: float = 0.10


FILTERS = (
    Filter(0, 1 / 2, 6 / 16, 0.3),  # falls at once
    Filter(1 / 20, 1 / 2, 3 / 16, 0.6),  # after a delay
    Filter(1 / 2, 1 / 2, 1 / 16, 0.6),  # nearly linear
    Filter(1 / 2, -1, 2 / 16, 0.45),  # a straight line, until it is not
    Filter(0, 1, 2 / 16, 0.3),  # soon done
    Filter(0, 1 / 10, 1 / 16, 0.2),  # nearly linear in log-time
    Filter(0, 1 / 2, 1 / 16, 0.3, 0.02, 0.03),  # nearly exactly a power law
)
LEVEL_SD, SLOPE = 2.0, 0.1  # prior spread of the level and prior mean of the trend, in units of the scale
ALOFT = 2.0  # an arm whose mean loss is so many times the scale is far above the others
STALE = 1.25  # a filter is run again when its noise or scale has moved by more than this factor
AT_ONCE = 32  # groups of losses that are prepared together
KINSHIP = 8.0  # arms that the prior weights of the filters count for, against the arms of the run
STATE = LEVEL, TREND, P11, P12, P22, LIKELIHOOD = range(6)  # rows of a filter's state
OUTLOOK = LEVEL, FALL, P11, TWICE_P12, P22, SIZE, BOTTOM = range(7)  # rows of what a prediction needs


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
        return 16 * len(FILTERS) + 256

    def start(self, runs: int, lengths: Floats) -> "LogTrendStates":
        return LogTrendStates(runs, lengths)


class LogTrendStates(CurveStates):
    """The filters of many arms; states have a row for each of level, trend, ..., a column a cell, and a layer a filter."""

    def __init__(self, runs: int, lengths: Floats, filters: Sequence[Filter] = FILTERS, kinship: float = KINSHIP):
        n_arms = len(lengths)
        cells = runs * n_arms
        self.runs, self.n_arms, self.kinship = runs, n_arms, kinship
        offset, self.rho, self.prior, self.slope_sd, *noises = (
            np.array(column) for column in zip(*filters, strict=True)
        )
        self.level_noise, self.trend_noise = (noise**2 for noise in noises)
        self.ahead_noise = self.trend_noise / self.rho**2  # the noise of the trend, where it reaches the level
        self.s0 = np.tile(np.outer(lengths, offset), (runs, 1))
        self.roughness, self.losses = Roughness(runs, n_arms), ThinnedLosses(cells)
        self.noise, self.scale, self.height = np.full((3, cells), np.nan)  # with which a filter was started
        self.full = np.zeros((len(STATE), cells, len(filters)))  # after all complete groups
        self.full_at = np.zeros(cells)  # the pull at which a filter stands
        self.outlook = np.zeros((len(OUTLOOK), cells, len(filters)))  # after the losses of the group at hand too
        self.at, self.log_at = np.ones((cells, 1)), np.zeros((cells, len(filters)))  # where that is: s, and log(s + s0)
        self.done = np.zeros(cells, dtype=np.int64)  # complete groups that a filter has seen
        self.seen = np.zeros(cells, dtype=np.int64)  # losses that ``now`` has seen
        self.alone = np.zeros((cells, len(filters)))  # posterior weights of the filters, each arm by itself
        self.weight = np.full((cells, len(filters)), 1 / len(filters))  # and with a prior that all arms of a run share
        self.odd = np.zeros(cells, dtype=np.int8)  # curves that do not follow any filter, and how
        self.line = np.zeros((3, cells))  # and where they could go: level, fall a pull, and after how many

    def update(self, cells: Cells, losses: Floats) -> None:
        which = np.arange(len(self.done)) if isinstance(cells, slice) else cells
        self.roughness.update(_place(which), losses)
        self.losses.update(which, losses)

    def refresh(self, runs: NDArray[np.intp]) -> NDArray[np.intp]:
        """Run the filters over the losses they have not seen; start those again whose scale or noise has moved.

        Only here, at a decision, so that neither the blocks in which losses are told nor a look in between changes anything.
        Stock of scale and noise is taken when the losses of a run have grown by a twentieth, and for an arm's first losses.
        """
        cells = cells_of(runs, self.n_arms)
        pulls, seen = self.losses.pulls[cells], self.seen[cells]
        new = seen < pulls
        due = self.roughness.due(runs, seen)
        if due.any():
            new |= self._take_stock(runs[due], due)
        changed = np.asarray(cells[new])
        if changed.size:
            self._run(changed)
            self._share_weights(changed, runs)
        return changed

    def _take_stock(self, runs: NDArray[np.intp], due: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Back to the prior where scale or noise have moved; returns which of the cells of the runs asked for did."""
        cells = cells_of(runs, self.n_arms)
        scale = self.roughness.scale(runs)
        self._look_for_misfits(cells)
        noise = self.roughness.noise(runs, scale).reshape(-1)
        scale = np.repeat(scale, self.n_arms)
        with np.errstate(invalid="ignore", divide="ignore"):
            moved = np.maximum(_ratio(scale, self.scale[cells]), _ratio(noise, self.noise[cells]))
            height = self.roughness.height[cells]
            higher = self.roughness.highest[cells] > np.fmin(height, self.height[cells])
            moved = np.where(higher, np.fmax(moved, _ratio(height, self.height[cells])), moved)
        stale = ~(moved <= STALE) & (self.losses.pulls[cells] > 0)
        again, size = cells[stale], scale[stale][:, None]
        self.scale[again], self.noise[again], self.height[again] = scale[stale], noise[stale], height[stale]
        self.done[again] = 0
        self.full[:, again] = 0.0
        own = np.abs(flattened(self.roughness.mean(again), height[stale]))[:, None]
        steep = np.where(own > ALOFT * size, own, size)  # who is far above can fall far
        self.full[LEVEL, again], self.full[TREND, again] = size, SLOPE * size
        self.full[P11, again], self.full[P22, again] = (LEVEL_SD * size) ** 2, (self.slope_sd * steep) ** 2
        among = np.zeros((len(due), self.n_arms), dtype=np.bool_)
        among[due] = stale.reshape(-1, self.n_arms)
        return among.reshape(-1)

    def _look_for_misfits(self, cells: NDArray[np.intp]) -> None:
        grown = cells[self.losses.pulls[cells] >= np.maximum(FEWEST, self.seen[cells] + 1)]
        if grown.size:
            found = bends(self.losses, grown, self.noise[grown])
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
        place = _place(cells)
        pulls, done = self.losses.pulls[place], self.done[place]
        complete = self.losses.groups.complete(pulls)
        missing = complete - done
        if missing[0] != missing[-1] or not (missing == missing[0]).all():
            order = np.argsort(-missing, kind="stable")  # the longest series first: those at work stand in front
            cells, pulls, done, complete, missing = (part[order] for part in (cells, pulls, done, complete, missing))
            place = cells
        state, at = self.full[:, place].copy(), self.full_at[place].copy()
        for fed in range(0, int(missing[0]), AT_ONCE):
            work = slice(0, int(np.searchsorted(-missing, -fed, side="left")))
            self._feed(cells[work], state[:, work], at[work], done[work] + fed, missing[work] - fed)
        if missing[0]:
            self.full[:, place], self.full_at[place], self.done[place] = state, at, complete
        begun = pulls > self.losses.groups.edges[complete]
        if begun.any():
            part, part_at = state[:, begun], at[begun]
            self._feed(cells[begun], part, part_at, complete[begun], np.ones(int(begun.sum()), dtype=np.int64))
            state[:, begun], at[begun] = part, part_at
        self.seen[place] = pulls
        self._look_ahead(place, state, at[:, None])

    def _feed(
        self, cells: NDArray[np.intp], state: Floats, at: Floats, first: NDArray[np.int64], count: NDArray[np.int64]
    ) -> None:
        """Take the filters over up to ``count`` groups of losses from group ``first`` on, in place.

        Steps of log-time do not depend on the losses, and are computed together.
        """
        width = min(int(count[0]), AT_ONCE)
        group = first[:, None] + np.arange(width)
        if count[-1] < width:
            group = np.minimum(group, (first + count - 1)[:, None])  # beyond the last of a cell: never used
        mean, size, middle = self.losses.read(cells[:, None], group)
        place = _place(cells)
        height = self.height[place]
        if (self.roughness.highest[place] > height).any():
            mean = flattened(mean, height[:, None])
        s0 = self.s0[place][:, None, :]
        when = np.log(middle[:, :, None] + s0)
        start = np.where(first == 0, middle[:, 0], at)  # no step before the first loss
        step = when - np.log(start[:, None, None] + s0)
        if width > 1:
            step[:, 1:] = when[:, 1:] - when[:, :-1]
        f = np.exp(-self.rho * step)
        g = (1 - f) / self.rho
        noise, scale = (self.noise[place, None] / size)[:, :, None], self.scale[place, None]
        for k in range(width):
            work = len(cells) if count[-1] > k else int(np.searchsorted(-count, -k, side="left"))
            part = state[:, :work]
            self._propagate(part, step[:work, k], f[:work, k], g[:work, k], scale[:work])
            _observe(part, mean[:work, k, None], noise[:work, k])
            at[:work] = middle[:work, k]

    def _propagate(self, state: Floats, step: Floats, f: Floats, g: Floats, scale: Floats) -> None:
        """One step of log-time, with ``f = exp(-rho du)`` and ``g = (1 - f) / rho``.

        The level drops by the trend, the trend dies out, and both become less certain.
        """
        level, trend, p11, p12, p22, _ = state
        size = _size(level, scale) * step
        level -= g * trend
        trend *= f
        moved = g * p22
        p11 += g * (moved - 2 * p12) + self.level_noise * size
        p12 -= moved
        p12 *= f
        p22 *= f * f
        p22 += self.trend_noise * size

    def _look_ahead(self, cells: Cells, state: Floats, at: Floats) -> None:
        """What predictions of these cells need, and the posterior weights of their filters, each arm by itself."""
        self.at[cells], self.log_at[cells] = at, np.log(at + self.s0[cells])
        odds = np.log(self.prior) + state[LIKELIHOOD]
        odds = np.exp(odds - odds.max(axis=1, keepdims=True))
        self.alone[cells] = odds / odds.sum(axis=1, keepdims=True)
        outlook = np.empty((len(OUTLOOK), *odds.shape))
        outlook[: len(STATE)] = state
        np.maximum(state[TREND], 0.0, out=outlook[FALL])
        outlook[TWICE_P12] *= 2
        outlook[SIZE] = _size(state[LEVEL], self.scale[cells, None])
        outlook[BOTTOM] = np.where(state[LEVEL] < 0, -np.inf, 0.0)  # a loss below the floor knows no floor
        self.outlook[:, cells] = outlook

    def _share_weights(self, cells: NDArray[np.intp], runs: NDArray[np.intp]) -> None:
        """How often a kind of curve is met among the arms of a run is learnt from all of them.

        The prior weight of filter j is ``(c w_j + sum_i p_ij) / (c + K)``, with ``p_ij`` the weights of arm i by itself. It
        is looked up when an arm has new losses, so that its weights change only then.
        """
        shared = self.alone.reshape(self.runs, self.n_arms, -1)[runs].sum(axis=1) / self.prior + self.kinship
        if len(runs) > 1:
            shared = shared[np.searchsorted(runs, cells // self.n_arms)]
        place = _place(cells)
        weight = self.alone[place] * shared
        self.weight[place] = weight / weight.sum(axis=1, keepdims=True)

    def predict(self, cells: Cells, pulls: Floats) -> tuple[Floats, Floats]:
        mean, variance = self._ahead(cells, pulls)
        weight, seen = self.weight[cells], self.seen[cells]
        mixed = (weight * mean).sum(axis=1)
        apart = mean - mixed[:, None]
        sd = np.sqrt((weight * (variance + apart * apart)).sum(axis=1))
        if seen.all():
            return mixed, sd
        untold = self.roughness.mean(cells)  # before the first decision: no filter has run
        return np.where(seen > 0, mixed, untold), np.where(seen > 0, sd, np.inf)

    def bound(self, cells: Cells, near: Floats, far: Floats) -> tuple[Floats, Floats]:
        """The mean falls along the way, and the variance of each filter grows; only the filters' disagreement may do either.

        That is at most the spread around a fixed point, and a square is largest at one of the ends.
        """
        mean, variance = self._ahead(cells, far)
        mean_before, _ = self._ahead(cells, near)
        weight = self.weight[cells]
        lowest = (weight * mean).sum(axis=1)
        apart = np.maximum((mean - lowest[:, None]) ** 2, (mean_before - lowest[:, None]) ** 2)
        return lowest, np.sqrt((weight * (variance + apart)).sum(axis=1))

    def variance_of_a_loss(self, cell: int) -> float:
        return float(self.noise[cell])

    def _ahead(self, cells: Cells, pulls: Floats) -> tuple[Floats, Floats]:
        """Each filter's mean and variance at ``pulls``; ``D - 2g + (1 - f^2) / (2 rho)`` is ``D - g (3 - f) / 2``."""
        level, fall, p11, twice_p12, p22, size, bottom = self.outlook[:, cells]
        time = np.log(np.maximum(pulls[:, None], self.at[cells]) + self.s0[cells]) - self.log_at[cells]
        f = np.exp(-self.rho * time)
        g = (1 - f) / self.rho
        mean = np.maximum(level - fall * g, bottom)
        drift = (self.level_noise + self.ahead_noise) * time - self.ahead_noise * (g * (1.5 - 0.5 * f))
        return mean, p11 + g * (g * p22 - twice_p12) + size * drift


def _size(level: Floats, scale: Floats) -> Floats:
    """What process noise is a share of, squared: the level, within reason."""
    return np.asarray(np.fmin(np.fmax(np.abs(level), 0.02 * scale), 2 * scale) ** 2)


def _place(cells: NDArray[np.intp]) -> Cells:
    """The same cells; one alone as a slice, which numpy reads and writes without a copy."""
    return slice(int(cells[0]), int(cells[0]) + 1) if len(cells) == 1 else cells


def _ratio(new: Floats, old: Floats) -> Floats:
    """How far apart two positive numbers are, as a factor of at least one; NaN where there was none before."""
    return np.maximum(new / old, old / new)


def _observe(state: Floats, loss: Floats, noise: Floats) -> None:
    """The scalar Kalman step, and the log-likelihood of its innovation."""
    level, trend, p11, p12, p22, likelihood = state
    total = p11 + noise
    surprise = loss - level
    gain, trend_gain = p11 / total, p12 / total
    level += gain * surprise
    trend += trend_gain * surprise
    p22 -= trend_gain * p12
    p12 *= 1 - gain
    p11 *= 1 - gain
    likelihood -= 0.5 * (np.log(2 * np.pi * total) + surprise * surprise / total)

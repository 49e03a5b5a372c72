"""Optimism at the reach, at play: the index of every arm, and what it makes of a decision."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from restsure.estimators import MISFIT, Cells, indices_of
from restsure.estimators.kalman import at_floor
from restsure.policies.budget import SLACK, Budget, MeasuredBudget, whole_pulls
from restsure.policies.certified import CertifiedStates
from restsure.policies.explanation import explain_horizon
from restsure.policies.peer import Floats, PeerPlay, Rows
from restsure.problem import Decision

if TYPE_CHECKING:
    from restsure.policies.horizon_lcb import HorizonLCB

BLOCK = 20  # an arm gets a twentieth of its pulls at a time; up to a tenth costs nothing that can be measured
MANY = 128  # arms from which on most indices are left as they were: an old one is only too optimistic
BATCH = 64  # of them, those refreshed at a time
EPOCH = 0.95  # share of what was left down to which a stored bound holds
FEW = 3  # arms that can share a budget and leave nearly all of it to the best; of more, it gets 3/K of what is left
STRAIGHT = 3  # arms, at the most, that may each hope to go straight; of more, the others pay for such hopes
COVER = 1.645  # standard deviations on each side of a 90 % interval


class HorizonLCBPlay(PeerPlay):
    """Many games of optimism at the reach."""

    in_step = False
    overlaps = True
    ends = True

    def __init__(self, policy: "HorizonLCB", budget: Budget, runs: int, *, log: bool = False):
        n_arms = len(budget.costs)
        super().__init__(n_arms, budget.total, runs, log=log)
        self.budget, self.policy = budget, policy
        self.measured = isinstance(budget, MeasuredBudget)
        self.early: list[tuple[Cells, Floats]] | None = [] if self.measured else None
        self._open()
        self.starting = True  # until every arm has had its first pulls
        self.below = np.zeros(runs, dtype=np.bool_)  # whether a loss was below the floor
        self.highest = np.full(runs, 1e-300)  # of all losses, as they are played
        self.odd = False  # whether a curve does not follow the model
        self.share, self.straight = min(1.0, FEW / n_arms), n_arms <= STRAIGHT
        self.stored = np.full((runs, n_arms), -np.inf)  # lower bounds of indices, where there are many arms
        self.epoch = np.full(runs, np.inf)  # what was left when these bounds were begun

    def _open(self) -> None:
        """Curves for arms of these lengths, and the pulls that they need first: one, if that is half of the budget."""
        self.curves = self.policy.open_curves(self.budget, self.runs)
        need = self.policy.curve.first_pulls
        need = 1 if need * self.budget.costs.sum() > self.budget.total / 2 else need
        self.first = np.minimum(need, self.budget.max_pulls).astype(np.int64)

    def _open_again(self, early: list[tuple[Cells, Floats]]) -> None:
        """All arms have shown what they cost: now it is known how long each can be trained."""
        self.early = None
        self._open()
        for cells, losses in early:
            self.learn(cells, losses)

    def pay(self, arm: int, times: int, cost: float) -> None:
        assert isinstance(self.budget, MeasuredBudget)
        self.budget.pay(arm, times, cost)

    def finish(self, run: int, arm: int) -> None:
        had = self.pulls[run, arm]
        self.wanted[run, arm], self.first[arm] = 0, min(self.first[arm], had)
        self.budget.max_pulls[arm], self.budget.plain = had, False

    def spent(self, rows: Rows | slice = slice(None)) -> Floats:
        return self.budget.spent(self.pulls[self.pick(rows)])

    def learn(self, cells: Cells, losses: Floats) -> None:
        if self.early is not None:
            self.early.append((cells, losses))
        played = self.policy.played(losses)
        if self.runs == 1:
            self.highest[0] = max(self.highest[0], played.max())
            self.below[0] |= played.min() < 0
        else:
            rows = indices_of(cells, self.pulls.size) // self.n_arms
            np.maximum.at(self.highest, rows, played[:, 0] if played.shape[1] == 1 else played.max(axis=1))
            if np.count_nonzero(played < 0):
                self.below[rows[played.min(axis=1) < 0]] = True
        self.curves.update(cells, played)

    def estimate(self, rows: Rows) -> tuple[Floats, Floats]:
        """Loss, as it is played, and spread at the pulls an arm has had: never an extrapolation."""
        mean, sd = self.curves.predict(self.cells_of(rows), np.maximum(self.pulls[rows], 1.0).reshape(-1))
        return mean.reshape(-1, self.n_arms), sd.reshape(-1, self.n_arms)

    def standing(self, rows: Rows) -> Floats:
        played = self.estimate(rows)[0]
        return np.asarray(self.policy.told(np.where(self.below[rows, None], played, np.maximum(played, 0.0))))

    def decide(self, rows: Rows) -> None:
        anyone_failed = np.count_nonzero(self.failed)
        if anyone_failed:
            rows = rows[~self.failed[rows].all(axis=1)]
        if self.early is not None and (self.budget.known | self.failed[0]).all():
            self._open_again(self.early)
        changed = self.curves.refresh(rows)
        self._note_misfits()
        if self.n_arms > MANY:
            self.stored.reshape(-1)[changed] = -np.inf
        out, given = self.wanted.take(rows, axis=0), self.pulls.take(rows, axis=0).astype(np.float64)
        if np.count_nonzero(out):
            given += out
        room = self.budget.room(given)
        if anyone_failed:
            room = np.where(self.failed[rows], 0.0, room)
        fits = room >= 1 - SLACK
        if np.count_nonzero(fits) < fits.size:
            some = fits.any(axis=1)
            ended = rows[~some & ~out.any(axis=1)]
            if ended.size:
                self.choose(ended, self.best(ended, self.pulls[ended] > 0), "lowest loss at the pulls made")
            rows, out, given, room, fits = _keep(some, rows, out, given, room, fits)
        if self.starting:
            cold = (given < self.first) & fits
            some = cold.any(axis=1)
            missing = np.where(cold & (out == 0), self.first - given, 0)[some]  # one that is out has to be told first
            self._start(rows[some], missing.astype(np.int64), given[some])
            rows, out, given, room, fits = _keep(~some, rows, out, given, room, fits)
            self.starting = bool((self.pulls < self.first).any())
        if rows.size:
            self._pull_lowest(rows, out, given, room, fits)

    def _start(self, rows: Rows, missing: NDArray[np.int64], given: Floats) -> None:
        """The pulls that the curve needs, arm by arm as far as the budget goes; one by one while costs are unknown."""
        if self.early is not None:
            missing = _one_pull_of_one(missing)
        left = self.budget.total - self.budget.spent(given)
        price = missing * self.budget.costs
        before = np.cumsum(price, axis=1) - price
        self.wanted[rows] += np.clip(whole_pulls((left[:, None] - before) / self.budget.costs), 0, missing)

    def _pull_lowest(
        self, rows: Rows, out: NDArray[np.int64], given: Floats, room: Floats, fits: NDArray[np.bool_]
    ) -> None:
        """A block for the free arm with the lowest index in each run, if it is worth it beside the pulls that are out."""
        beside = np.count_nonzero(out)
        free = fits & (out == 0) if beside else fits
        if self.n_arms > MANY:
            arms, lowest = self._scan_lazily(rows, given, room, free)
        else:
            index = self.index(rows, given, room)[0]
            if np.count_nonzero(free) < free.size:
                index = np.where(free, index, np.inf)
            arms = index.argmin(axis=1)
            lowest = index.take(_flat(arms, self.n_arms))
        if beside:  # without that, every run has a free arm
            worth = lowest < self._worth_beside(rows, out, given, room)
            rows, arms, given, room = _keep(worth, rows, arms, given, room)
        chosen = _flat(arms, self.n_arms)
        block, fit = np.ceil(given.take(chosen) / BLOCK), room.take(chosen)
        if np.count_nonzero(block > fit):
            block = np.minimum(block, whole_pulls(fit))
        self.wanted[rows, arms] = block

    def _worth_beside(self, rows: Rows, out: NDArray[np.int64], given: Floats, room: Floats) -> Floats:
        """How low an index must be for a pull beside those that are out.

        An arm with a lower index than those in training will have when their pulls are told, if losses come as predicted, would
        be next anyway and need not wait. One with a higher index might never get the pull: to make it because a worker is free
        takes it from the arms in training. To speculate is to take it while the arm could end below what those are predicted to
        end with. An arm in training for the first time says nothing yet, and nobody waits for it; nor where those in training
        come to their ends before the budget does: the rest is for others anyway.
        """
        line, arms = np.nonzero(out * (self.pulls[rows] > 0))
        cells, pulls, left = rows[line] * self.n_arms + arms, given[line, arms], room[line, arms]
        reach = self.reach(given, room)[line, arms]
        mean, sd = self.curves.predict(cells, reach)
        if not self.policy.speculative:
            falls = (pulls - out[line, arms]) / pulls  # not falling, more workers idle; with the square, more regret
            mean = self._optimistic(rows[line], mean, sd, self.width(left, pulls) * falls, pulls, cells, reach)
        lowest = np.full(len(rows), np.inf)
        np.minimum.at(lowest, line, mean)
        if not self.budget.plain:
            to_their_ends = np.where(out, self.budget.costs * (self.budget.max_pulls - given), 0.0).sum(axis=1)
            lowest[to_their_ends < self.budget.total - self.budget.spent(given)] = np.inf
        return lowest

    def index(self, rows: Rows, given: Floats, room: Floats) -> tuple[Floats, Floats]:
        """``I_i`` and ``M_i`` of all arms of some runs."""
        cells, reach = self.cells_of(rows), self.reach(given, room)
        mean, sd = self.curves.predict(cells, reach.reshape(-1))
        mean, sd = mean.reshape(given.shape), sd.reshape(given.shape)
        return self._optimistic(rows[:, None], mean, sd, self.width(room, given), given, cells, reach), mean

    def _optimistic(
        self,
        rows: Any,
        mean: Floats,
        sd: Floats,
        width: Floats | float,
        given: Floats,
        cells: Cells,
        reach: Floats,
    ) -> Floats:
        """``M - width S``, or what a curve that does not follow the model may hope for, if that is less.

        Few arms may each hope for a straight line as well: nobody else's hopes are paid for by that.
        No loss is below the floor: see :func:`at_floor`. An arm of unknown spread comes before all others.
        """
        known = sd < np.inf
        all_known = np.count_nonzero(known) == known.size
        index = np.asarray(mean - width * (sd if all_known else np.where(known, sd, 0.0)))
        if self.straight:
            each = np.broadcast_to(width, index.shape).reshape(-1)
            index = np.minimum(index, self.curves.straight(cells, reach.reshape(-1), each).reshape(index.shape))
        if self.odd:
            index = np.minimum(index, self.curves.hope(cells, reach.reshape(-1)).reshape(index.shape))
        if np.count_nonzero(low := index <= 0) and np.count_nonzero(floored := low & ~self.below[rows]):
            index = np.where(floored, at_floor(np.minimum(index, 0.0), given, self.highest[rows]), index)
        return index if all_known else np.where(known, index, -1e300 / (1 + given))

    def _note_misfits(self) -> None:
        kinds = self.curves.misfits()
        if kinds is None:
            return
        self.odd = bool(np.count_nonzero(kinds))
        if self.log is not None and self.odd:
            for arm in np.flatnonzero(kinds).tolist():
                how = MISFIT[int(kinds[arm])]
                if self.misfits.get(arm) != how:
                    rule = f"does not follow the curve model ({how}): not given up by extrapolation"
                    self.log.append(Decision(self.used(), rule, arm))
                    self.misfits[arm] = how

    def reach(self, given: Floats, room: Floats) -> Floats:
        """``m_i``: what an arm can expect to have in the end if it is the one: its share of what is left, or its own end."""
        if self.budget.plain:
            return np.maximum(given + self.share * room, 1.0)
        return np.maximum(given + np.minimum(self.share * self.budget.affordable(given), room), 1.0)

    def width(self, room: Floats, given: Floats) -> Floats | float:
        """What the spread is multiplied with; a certified radius is wide enough as it is."""
        if self.policy.certified:
            return self.policy.patience
        share = room / (self.n_arms * np.maximum(given, 1.0))
        wide = np.sqrt(2 * np.log1p(share))
        return wide if self.policy.patience == 1 else np.asarray(self.policy.patience * wide)

    def _scan_lazily(
        self, rows: Rows, given: Floats, room: Floats, free: NDArray[np.bool_]
    ) -> tuple[NDArray[np.intp], Floats]:
        """The same as a scan of all arms, for few of them.

        An arm that was not pulled since its index was computed can reach less now than it could then. A lower bound of its
        index, computed for all reaches down to 95 % of what was left, is still one; only arms whose bound is below the best
        index found are computed again.
        """
        arms, lowest = np.zeros(len(rows), dtype=np.intp), np.full(len(rows), np.inf)
        for k, row in enumerate(rows.tolist()):
            left = self.budget.total - float(self.budget.spent(given[k]))
            if left < EPOCH * self.epoch[row]:
                self.epoch[row], self.stored[row] = left, -np.inf
            shrinks, reach = EPOCH * self.epoch[row] / left, self.reach(given[k], room[k])
            stored = np.where(free[k], self.stored[row], np.inf)
            while (batch := _below(stored, lowest[k])).size:
                index = self._refresh_some(row, batch, given[k, batch], room[k, batch], reach[batch], shrinks)
                stored[batch] = np.inf
                best = int(np.lexsort((batch, index))[0])
                if (index[best], batch[best]) < (lowest[k], arms[k]):
                    lowest[k], arms[k] = index[best], batch[best]
        return arms, lowest

    def _refresh_some(
        self, row: int, arms: NDArray[np.intp], given: Floats, room: Floats, reach: Floats, shrinks: float
    ) -> Floats:
        """The index of some arms, and what is a lower bound of it while what is left does not shrink below ``shrinks``."""
        cells, width = row * self.n_arms + arms, self.width(room, given)
        near = np.maximum(given + shrinks * (reach - given), 1.0)
        bound = self._optimistic(row, *self.curves.bound(cells, near, reach), width, given, cells, reach)
        self.stored[row, arms] = bound - 1e-12 * np.abs(bound)
        return self._optimistic(row, *self.curves.predict(cells, reach), width, given, cells, reach)

    def choose(self, rows: Rows, arms: NDArray[np.intp], rule: str) -> None:
        """Settle what these runs return, when nothing more can be pulled."""
        self.choice[rows], self.done[rows] = arms, True
        self.note(rows, arms, rule)

    @property
    def costs(self) -> Floats:
        return self.budget.costs

    @property
    def longest(self) -> Floats:
        return self.budget.max_pulls

    def outlook(self, run: int, pulls: Any) -> list[tuple[float, float, float]]:
        at = np.maximum(self.pulls[run], np.asarray(pulls, dtype=np.float64))
        mean, sd = self.curves.predict(run * self.n_arms + np.arange(self.n_arms), at)
        return [self._around(run, loss, spread) for loss, spread in zip(mean, sd, strict=True)]

    def explain(self, run: int) -> str:
        return explain_horizon(self)

    def interval(self, run: int, arm: int) -> tuple[float, float, float, str]:
        row = np.array([run])
        mean, sd = self.estimate(row)
        basis = "90 % interval, not certified"
        if isinstance(self.curves, CertifiedStates):
            basis = f"interval at level {1 - self.curves.claim.delta:g}, certified"
        return *self._around(run, mean[0, arm], sd[0, arm]), basis

    def _around(self, run: int, loss: Any, spread: Any) -> tuple[float, float, float]:
        """A loss, low and high, as they are told; an estimate is not below the floor, unless losses are."""
        lowest, told = -math.inf if self.below[run] else 0.0, self.policy.told
        middle = max(float(loss), lowest)
        if not math.isfinite(spread):
            return float(told(middle)), lowest + self.policy.floor, math.inf
        reach = float(spread) * (1.0 if self.policy.certified else COVER)
        return float(told(middle)), float(told(max(float(loss) - reach, lowest))), float(told(middle + reach))


def _one_pull_of_one(missing: NDArray[np.int64]) -> NDArray[np.int64]:
    """Only one pull, of the first arm that lacks any; none, where no arm does."""
    lacks = missing > 0
    return np.asarray(lacks & (np.cumsum(lacks, axis=1) == 1)).astype(np.int64)


def _flat(arms: NDArray[np.intp], n_arms: int) -> NDArray[np.intp]:
    """Where an arm of each row stands among all entries."""
    return np.arange(len(arms)) * n_arms + arms if len(arms) > 1 else arms


def _keep(which: Any, *parts: NDArray[Any]) -> list[NDArray[Any]]:
    return [part[which] for part in parts]


def _below(stored: Floats, lowest: float) -> NDArray[np.intp]:
    """The arms with the lowest bounds, as far as these do not exceed the lowest index: all that have none, else a batch."""
    lacking = np.flatnonzero(stored == -np.inf)
    if lacking.size:
        return lacking
    batch = np.argpartition(stored, BATCH)[:BATCH]
    return np.asarray(batch[(stored[batch] <= lowest) & (stored[batch] < np.inf)])

"""Elimination by the slope of the best value so far."""

from dataclasses import dataclass

import numpy as np

from restsure import checks
from restsure.description import settle
from restsure.estimators import Cells, indices_of
from restsure.policies.peer import Floats, PeerPlay, Rows
from restsure.policies.policy import Policy


@dataclass(frozen=True)
class RisingElimination(Policy):
    """Round robin; an arm is dropped when another has already what this one could reach at its present slope.

    ``y`` is the lowest loss of an arm so far and ``w = (y_{n-C} - y_n) / C`` its slope over the last ``C = steps`` pulls;
    with ``T - t`` pulls left it can reach ``u = max(floor, y - w (T - t))``. Arm j is dropped when ``y_i <= u_j`` for some i.
    The last arm gets the rest; in the end the lowest ``y`` is returned.

    Reference: Li, Jiang, Gao, Shao, Zhang and Cui, *Efficient Automatic CASH via Rising Bandits*, AAAI 2020. Known weakness:
    the lowest loss so far of noisy losses is too good to be true and stops moving, so that arms are dropped by luck.
    """

    steps: int = 7
    floor: float = 0.0

    def __post_init__(self) -> None:
        settle(self, steps=checks.whole("steps", self.steps, at_least=1), floor=checks.real("floor", self.floor))

    def play(self, n_arms: int, horizon: int, runs: int, *, log: bool = False) -> "RisingEliminationPlay":
        return RisingEliminationPlay(self, n_arms, horizon, runs, log=log)


class RisingEliminationPlay(PeerPlay):
    """Many games; the last ``C + 1`` best values of every arm are kept in a ring."""

    def __init__(self, policy: RisingElimination, n_arms: int, horizon: int, runs: int, *, log: bool = False):
        super().__init__(n_arms, horizon, runs, log=log)
        self.steps, self.floor = policy.steps, policy.floor
        self.ring = np.full((policy.steps + 1, runs * n_arms), np.inf)
        self.lowest = np.full(runs * n_arms, np.inf)
        self.rounds = 0

    def learn(self, cells: Cells, losses: Floats) -> None:
        after = self.pulls.reshape(-1)[cells]
        for back, column in zip(range(losses.shape[1] - 1, -1, -1), losses.T, strict=True):
            best = np.minimum(self.lowest[cells], column)
            self.lowest[cells] = best
            slot = (after - back) % (self.steps + 1)
            self.ring[slot, indices_of(cells, len(self.lowest))] = best

    def standing(self, rows: Rows) -> Floats:
        return self.lowest.reshape(self.runs, self.n_arms)[rows]

    def decide(self, rows: Rows) -> None:
        rows = rows[~self.failed[rows].all(axis=1)]
        settled = rows[self.choice[rows] >= 0]
        self.done[settled] = self.spent(settled) == self.horizon
        rows = rows[self.choice[rows] < 0]
        if not rows.size:
            return
        if self.rounds > self.steps:
            self._drop_hopeless(rows)
        active = self.active[rows]
        size = active.sum(axis=1)
        fits = (size > 1) & (self.horizon - self.spent(rows) >= size)
        self.wanted[rows[fits]] = active[fits]
        self.rounds += bool(fits.any())
        over = rows[~fits]
        if over.size:
            allowed = self.active[over] | ~self.active[over].any(axis=1, keepdims=True)
            self.choose(over, self.best(over, allowed), "lowest loss among the arms that are left")

    def _drop_hopeless(self, rows: Rows) -> None:
        pulls, lowest = self.pulls[rows], self.standing(rows)
        column = rows[:, None] * self.n_arms + np.arange(self.n_arms)
        earlier = self.ring[(pulls - self.steps) % (self.steps + 1), column]
        left = (self.horizon - self.spent(rows))[:, None]
        active = self.active[rows]
        slope = np.subtract(earlier, lowest, out=np.zeros(lowest.shape), where=active) / self.steps
        reachable = np.maximum(self.floor, lowest - slope * left)
        best = np.where(active, lowest, np.inf).argmin(axis=1)[:, None]
        beaten = np.take_along_axis(lowest, best, axis=1) <= reachable
        dropped = active & beaten & (np.arange(self.n_arms) != best)
        self.active[rows] = active & ~dropped
        if self.log is not None:
            where = np.nonzero(dropped)
            self.note(rows[where[0]], where[1], "another arm has what this one could reach at its slope")

    def fail(self, run: int, arm: int) -> None:
        self.active[run, arm] = False
        super().fail(run, arm)

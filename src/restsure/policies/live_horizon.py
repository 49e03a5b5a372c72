"""Optimism at the reach in one live game: most of its decisions in plain numbers."""

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from restsure.estimators import LiveTrend
from restsure.policies import horizon_play
from restsure.policies.budget import Budget
from restsure.policies.horizon_play import AT_FLOOR, HorizonLCBPlay
from restsure.policies.peer import Rows

if TYPE_CHECKING:
    from restsure.policies.horizon_lcb import HorizonLCB


EPOCH = 0.5  # share of what was left down to which a bound holds: farther down it is looser


class LiveHorizonPlay(HorizonLCBPlay):
    """One game. Where nothing is special about a decision, it is made without arrays; it is the same one.

    Special is a first pull, a pull that is out, an arm that has failed, has an end, costs more than another or does not follow
    its curve model; and a curve model other than :class:`LogTrend`.
    """

    def __init__(self, policy: "HorizonLCB", budget: Budget, *, log: bool):
        super().__init__(policy, budget, 1, log=log)
        self.bounds = [-math.inf] * self.n_arms  # of indices from below
        self.began = math.inf  # what was left when these were begun

    def observe_one(self, arm: int, losses: NDArray[np.float64]) -> None:
        if not isinstance(self.curves, LiveTrend) or self.early is not None:
            super().observe_one(arm, losses)
            return
        self.pulls[0, arm] += len(losses)
        self.wanted[0, arm] -= len(losses)
        played = self.policy.played(losses).tolist()
        if (highest := max(played)) > self.highest[0]:
            self.highest[0] = highest
        if min(played) < 0:
            self.below[0] = True
        self.curves.add(arm, played)

    def decide(self, rows: Rows) -> None:
        curves, pulls = self.curves, self.pulls[0].tolist()
        left = self.horizon - sum(pulls)
        special = self.starting or not self.budget.plain or left < 1
        if special or any(self.failed[0].tolist()) or any(self.wanted[0].tolist()) or not isinstance(curves, LiveTrend):
            super().decide(rows)
            self.began = math.inf
            return
        for arm in curves.renew():
            self.bounds[arm] = -math.inf
        self._note_misfits()
        if self.odd:
            super().decide(rows)
            self.began = math.inf
            return
        arm = self._lowest(curves, pulls, left)
        self.wanted[0, arm] = min(-(-pulls[arm] // horizon_play.BLOCK), left)

    def _lowest(self, curves: LiveTrend, pulls: list[int], left: int) -> int:
        """The arm with the lowest index.

        As among many arms (:meth:`HorizonLCBPlay._scan_lazily`): one that was not pulled since its index was computed can reach
        less now than it could then, and is computed again only if its lower bound is below the best index found.
        """
        if left < EPOCH * self.began:
            self.began, self.bounds = float(left), [-math.inf] * self.n_arms
        shrinks, best, lowest = EPOCH * self.began / left, -1, math.inf
        share, patience, kinds = self.share * left, self.policy.patience, self.n_arms
        for bound, arm in sorted(zip(self.bounds, range(self.n_arms), strict=True)):
            if bound > lowest:
                break
            n = pulls[arm]
            mean, sd, most = curves.live.arms[arm].ahead(n + shrinks * share, n + share)
            width = patience * math.sqrt(2 * math.log1p(left / (kinds * n)))
            index, bound = mean - width * sd, mean - width * most
            if self.straight:
                straight = curves.live.arms[arm].straight(n + share, width)  # lower than at any reach from now on
                index, bound = min(index, straight), min(bound, straight)
            index, bound = self._at_floor(index, n), self._at_floor(bound, n)
            self.bounds[arm] = bound - 1e-12 * abs(bound)
            if index < lowest or (index == lowest and arm < best):
                best, lowest = arm, index
        return best

    def _at_floor(self, index: float, pulls: int) -> float:
        """What an index is where no loss was below the floor: see :meth:`HorizonLCBPlay._optimistic`."""
        if index > 0 or self.below[0]:
            return index
        return pulls - AT_FLOOR + 1 / (1 - index / float(self.highest[0]))

"""Optimism at the reach in one live game: most of its decisions in plain numbers."""

import math
from typing import TYPE_CHECKING

import numpy as np

from restsure.estimators import LiveTrend
from restsure.policies import horizon_play
from restsure.policies.budget import Budget
from restsure.policies.horizon_play import HorizonLCBPlay
from restsure.policies.peer import Rows

if TYPE_CHECKING:
    from restsure.policies.horizon_lcb import HorizonLCB


class LiveHorizonPlay(HorizonLCBPlay):
    """One game. Where nothing is special about a decision, it is made without arrays; it is the same one.

    Special is a first pull, a pull that is out, an arm that has failed, has an end, costs more than another or does not follow
    its curve model; and a curve model other than :class:`LogTrend`.
    """

    def __init__(self, policy: "HorizonLCB", budget: Budget, *, log: bool):
        super().__init__(policy, budget, 1, log=log)
        self.shifts = policy.shifts

    def used(self) -> float:
        if isinstance(self.curves, LiveTrend) and self.budget.plain:
            return float(self.curves.live.told)
        return super().used()

    def observe_one(self, arm: int, losses: list[float]) -> None:
        if not isinstance(self.curves, LiveTrend) or self.early is not None:
            super().observe_one(arm, losses)
            return
        self.pulls[0, arm] += len(losses)
        self.wanted[0, arm] -= len(losses)
        played = self.policy.played(np.array(losses)).tolist() if self.shifts else losses
        if (highest := max(played)) > self.highest[0]:
            self.highest[0] = highest
        if min(played) < 0:
            self.below[0] = True
        self.curves.add(arm, played)

    def decide(self, rows: Rows) -> None:
        curves = self.curves
        if isinstance(curves, LiveTrend) and self.budget.plain and not self._starts():
            left = self.horizon - curves.live.told
            if left >= 1 and not np.count_nonzero(self.failed) and not np.count_nonzero(self.wanted):
                curves.renew()
                if self.odd or curves.bent:
                    self._note_misfits()
                if not self.odd:
                    self._pull_one(curves, left)
                    return
        super().decide(rows)
        if isinstance(curves, LiveTrend):
            curves.live.began = math.inf  # bounds of indices may be true no more

    def _starts(self) -> bool:
        """Whether an arm lacks first pulls."""
        if self.starting:
            self.starting = bool((self.pulls < self.first).any())
        return self.starting

    def _pull_one(self, curves: LiveTrend, left: int) -> None:
        """A block for the arm with the lowest index."""
        highest = 0.0 if self.below[0] else float(self.highest[0])
        arm = curves.live.lowest(self.share, left, self.policy.patience, self.straight, highest)
        self.wanted[0, arm] = min(-(-curves.live.arms[arm].pulls // horizon_play.BLOCK), left)

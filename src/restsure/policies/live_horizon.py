"""Optimism at the reach in one live game: most of its decisions in plain numbers."""

import math
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from restsure.estimators import LiveTrend
from restsure.policies import horizon_play
from restsure.policies.budget import Budget
from restsure.policies.horizon_play import HorizonLCBPlay
from restsure.policies.peer import Rows
from restsure.policies.play import Row

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
        self.next: list[tuple[int, int]] = []  # the arm that was chosen in plain numbers, and how many pulls it gets

    @cached_property
    def row(self) -> "HorizonRow":
        return HorizonRow(self)

    def used(self) -> float:
        if isinstance(self.curves, LiveTrend) and self.budget.plain:
            return float(self.curves.live.told)
        return super().used()

    def observe_one(self, arm: int, losses: list[float]) -> None:
        if not isinstance(self.curves, LiveTrend) or self.early is not None:
            super().observe_one(arm, losses)
            return
        row = self.row
        row.pulls[arm] += len(losses)
        row.wanted[arm] -= len(losses)
        played = self.policy.played(np.array(losses)).tolist() if self.shifts else losses
        if (highest := max(played)) > row.highest[0]:
            row.highest[0] = highest
        if min(played) < 0:
            row.below[0] = True
        self.curves.add(arm, played)

    def decide(self, rows: Rows) -> None:
        curves = self.curves
        if isinstance(curves, LiveTrend) and self.budget.plain and not self._starts():
            left = self.horizon - curves.live.told
            if left >= 1 and not any(self.row.failed) and not any(self.row.wanted):
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
        row = self.row
        highest = 0.0 if row.below[0] else row.highest[0]
        arm = curves.live.lowest(self.share, left, self.policy.patience, self.straight, highest)
        if arm < 0:  # no index is a number: the squares of the losses are too large for one
            arm = row.pulls.tolist().index(min(row.pulls))
        row.wanted[arm] = times = min(-(-row.pulls[arm] // horizon_play.BLOCK), left)
        self.next = [(arm, times)]

    def fresh(self, out: Mapping[int, tuple[int, int]]) -> list[tuple[int, int]]:
        chosen, self.next = self.next, []
        return chosen or super().fresh(out)


class HorizonRow(Row):
    """And the highest of its losses, and whether one was below the floor."""

    def __init__(self, play: LiveHorizonPlay):
        super().__init__(play)
        self.below = play.below.data
        self.highest: Any = play.highest.data  # of floats

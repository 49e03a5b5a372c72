"""The curves of one live game behind the arrays' interface; the work is done in plain numbers (live_filters.py)."""

import math
from bisect import bisect_right
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from restsure.estimators.base import Cells, indices_of
from restsure.estimators.compiled import LiveFilters
from restsure.estimators.curve_model import Floats
from restsure.estimators.filters import WEIGHT, FilteredCurves
from restsure.estimators.live_filters import LiveArm, added
from restsure.estimators.misfit import FEWEST, SURE, WORTH

MOST_ARMS = 128  # with more, taking stock of all is sooner done in arrays


class LiveTrend(FilteredCurves):
    """The filters of the arms of one run."""

    def __init__(self, lengths: Floats):
        super().__init__(1, lengths)
        self.live = self._filters()
        self.behind = set[int]()  # arms whose outlook the arrays do not have yet

    def _filters(self) -> LiveFilters:
        """Those of arms without losses."""
        own = (-self.rho, *self.noises, self.slope, self.slope_variance, self.drift, self.curb, *self.falling)
        ways = [tuple(way) for way in np.hstack(own).tolist()]
        return LiveFilters(ways, self.prior[:, 0].tolist(), self.kinship, self.s0.T.tolist())

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"live": self.live.plain()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.live = self._filters()
        self.live.revive(state["live"])

    def add(self, arm: int, losses: list[float]) -> None:
        """The next losses of an arm."""
        self.live.add(arm, losses)

    def update(self, cells: Cells, losses: Floats) -> None:
        for arm, block in zip(indices_of(cells, len(self.at)).tolist(), losses.tolist(), strict=True):
            self.live.add(arm, block)

    def means(self, cells: Cells) -> Floats:
        return np.array([self.live.arms[arm].mean() for arm in indices_of(cells, len(self.at)).tolist()])

    def refresh(self, runs: NDArray[np.intp]) -> NDArray[np.intp]:
        return np.array(self.renew(), dtype=np.intp)

    def renew(self) -> list[int]:
        """Take stock, and run filters over new losses; the arms whose predictions have changed."""
        due = self.live.due()
        if due:
            self._look_for_misfits()
        changed = self.live.refresh(due)
        self.behind.update(changed)
        return changed

    def _look_for_misfits(self) -> None:
        """Among arms with new losses; in arrays, once any may be one or was one."""
        grown = [k for k in self.live.fresh() if self.live.arms[k].pulls >= FEWEST]
        if not grown:
            return
        arms = [self.live.arms[k] for k in grown]
        found = [windows(arm, self.live.edges) for arm in arms]
        if self.odd[grown].any() or any(may_bend(*each, arm.noise) for each, arm in zip(found, arms, strict=True)):
            count, total = (np.array(each).T for each in zip(*found, strict=True))
            self.note_bends(np.array(grown), count, total, np.array([arm.noise for arm in arms]))

    def _ahead(self, cells: Cells, pulls: Floats) -> tuple[Floats, Floats, Floats]:
        self._catch_up()
        return super()._ahead(cells, pulls)

    def _catch_up(self) -> None:
        """Write into the arrays what they lack."""
        for k in self.behind:
            arm = self.live.arms[k]
            self.outlook[:WEIGHT, :, k], self.outlook[WEIGHT, :, k] = np.array(arm.outlook).T, arm.weights
            self.seen[k], self.at[k] = arm.seen, arm.at
        self.behind.clear()

    def variance_of_a_loss(self, cell: int) -> float:
        return float(self.live.arms[cell].noise)


def windows(arm: LiveArm, edges: list[int]) -> tuple[list[float], list[float]]:
    """How many losses there are before each quarter of the pulls of an arm and in all, and what they come to."""
    ends = [bisect_right(edges, arm.pulls - k * (arm.pulls // 4)) - 1 for k in (4, 3, 2, 1)]
    counts, totals = [float(edges[end]) for end in ends], [added(arm.sums[:end]) for end in ends]
    return [*counts, float(arm.pulls)], [*totals, added(arm.sums)]


def may_bend(count: list[float], total: list[float], noise: float) -> bool:
    """Whether losses rise, or fall faster, by enough to matter; where they do not, :func:`bends` finds nothing either."""
    sizes = [max(after - before, 1.0) for before, after in pairwise(count)]
    _, first, second, third = (
        (after - before) / size for (before, after), size in zip(pairwise(total), sizes, strict=True)
    )
    by = max(third - min(first, second), second - third - max(first - second, 0.0))
    return by > WORTH * abs(second) and by > SURE * math.sqrt(noise / sizes[-1])

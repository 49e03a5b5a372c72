"""The curves of one live game behind the arrays' interface; the work is done in plain numbers (live_filters.py)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from restsure.estimators.base import Cells, indices_of
from restsure.estimators.compiled import LiveFilters
from restsure.estimators.curve_model import Floats
from restsure.estimators.filters import WEIGHT, FilteredCurves

MOST_ARMS = 128  # with more, taking stock of all is sooner done in arrays


class LiveTrend(FilteredCurves):
    """The filters of the arms of one run."""

    def __init__(self, lengths: Floats):
        super().__init__(1, lengths)
        self.live = self._filters()
        self.behind = set[int]()  # arms whose outlook the arrays do not have yet
        self.bent = False  # whether a curve does not follow any filter

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
        if due and (grown := self.live.grown()) and (self.bent or self.live.suspects(grown)):
            self._look_for_misfits(grown)
        changed = self.live.refresh(due)
        self.behind.update(changed)
        return changed

    def _look_for_misfits(self, grown: list[int]) -> None:
        """In arrays, once any may be one or was one."""
        arms = [self.live.arms[k] for k in grown]
        count, total = (np.array(each).T for each in zip(*(arm.windows(self.live.edges) for arm in arms), strict=True))
        self.note_bends(np.array(grown), count, total, np.array([arm.noise for arm in arms]))
        self.bent = bool(self.odd.any())

    def _ahead(self, cells: Cells, pulls: Floats) -> tuple[Floats, Floats, Floats]:
        self._catch_up()
        return super()._ahead(cells, pulls)

    def _catch_up(self) -> None:
        """Write into the arrays what they lack."""
        for k in self.behind:
            arm = self.live.arms[k]
            self.outlook[: WEIGHT + 1, :, k] = np.array([each.outlook() for each in arm.filters]).T
            self.seen[k], self.at[k] = arm.seen, arm.at
        self.behind.clear()

    def variance_of_a_loss(self, cell: int) -> float:
        return float(self.live.arms[cell].noise)

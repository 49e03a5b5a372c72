"""The curve model of HorizonLCB with other filters than its own: for ablations, and for the search of its constants."""

from dataclasses import dataclass
from typing import Any

import restsure as rs
from restsure.estimators.filters import FILTERS, KINSHIP, Filter
from restsure.estimators.log_trend import LogTrendStates

THREE = tuple(
    Filter(offset, 0.5, weight, sd) for offset, weight, sd in ((0, 0.6, 0.3), (0.05, 0.3, 0.6), (0.5, 0.1, 0.6))
)
"""Those of the first rule."""


@dataclass(frozen=True)
class OtherFilters(rs.LogTrend):
    """LogTrend with these filters."""

    filters: tuple[Filter, ...] = FILTERS
    kinship: float = KINSHIP

    def start(self, runs: int, lengths: Any) -> LogTrendStates:
        return LogTrendStates(runs, lengths, self.filters, self.kinship)

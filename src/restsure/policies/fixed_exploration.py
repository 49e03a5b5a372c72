"""Explore for a share of the budget that was fixed beforehand, then commit."""

from dataclasses import dataclass

from restsure import checks
from restsure.description import settle
from restsure.policies.phases import Phase, PhasesPlay
from restsure.policies.policy import Policy


@dataclass(frozen=True)
class FixedExploration(Policy):
    """Explore all arms in turn for a ``fraction`` of the budget, then give the rest to the best.

    Arms are ranked by the mean of their last ``floor(eps n)`` losses, one at least.

    Known weakness: how long to explore is a guess; a half does well on many problems and best on few.
    """

    fraction: float = 0.5
    eps: float | None = 0.25

    def __post_init__(self) -> None:
        settle(self, fraction=checks.real("fraction", self.fraction, above=0, at_most=1))
        if self.eps is not None:
            settle(self, eps=checks.real("eps", self.eps, above=0, at_most=1))

    def play(self, n_arms: int, horizon: int, runs: int, *, log: bool = False) -> PhasesPlay:
        pulls = max(1, int(self.fraction * horizon / n_arms))
        return PhasesPlay([Phase(pulls, 1)], n_arms, horizon, runs, eps=self.eps, log=log)

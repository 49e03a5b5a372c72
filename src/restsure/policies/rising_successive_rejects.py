"""Successive rejects by the last losses."""

from dataclasses import dataclass

from restsure import checks
from restsure.description import settle
from restsure.policies.phases import PhasesPlay, rejects_schedule
from restsure.policies.policy import Policy


@dataclass(frozen=True)
class RisingSuccessiveRejects(Policy):
    """R-SR: the phases of :class:`SuccessiveRejects`, but the worst mean of the last ``floor(eps n)`` losses is dropped.

    Reference: Mussi, Montenegro, Trovo, Restelli and Metelli, *Best Arm Identification for Stochastic Rising Bandits*,
    ICML 2024. What is left over goes to the survivor, which ends with about .28 T pulls at K = 5.

    ``stuck_losses=3`` reproduces the published figures: the public code at ``eps = .25`` never removes the first three
    losses from a window, because the window is empty until the fourth.

    Known weakness: the winner is undertrained even where it is right.
    """

    eps: float = 0.25
    stuck_losses: int = 0

    def __post_init__(self) -> None:
        settle(self, eps=checks.real("eps", self.eps, above=0, at_most=1))
        settle(self, stuck_losses=checks.whole("stuck_losses", self.stuck_losses, at_least=0))

    def play(self, n_arms: int, horizon: int, runs: int, *, log: bool = False) -> PhasesPlay:
        schedule = rejects_schedule(n_arms, horizon)
        return PhasesPlay(schedule, n_arms, horizon, runs, eps=self.eps, stuck=self.stuck_losses, log=log)

"""Successive halving of learners that keep their training."""

import math
from dataclasses import dataclass
from itertools import pairwise

from restsure import checks
from restsure.description import settle
from restsure.policies.phases import Phase, PhasesPlay
from restsure.policies.policy import Policy


@dataclass(frozen=True)
class SuccessiveHalving(Policy):
    """Rungs of equal budget; after each the best ``1/eta`` of the arms go on, with the training they have (rested).

    With ``S_k`` the arms of rung k, each gets ``floor(T / (|S_k| ceil(log_eta K)))`` more pulls, and the best
    ``ceil(|S_k| / eta)`` by the mean of their last ``floor(eps n)`` losses (one at least) stay. What is left over goes to the
    survivor. Reference: Jamieson and Talwalkar, *Non-stochastic Best Arm Identification and Hyperparameter Optimization*,
    AISTATS 2016.

    Known weakness: a slow starter is dropped at the first rung, whatever its curve promises.
    """

    eta: float = 2.0
    eps: float | None = 0.25

    def __post_init__(self) -> None:
        settle(self, eta=checks.real("eta", self.eta, above=1))
        if self.eps is not None:
            settle(self, eps=checks.real("eps", self.eps, above=0, at_most=1))

    def play(self, n_arms: int, horizon: int, runs: int, *, log: bool = False) -> PhasesPlay:
        return PhasesPlay(self.rungs(n_arms, horizon), n_arms, horizon, runs, eps=self.eps, log=log)

    def rungs(self, n_arms: int, horizon: int) -> list[Phase]:
        """At least one pull in the first rung, and never more than the budget."""
        sizes = [n_arms]
        while sizes[-1] > 1:
            sizes.append(math.ceil(sizes[-1] / self.eta))
        phases, pulls, left = list[Phase](), 0, horizon
        for size, survivors in pairwise(sizes):
            more = min(max(horizon // (size * (len(sizes) - 1)), 1 if pulls == 0 else 0), left // size)
            pulls, left = pulls + more, left - more * size
            phases.append(Phase(pulls, survivors))
        return phases

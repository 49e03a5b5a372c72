"""Successive rejects, for arms that stand still."""

from dataclasses import dataclass

from restsure.policies.phases import PhasesPlay, rejects_schedule
from restsure.policies.policy import Policy


@dataclass(frozen=True)
class SuccessiveRejects(Policy):
    """K - 1 phases; after phase j, with ``N_j`` pulls an arm, the arm with the worst mean is dropped.

    ``N_j = ceil((T - K) / (logbar(K) (K + 1 - j)))``, ``logbar(K) = 1/2 + sum_{i=2..K} 1/i``. What is left over goes to the
    last survivor. Reference: Audibert, Bubeck and Munos, *Best Arm Identification in Multi-Armed Bandits*, COLT 2010.

    Known weakness: the mean over all losses punishes a slow starter for its first losses to the end.
    """

    def play(self, n_arms: int, horizon: int, runs: int, *, log: bool = False) -> PhasesPlay:
        return PhasesPlay(rejects_schedule(n_arms, horizon), n_arms, horizon, runs, eps=None, log=log)

"""UCB-E, for arms that stand still."""

from dataclasses import dataclass

import numpy as np

from restsure import checks
from restsure.description import settle
from restsure.policies.exploration import ucbe_exploration
from restsure.policies.indexed import IndexedPlay
from restsure.policies.peer import Floats, Rows
from restsure.policies.policy import Policy


@dataclass(frozen=True)
class UCBE(Policy):
    """Pull the arm with the lowest ``mean - sqrt(a / n)``; return the best mean.

    ``a = 25 (T - K) / (36 H_1)`` with ``H_1`` the sum of the inverse squared gaps: give ``a``, or the true gaps after T pulls
    as ``gaps`` (an oracle), or neither, and the gaps are estimated from the means as the game goes. Reference: Audibert,
    Bubeck and Munos, COLT 2010.

    Known weakness: on rising arms the mean over all losses hides every slow starter; errors near one.
    """

    a: float | None = None
    gaps: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.a is not None:
            settle(self, a=checks.real("a", self.a, at_least=0))
        settle(self, gaps=checked_gaps(self.gaps))

    def play(self, n_arms: int, horizon: int, runs: int, *, log: bool = False) -> "UCBEPlay":
        return UCBEPlay(self, n_arms, horizon, runs, log=log)


def checked_gaps(gaps: object) -> tuple[float, ...] | None:
    """Non-negative numbers as a tuple, or None."""
    if gaps is None:
        return None
    return tuple(checks.within("gaps", checks.real_array("gaps", gaps), low=0).tolist())


class UCBEPlay(IndexedPlay):
    """Many games of UCB-E."""

    def __init__(self, policy: UCBE, n_arms: int, horizon: int, runs: int, *, log: bool = False):
        super().__init__(n_arms, horizon, runs, warmup=1, eps=0.5, log=log)
        self.a = policy.a
        if self.a is None and policy.gaps is not None:
            self.a = float(ucbe_exploration(policy.gaps, n_arms, horizon))

    def standing(self, rows: Rows) -> Floats:
        return self.table(self.windows.total_mean(self.cells_of(rows)))

    def index(self, rows: Rows) -> Floats:
        means = self.standing(rows)
        a = self.a
        if a is None:
            seen = np.where(self.failed[rows], np.inf, means)
            gaps = np.nan_to_num(means - seen.min(axis=1, keepdims=True), posinf=0.0)
            a = ucbe_exploration(np.maximum(gaps, 0), self.n_arms, self.horizon)[:, None]
        return means - np.sqrt(a / np.maximum(self.pulls[rows], 1))

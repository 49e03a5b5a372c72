"""Algorithm 1 of the paper."""

from dataclasses import dataclass
from typing import Self

from restsure.bounds import Bound, Empirical, Theorem2
from restsure.estimators import Estimator, LeastSquares, TwoWindow
from restsure.policies.rounds import RoundsPlay, RoundsPolicy, Standing


@dataclass(frozen=True)
class ExploreThenCommit(RoundsPolicy):
    """ETC, Algorithm 1: pull all arms in turn until one is ahead of all others at the furthest state, then play it.

    After ``n`` rounds ``tau_out = T - n (K - 1)``; commit when ``mu^_i(tau_out) < min_{j != i} mu^_j(tau_out) - 2 CB``
    (line 4). When no round is left, return ``argmin mu^_i(tau_out)``.

    ``rho``: the known exponent. ``estimator``, ``bound``: how curves are fitted and how sure that is; the defaults, least
    squares and its empirical width, decide at real budgets, :meth:`as_published` does not. ``delta``: level; 1/T if None.

    Known weakness: one counter for all arms, so the closest pair of arms decides how long all are explored.
    """

    rho: float = 0.5
    estimator: Estimator = LeastSquares()
    bound: Bound = Empirical()
    delta: float | None = None

    @classmethod
    def as_published(cls, rho: float = 0.5, alpha_max: float = 1.0) -> Self:
        """The paper's own: two windows, the radius of Theorem 2, ``delta = 1/T``."""
        return cls(rho, TwoWindow(), Theorem2(alpha_max))

    def play(self, n_arms: int, horizon: int, runs: int, *, log: bool = False) -> "ExploreThenCommitPlay":
        return ExploreThenCommitPlay(self, n_arms, horizon, runs, log=log)


class ExploreThenCommitPlay(RoundsPlay):
    """Many games of Algorithm 1."""

    def judge(self, standing: Standing) -> None:
        self.commit_where_ahead(standing, "Alg. 1 line 4: ahead of all others at the reach")

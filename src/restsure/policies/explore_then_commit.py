"""Algorithm 1 of the paper."""

from dataclasses import dataclass

from restsure.policies.rounds import RoundsPlay, RoundsPolicy, Standing


@dataclass(frozen=True)
class ExploreThenCommit(RoundsPolicy):
    """ETC, Algorithm 1: pull all arms in turn until one is ahead of all others at the furthest state, then play it.

    After ``n`` rounds ``tau_out = T - n (K - 1)``; commit when ``mu^_i(tau_out) < min_{j != i} mu^_j(tau_out) - 2 CB``
    (line 4). When no round is left, return ``argmin mu^_i(tau_out)``.

    Known weakness: one counter for all arms, so the closest pair of arms decides how long all are explored.
    """

    def play(self, n_arms: int, horizon: int, runs: int, *, log: bool = False) -> "ExploreThenCommitPlay":
        return ExploreThenCommitPlay(self, n_arms, horizon, runs, log=log)


class ExploreThenCommitPlay(RoundsPlay):
    """Many games of Algorithm 1."""

    def judge(self, standing: Standing) -> None:
        self.commit_where_ahead(standing, "Alg. 1 line 4: ahead of all others at the reach")

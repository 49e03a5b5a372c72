"""Example 1: a stationary arm against a falling one that never gets below it."""

from dataclasses import dataclass

import numpy as np

import restsure as rs
from restsure.policies.rounds import RoundsPlay, RoundsPolicy, Standing


@dataclass(frozen=True)
class NaiveCommitment(RoundsPolicy):
    """Commits to an arm once it is sure that playing it on would improve on its present loss: what Example 1 warns of."""

    def play(self, n_arms: int, horizon: int, runs: int, *, log: bool = False) -> "NaivePlay":
        return NaivePlay(self, n_arms, horizon, runs, log=log)


class NaivePlay(RoundsPlay):
    def judge(self, standing: Standing) -> None:
        x_now, x_reach = float(standing.n) ** -self.rho, standing.reach.astype(float) ** -self.rho
        gain = standing.losses(x_now) - standing.losses(x_reach)  # alpha^ (n**-rho - tau_out**-rho)
        width = self.bound.radius(standing.design, x_now, self.claim) / standing.design.weight_norm(x_now)
        sure = gain > width * np.sqrt(standing.design.spread[0]) * (x_now - x_reach)[:, None]
        for k in np.flatnonzero(sure.any(axis=1)).tolist():
            self.commit(int(standing.rows[k]), int(gain[k].argmax()), "it improves")


def test_naive_commitment_loses_and_rest_sure_does_not() -> None:
    """mu_1 = .2, mu_2(s) = .2 + s**-1/2, noise .1, T = 1e4: the falling arm improves visibly and is always worse.

    The naive rule takes arm 2 in every one of 200 runs and pays alpha / sqrt(tau_out) > .01. REST-SURE returns arm 1, whose
    regret is zero whatever its pulls; it may err with probability 1/T a run.
    """
    arms = rs.PowerLawArms([0.0, 1.0], [0.2, 0.2], noise=rs.Gaussian(0.1))
    exact = rs.bounds.ExactWeights(0.1)
    naive = rs.simulate(NaiveCommitment(0.5, bound=exact), arms, horizon=10_000, replicates=200, seed=0)
    assert (naive.arm == 1).all()
    assert naive.regret.mean() >= 0.01
    for policy in (rs.RestSure(bound=exact), rs.RestSure(), rs.RestSure.as_published()):
        out = rs.simulate(policy, arms, horizon=10_000, replicates=200, seed=0)
        assert (out.arm == 0).all(), policy
        assert out.regret.max() == 0

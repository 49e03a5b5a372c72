"""Thompson sampling at the reach, to show how far down a good policy can go. Known rho and sigma."""

from dataclasses import dataclass

import numpy as np

import restsure as rs
from restsure.estimators import LeastSquares
from restsure.policies import Play, Policy


@dataclass(frozen=True)
class Thompson(Policy):
    """Draw each arm's loss at its reach from the regression's law and pull the lowest draw."""

    sigma: float = 0.1
    rho: float = 0.5
    first: int = 100
    seed: int = 0

    def play(self, n_arms: int, horizon: int, runs: int, *, log: bool = False) -> "ThompsonPlay":
        return ThompsonPlay(self, n_arms, horizon, runs, log=log)


class ThompsonPlay(Play):
    def __init__(self, policy: Thompson, n_arms: int, horizon: int, runs: int, *, log: bool = False):
        super().__init__(n_arms, horizon, runs, log=log)
        self.policy = policy
        self.curves = LeastSquares().start(policy.rho, runs * n_arms)
        self.rng = np.random.default_rng(policy.seed)

    def learn(self, cells, losses) -> None:
        self.curves.update(cells, losses)

    def decide(self, rows) -> None:
        if not self.pulls.any():
            self.wanted[:] = self.policy.first
            return
        m, shape = self.curves.moments, self.pulls.shape
        alpha, beta = (part.reshape(shape) for part in self.curves.coefficients(slice(None)))
        left = self.horizon - self.spent()
        x = rs.reach(self.pulls, self.spent()[:, None], self.horizon).astype(float) ** -self.policy.rho
        variance = 1 / self.pulls + (x - m.mean_phi.reshape(shape)) ** 2 / m.phi_phi.reshape(shape)
        draws = alpha * x + beta + self.policy.sigma * np.sqrt(variance) * self.rng.standard_normal(shape)
        over, going = rows[left[rows] == 0], rows[left[rows] > 0]
        now = alpha * self.pulls**-self.policy.rho + beta
        self.choice[over], self.done[over] = now[over].argmin(axis=1), True
        self.wanted[going, draws[going].argmin(axis=1)] = 1

    def fail(self, run, arm) -> None:
        raise AssertionError("arms do not fail here")

    def leader(self, run) -> int:
        raise AssertionError("not played live")

    def interval(self, run, arm):
        raise AssertionError("not played live")

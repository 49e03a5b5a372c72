"""R-ed-UCB: optimism about the next pull."""

import math
from dataclasses import dataclass

import numpy as np

from restsure import checks
from restsure.description import settle
from restsure.policies.indexed import IndexedPlay
from restsure.policies.peer import Floats, Rows
from restsure.policies.policy import Policy


@dataclass(frozen=True)
class RisingUCB(Policy):
    """Pull the arm with the lowest projection to the current round t minus a bonus.

    The bonus is ``sigma (t - n + h - 1) sqrt(10 log(1/delta_t) / h^3)`` with ``delta_t = t**-4`` and ``h = floor(eps n)``; the
    projection is that of :class:`RisingUCBE` with t in the place of T. It is made for the sum of rewards along the way and
    has no rule for what to return: here, the best mean of the last h losses.

    Reference: Metelli, Trovo, Pirola and Restelli, *Stochastic Rising Bandits*, ICML 2022. Known weakness: it looks no
    further than now, so an arm that would win at T is left as soon as another is better at t.
    """

    sigma: float = 0.1
    eps: float = 0.25

    def __post_init__(self) -> None:
        settle(
            self,
            sigma=checks.real("sigma", self.sigma, above=0),
            eps=checks.real("eps", self.eps, above=0, below=0.5),
        )

    def play(self, n_arms: int, horizon: int, runs: int, *, log: bool = False) -> "RisingUCBPlay":
        return RisingUCBPlay(self, n_arms, horizon, runs, log=log)

    def losses_kept(self, n_arms: int, horizon: int) -> int:
        return n_arms * horizon


class RisingUCBPlay(IndexedPlay):
    """Many games of R-ed-UCB. Every index moves with t."""

    def __init__(self, policy: RisingUCB, n_arms: int, horizon: int, runs: int, *, log: bool = False):
        super().__init__(n_arms, horizon, runs, warmup=math.ceil(1 / policy.eps), eps=policy.eps, log=log)
        self.sigma = policy.sigma

    def standing(self, rows: Rows) -> Floats:
        return self.table(self.windows.mean(self.cells_of(rows)))

    def index(self, rows: Rows) -> Floats:
        cells = self.cells_of(rows)
        t = np.repeat(self.spent(rows) + 1, self.n_arms)
        n, h = self.windows.counts(cells)
        h = np.maximum(h, 1)
        bonus = self.sigma * (t - n + h - 1) * np.sqrt(40 * np.log(t)) * h**-1.5
        return self.table(self.windows.projection(cells, t) - bonus)

"""R-UCBE: optimism about where the last trend leads."""

import math
from dataclasses import dataclass

import numpy as np

from restsure import checks
from restsure.description import settle
from restsure.estimators import Cells
from restsure.policies.exploration import rising_ucbe_exploration
from restsure.policies.indexed import IndexedPlay
from restsure.policies.peer import Floats, Rows
from restsure.policies.policy import Policy
from restsure.policies.ucbe import checked_gaps
from restsure.policies.windows import PULLS, WIDTH, projected


@dataclass(frozen=True)
class RisingUCBE(Policy):
    """Pull the arm with the lowest projection to T pulls minus ``sigma (T - n + h - 1) sqrt(factor a / h^3)``.

    With ``h = floor(eps n)`` the projection is ``(1/h) sum_{l=n-h+1..n} [y_l + (T - l)(y_l - y_{l-h})/h]``. All arms are
    pulled in turn until every h is at least one. The lowest projection *without* the bonus is returned; with
    it errors are .6 to .95.

    ``a`` (see :func:`rising_ucbe_exploration`) needs the true gaps after T pulls, ``gaps``: an oracle. Or give ``a`` itself.
    With neither, the gaps are estimated from the projections as the game goes, none below ``sigma / sqrt(T)``. ``b`` is 1.3
    in Setting A, 1.001 in B, 1.5 on IMDB. ``factor=10`` is what the published curves used.

    Reference: Mussi, Montenegro, Trovo, Restelli and Metelli, *Best Arm Identification for Stochastic Rising Bandits*,
    ICML 2024. Known weaknesses: noise is multiplied by ``T/h``; and the winner ends with about .32 T pulls at K = 5.
    """

    sigma: float = 0.1
    eps: float = 0.25
    b: float = 1.3
    a: float | None = None
    gaps: tuple[float, ...] | None = None
    factor: float = 1.0

    def __post_init__(self) -> None:
        settle(
            self,
            sigma=checks.real("sigma", self.sigma, above=0),
            eps=checks.real("eps", self.eps, above=0, below=0.5),
            b=checks.real("b", self.b, above=1),
            factor=checks.real("factor", self.factor, above=0),
            gaps=checked_gaps(self.gaps),
        )
        if self.a is not None:
            settle(self, a=checks.real("a", self.a, at_least=0))

    def play(self, n_arms: int, horizon: int, runs: int, *, log: bool = False) -> "RisingUCBEPlay":
        return RisingUCBEPlay(self, n_arms, horizon, runs, log=log)

    def losses_kept(self, n_arms: int, horizon: int) -> int:
        return n_arms * horizon


class RisingUCBEPlay(IndexedPlay):
    """Many games of R-UCBE. Only the arm that was pulled has a new projection."""

    def __init__(self, policy: RisingUCBE, n_arms: int, horizon: int, runs: int, *, log: bool = False):
        super().__init__(n_arms, horizon, runs, warmup=math.ceil(1 / policy.eps), eps=policy.eps, log=log)
        self.policy = policy
        self.a = policy.a
        if self.a is None and policy.gaps is not None:
            self.a = float(self._exploration(policy.gaps))
        self.projected = np.full(runs * n_arms, np.inf)
        self.bonus = np.zeros(runs * n_arms)  # without the factor sqrt(a)

    def _exploration(self, gaps: object) -> Floats:
        policy = self.policy
        return np.asarray(rising_ucbe_exploration(gaps, self.horizon, sigma=policy.sigma, eps=policy.eps, b=policy.b))

    def learn(self, cells: Cells, losses: Floats) -> None:
        state = self.windows.update(cells, losses)
        n, h = state[PULLS], state[WIDTH]
        self.projected[cells] = projected(state, self.horizon)
        scale = self.policy.sigma * math.sqrt(self.policy.factor)
        self.bonus[cells] = scale * (self.horizon - n + h - 1) * np.maximum(h, 1) ** -1.5

    def standing(self, rows: Rows) -> Floats:
        return np.asarray(self.table(self.projected)[self.pick(rows)])

    def index(self, rows: Rows) -> Floats:
        projected = self.standing(rows)
        if self.a is not None:
            return np.asarray(projected - math.sqrt(self.a) * self.table(self.bonus)[self.pick(rows)])
        seen = np.where(self.failed[rows], np.inf, projected)
        gaps = np.nan_to_num(projected - seen.min(axis=1, keepdims=True), posinf=0.0)
        least = self.policy.sigma / math.sqrt(self.horizon)
        a = self._exploration(np.where(gaps > 0, np.maximum(gaps, least), 0.0))
        return np.asarray(projected - np.sqrt(a)[:, None] * self.table(self.bonus)[self.pick(rows)])

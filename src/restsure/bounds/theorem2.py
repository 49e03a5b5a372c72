"""The paper's radius."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from restsure import checks
from restsure.bounds.base import Bound, Claim
from restsure.description import settle
from restsure.estimators import Design, Estimator, Residuals
from restsure.theory import theorem2_radius, unchecked_radius


@dataclass(frozen=True)
class Theorem2(Bound):
    """``CB_{mu,tau}(delta)`` of Theorem 2, for losses in [0, ``alpha_max`` + 1] and ``rho < 1``.

    Two arms are told apart by ``2 CB``. The constants are the paper's: at ``rho = 1/2``, two arms and a million pulls
    ``2 CB`` is still 2.9 where losses lie in [0, 2]. Stated for :class:`~restsure.TwoWindow`.
    """

    alpha_max: float = 1.0

    def __post_init__(self) -> None:
        settle(self, alpha_max=checks.real("alpha_max", self.alpha_max, at_least=0))

    def check(self, estimator: Estimator, rho: float) -> None:
        super().check(estimator, rho)
        theorem2_radius(1, n_arms=1, horizon=1, rho=rho, alpha_max=self.alpha_max, delta=0.5)  # refuses rho = 1

    def radius(self, design: Design, x: Any, claim: Claim, residuals: Residuals | None = None) -> Any:
        tau = design.pulls // 2
        radius = unchecked_radius(tau, claim.n_arms, claim.horizon, design.rho, self.alpha_max, claim.delta)
        return radius if isinstance(x, float) else np.full_like(x, radius, dtype=np.float64)

    def gap(self, design: Design, x: Any, claim: Claim, residuals: Residuals | None = None) -> Any:
        return 2 * self.radius(design, x, claim, residuals)

"""Another bound, made narrower or wider."""

from dataclasses import dataclass
from typing import Any

from restsure import checks
from restsure.bounds.base import Bound, Claim
from restsure.description import settle
from restsure.estimators import Design, Estimator, Residuals


@dataclass(frozen=True)
class Scaled(Bound):
    """``factor`` times another bound: for experiments on how conservative a radius is. Below one it certifies nothing."""

    bound: Bound
    factor: float

    def __post_init__(self) -> None:
        checks.instance("bound", self.bound, Bound)
        settle(self, factor=checks.real("factor", self.factor, above=0))

    @property
    def needs_residuals(self) -> bool:
        return self.bound.needs_residuals

    def check(self, estimator: Estimator, rho: float) -> None:
        self.bound.check(estimator, rho)

    def radius(self, design: Design, x: Any, claim: Claim, residuals: Residuals | None = None) -> Any:
        return self.factor * self.bound.radius(design, x, claim, residuals)

    def gap(self, design: Design, x: Any, claim: Claim, residuals: Residuals | None = None) -> Any:
        return self.factor * self.bound.gap(design, x, claim, residuals)

"""Curve in, radius out: what every bound offers."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from restsure.description import Description
from restsure.errors import InvalidParameter
from restsure.estimators import Design, Estimator, Residuals


@dataclass(frozen=True, slots=True)
class Claim:
    """What a radius is to hold for: ``n_arms`` arms (K), pull counts up to ``horizon`` (T), probability ``1 - delta``."""

    n_arms: int
    horizon: int
    delta: float


class Bound(Description, ABC):
    """How far an estimated loss can be from the true one.

    A radius must be convex in ``x = m**-rho``, as the norm of a linear estimate's weights is: elimination looks at the
    ends of linear pieces only. It may depend on the losses through ``residuals`` alone.
    """

    @property
    def needs_residuals(self) -> bool:
        """Whether the noise is estimated from the losses, so that the radius is not certified."""
        return False

    @abstractmethod
    def radius(self, design: Design, x: Any, claim: Claim, residuals: Residuals | None = None) -> Any:
        """``|mu^(m) - mu(m)|`` is at most this, at ``x = m**-rho``; infinite while nothing is known."""

    def gap(self, design: Design, x: Any, claim: Claim, residuals: Residuals | None = None) -> Any:
        """What the difference of two arms' estimates must exceed to tell them apart.

        ``sqrt(r_i**2 + r_j**2)`` for the independent losses of two arms with as many pulls each.
        """
        return math.sqrt(2) * self.radius(design, x, claim, residuals)

    def check(self, estimator: Estimator, rho: float) -> None:
        """Refuse an estimator or exponent that the bound says nothing about."""
        if not estimator.unbiased:
            raise InvalidParameter(f"estimator={estimator!r}: must be unbiased for {type(self).__name__}")

"""A radius for all times and all pull counts at once."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from restsure import checks
from restsure.bounds.base import Bound, Claim
from restsure.description import settle
from restsure.errors import InvalidParameter
from restsure.estimators import Design, Estimator, LeastSquares, Residuals, quadratic_norm


@dataclass(frozen=True)
class SelfNormalized(Bound):
    """The self-normalised bound of Abbasi-Yadkori, Pal and Szepesvari (2011), for :class:`~restsure.LeastSquares`.

    Losses sub-Gaussian with parameter ``sigma``, ``alpha`` in [0, U] with ``U = alpha_max``, ``beta`` in [0, 1]. With
    ``lambda = sigma^2 / (U^2 + 1)``, ``G = sum phi phi^T`` and ``V = lambda I + G``, the event
    ``||sum phi noise||_{V^-1} <= sigma sqrt(2 log(K/delta) + log(det V / lambda^2))`` holds for all arms and times at once
    with probability ``1 - delta``. The estimate solved with ``W = G + ridge I`` is then within

        radius(m) = ||phi(m)||_{W^-1 V W^-1} sigma sqrt(2 log(K/delta) + log(det V / lambda^2))
                    + sqrt(ridge (U^2 + 1)) ||phi(m)||_{W^-1}

    of the truth at every m. For ``ridge = lambda`` this is ``||phi||_{V^-1} sigma (sqrt(...) + 1)``; for plain least squares
    the second term is gone. Two arms are told apart by the same argument on both regressions stacked, which needs
    ``log(K (K-1) / (2 delta))`` once instead of ``log(K / delta)`` twice.
    """

    sigma: float
    alpha_max: float = 1.0

    def __post_init__(self) -> None:
        settle(
            self,
            sigma=checks.real("sigma", self.sigma, above=0),
            alpha_max=checks.real("alpha_max", self.alpha_max, at_least=0),
        )

    @property
    def ridge(self) -> float:
        """``lambda``; ``LeastSquares(ridge=bound.ridge)`` gives a finite radius from the first loss on."""
        return self.sigma**2 / (self.alpha_max**2 + 1)

    def check(self, estimator: Estimator, rho: float) -> None:
        if not isinstance(estimator, LeastSquares):
            raise InvalidParameter(
                f"estimator={estimator!r}: must be LeastSquares for SelfNormalized, which bounds the sums of a regression"
            )

    def radius(self, design: Design, x: Any, claim: Claim, residuals: Residuals | None = None) -> Any:
        noise, bias, information = self._terms(self._gram(design), design.ridge, x)
        return noise * self.sigma * np.sqrt(2 * math.log(claim.n_arms / claim.delta) + information) + bias

    def radii(self, gram: tuple[Any, Any, Any], x: Any, claim: Claim) -> Any:
        """The radius of plain least squares for many arms at once, each with its own ``sum phi phi^T`` (arrays)."""
        noise, _, information = self._terms(gram, 0.0, x)
        return noise * self.sigma * np.sqrt(2 * math.log(claim.n_arms / claim.delta) + information)

    def gap(self, design: Design, x: Any, claim: Claim, residuals: Residuals | None = None) -> Any:
        noise, bias, information = self._terms(self._gram(design), design.ridge, x)
        pairs = max(claim.n_arms * (claim.n_arms - 1) / 2, 1)
        stacked = np.sqrt(2 * math.log(pairs / claim.delta) + 2 * information)
        return math.sqrt(2) * noise * self.sigma * stacked + 2 * bias

    @staticmethod
    def _gram(design: Design) -> tuple[float, float, float]:
        if design.gram is None:
            raise InvalidParameter("design: must come from LeastSquares for SelfNormalized")
        return design.gram

    def _terms(self, gram: tuple[Any, Any, Any], ridge: float, x: Any) -> tuple[Any, Any, Any]:
        """``||phi||_{W^-1 V W^-1}``, ``sqrt(ridge (U^2+1)) ||phi||_{W^-1}`` and ``log(det V / lambda^2)``."""
        (g00, g01, g11), lam = gram, self.ridge
        det_v = (g00 + lam) * (g11 + lam) - g01**2
        det_w = (g00 + ridge) * (g11 + ridge) - g01**2
        solvable = (ridge > 0) | (np.asarray(g11) > 1)  # g11 counts the losses
        det_w = np.where(solvable, det_w, 1.0)
        w = ((g11 + ridge) / det_w, -g01 / det_w, (g00 + ridge) / det_w)  # W^-1
        # W^-1 V W^-1 = W^-1 + (lambda - ridge) W^-2
        square = (w[0] ** 2 + w[1] ** 2, w[1] * (w[0] + w[2]), w[1] ** 2 + w[2] ** 2)
        middle = tuple(one + (lam - ridge) * two for one, two in zip(w, square, strict=True))
        noise = np.where(solvable, quadratic_norm((middle[0], middle[1], middle[2]), x), np.inf)
        bias = math.sqrt(ridge * (self.alpha_max**2 + 1)) * quadratic_norm(w, x)
        return noise[()], bias, np.log(det_v / lam**2)

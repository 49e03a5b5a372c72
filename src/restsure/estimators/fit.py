"""Fit the curve of one learner from its losses."""

import math
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from restsure import checks
from restsure.errors import InvalidParameter
from restsure.estimators.base import Design, Estimator
from restsure.estimators.least_squares import LeastSquares
from restsure.estimators.two_window import TwoWindow

_METHODS: dict[str, Estimator] = {"two-window": TwoWindow(), "least-squares": LeastSquares()}


@dataclass(frozen=True, slots=True)
class CurveFit:
    """A fitted curve ``alpha * m**-rho + beta`` after ``pulls`` losses.

    ``sigma`` is the estimated standard deviation of one loss; NaN until three losses have been seen.
    """

    alpha: float
    beta: float
    rho: float
    pulls: int
    sigma: float
    design: Design

    def predict(self, pulls: ArrayLike) -> tuple[Any, Any]:
        """Mean and standard deviation of the estimated loss after ``pulls`` pulls (numbers, or arrays for arrays)."""
        x = self.basis(pulls)
        return (self.alpha * x + self.beta)[()], (self.sigma * self.design.weight_norm(x))[()]

    def basis(self, pulls: ArrayLike) -> Any:
        """``m**-rho``, with the pull counts checked."""
        return checks.within("pulls", checks.real_array("pulls", pulls), low=1) ** -self.rho


def fit_curve(losses: ArrayLike, *, method: str = "least-squares", rho: float = 0.5) -> CurveFit:
    """Fit ``alpha * s**-rho + beta`` to the losses of pulls 1, 2, ... of one arm.

    ``method`` is ``"two-window"`` (paper Eqs. 4 to 6) or ``"least-squares"``. Two losses at least are needed.

    >>> fit = fit_curve([1.1, 0.9, 0.7, 0.6, 0.6, 0.5], method="least-squares", rho=0.5)
    >>> mean, sd = fit.predict(100)
    >>> print(f"{fit.alpha:.2f} {fit.beta:.2f}, after 100 pulls {mean:.2f} +- {sd:.2f}")
    1.01 0.12, after 100 pulls 0.22 +- 0.05
    """
    method = checks.choice("method", method, list(_METHODS))
    rho = checks.real("rho", rho, above=0, at_most=1)
    series = checks.real_array("losses", losses)
    if series.ndim != 1 or len(series) < 2:
        raise InvalidParameter(f"losses: must be a series of at least 2 numbers, but has shape {series.shape}")
    curves = _METHODS[method].start(rho, 1)
    curves.update(slice(None), series[None, :])
    alpha, beta = (float(part[0]) for part in curves.coefficients(slice(None)))
    freedom = len(series) - 2
    sigma = math.sqrt(float(curves.squares(slice(None))[0]) / freedom) if freedom else math.nan
    return CurveFit(alpha, beta, rho, len(series), sigma, curves.design(0))

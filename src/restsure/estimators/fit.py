"""Fit the curve of one learner from its losses."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from restsure import checks
from restsure.errors import InvalidParameter
from restsure.estimators.base import Design, Estimator
from restsure.estimators.curve_bank import CurveBank
from restsure.estimators.curve_model import CurveModel, Floats
from restsure.estimators.least_squares import LeastSquares
from restsure.estimators.log_trend import LogTrend
from restsure.estimators.two_window import TwoWindow

_REGRESSIONS: dict[str, Estimator] = {"two-window": TwoWindow(), "least-squares": LeastSquares()}
_MODELS: dict[str, CurveModel] = {"trend": LogTrend(), "bank": CurveBank()}


@dataclass(frozen=True, slots=True)
class CurveFit(ABC):
    """A curve fitted to the first ``pulls`` losses of a learner, and how it goes on.

    ``alpha * m**-rho + beta`` describes it: exactly so for ``"two-window"`` and ``"least-squares"``; for ``"trend"`` and
    ``"bank"`` it goes through their predictions at the present and at four times the pulls. ``sigma`` is the estimated
    standard deviation of one loss.
    """

    alpha: float
    beta: float
    rho: float
    pulls: int
    sigma: float

    def predict(self, pulls: ArrayLike) -> tuple[Any, Any]:
        """Mean and standard deviation of the estimated loss after ``pulls`` pulls (numbers, or arrays for arrays)."""
        mean, sd = self._at(checks.within("pulls", checks.real_array("pulls", pulls), low=1))
        return mean[()], sd[()]

    @abstractmethod
    def _at(self, pulls: Floats) -> tuple[Any, Any]: ...


@dataclass(frozen=True, slots=True)
class RegressionFit(CurveFit):
    """A power law with a known exponent; ``sigma`` is NaN until three losses have been seen."""

    design: Design

    def _at(self, pulls: Floats) -> tuple[Any, Any]:
        x = pulls**-self.rho
        return self.alpha * x + self.beta, self.sigma * self.design.weight_norm(x)


@dataclass(frozen=True, slots=True, eq=False)
class ModelFit(CurveFit):
    """A curve of unknown shape: predictions, from the present on, of a learner that can get ``horizon`` pulls."""

    model: CurveModel
    horizon: float
    losses: Floats

    def _at(self, pulls: Floats) -> tuple[Any, Any]:
        return _predictions(self.model, self.losses, self.horizon, pulls)[:2]


def fit_curve(
    losses: ArrayLike, *, method: str = "least-squares", rho: float = 0.5, horizon: int | None = None
) -> CurveFit:
    """Fit a curve to the losses of pulls 1, 2, ... of one arm. Two losses at least are needed.

    ``method``: with a known exponent ``rho``, ``"two-window"`` (paper Eqs. 4 to 6) or ``"least-squares"``; for a curve of
    unknown shape ``"trend"`` (:class:`~restsure.LogTrend`) or ``"bank"`` (:class:`~restsure.CurveBank`), which think of
    ``horizon`` pulls in all, ten times those made if it is None, and predict from the present on.

    >>> fit = fit_curve([1.1, 0.9, 0.7, 0.6, 0.6, 0.5], method="least-squares", rho=0.5)
    >>> mean, sd = fit.predict(100)
    >>> print(f"{fit.alpha:.2f} {fit.beta:.2f}, after 100 pulls {mean:.2f} +- {sd:.2f}")
    1.01 0.12, after 100 pulls 0.22 +- 0.05
    """
    method = checks.choice("method", method, [*_REGRESSIONS, *_MODELS])
    rho = checks.real("rho", rho, above=0, at_most=1)
    series = checks.real_array("losses", losses)
    if series.ndim != 1 or len(series) < 2:
        raise InvalidParameter(f"losses: must be a series of at least 2 numbers, but has shape {series.shape}")
    if horizon is not None:
        checks.whole("horizon", horizon, at_least=len(series))
    if method in _MODELS:
        return _fit_model(_MODELS[method], series, rho, horizon or 10 * len(series))
    curves = _REGRESSIONS[method].start(rho, 1)
    curves.update(slice(None), series[None, :])
    alpha, beta = (float(part[0]) for part in curves.coefficients(slice(None)))
    freedom = len(series) - 2
    sigma = math.sqrt(float(curves.squares(slice(None))[0]) / freedom) if freedom else math.nan
    return RegressionFit(alpha, beta, rho, len(series), sigma, curves.design(0))


def _fit_model(model: CurveModel, losses: Floats, rho: float, horizon: int) -> ModelFit:
    n = float(len(losses))
    mean, _, sigma = _predictions(model, losses, horizon, np.array([n, 4 * n]))
    alpha = float((mean[0] - mean[1]) / (n**-rho - (4 * n) ** -rho))
    return ModelFit(alpha, float(mean[0]) - alpha * n**-rho, rho, len(losses), sigma, model, horizon, losses)


def _predictions(model: CurveModel, losses: Floats, horizon: float, pulls: Floats) -> tuple[Floats, Floats, float]:
    """Mean and spread at ``pulls``, and the noise of one loss."""
    states = model.start(1, np.array([float(horizon)]))
    states.update(slice(None), losses[None, :])
    states.refresh(np.array([0]))
    cells = np.zeros(pulls.size, dtype=np.intp)
    mean, sd = states.predict(cells, np.maximum(pulls.reshape(-1), len(losses)))
    return mean.reshape(pulls.shape), sd.reshape(pulls.shape), math.sqrt(states.variance_of_a_loss(0))

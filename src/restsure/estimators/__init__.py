"""Losses in, curve out."""

from restsure.estimators.base import Cells, Curves, Design, Estimator, Residuals, indices_of, quadratic_norm
from restsure.estimators.curve_bank import CurveBank
from restsure.estimators.curve_model import CurveModel, CurveStates, PowerLaw, PowerLawStates
from restsure.estimators.fit import CurveFit, fit_curve
from restsure.estimators.least_squares import LeastSquares
from restsure.estimators.live_trend import LiveTrend
from restsure.estimators.log_trend import LogTrend
from restsure.estimators.misfit import MISFIT
from restsure.estimators.two_window import TwoWindow

__all__ = [
    "MISFIT",
    "Cells",
    "CurveBank",
    "CurveFit",
    "CurveModel",
    "CurveStates",
    "Curves",
    "Design",
    "Estimator",
    "LeastSquares",
    "LiveTrend",
    "LogTrend",
    "PowerLaw",
    "PowerLawStates",
    "Residuals",
    "TwoWindow",
    "fit_curve",
    "indices_of",
    "quadratic_norm",
]

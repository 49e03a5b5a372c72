"""restsure: one training budget, many candidate models, the best one back, trained."""

from restsure import bounds, theory
from restsure.arms import Bernoulli, BetaNoise, FunctionArms, Gaussian, PowerLawArms, RoundNoise, TableArms
from restsure.errors import (
    InvalidLoss,
    InvalidParameter,
    MissingExtra,
    NoArmLeft,
    OutOfTurn,
    RestSureError,
    WrongType,
)
from restsure.estimators import CurveBank, CurveFit, LeastSquares, LogTrend, PowerLaw, TwoWindow, fit_curve
from restsure.policies import (
    UCBE,
    ExploreThenCommit,
    FixedExploration,
    Game,
    HorizonLCB,
    Policy,
    RestSure,
    RisingElimination,
    RisingSuccessiveRejects,
    RisingUCB,
    RisingUCBE,
    RoundRobin,
    SuccessiveHalving,
    SuccessiveRejects,
)
from restsure.problem import Decision, Pull, Recommendation, pseudo_regret, reach
from restsure.simulation import Simulation, simulate
from restsure.training import Learner, Result, select

__version__ = "0.1.0"

__all__ = [
    "UCBE",
    "Bernoulli",
    "BetaNoise",
    "CurveBank",
    "CurveFit",
    "Decision",
    "ExploreThenCommit",
    "FixedExploration",
    "FunctionArms",
    "Game",
    "Gaussian",
    "HorizonLCB",
    "InvalidLoss",
    "InvalidParameter",
    "Learner",
    "LeastSquares",
    "LogTrend",
    "MissingExtra",
    "NoArmLeft",
    "OutOfTurn",
    "Policy",
    "PowerLaw",
    "PowerLawArms",
    "Pull",
    "Recommendation",
    "RestSure",
    "RestSureError",
    "Result",
    "RisingElimination",
    "RisingSuccessiveRejects",
    "RisingUCB",
    "RisingUCBE",
    "RoundNoise",
    "RoundRobin",
    "Simulation",
    "SuccessiveHalving",
    "SuccessiveRejects",
    "TableArms",
    "TwoWindow",
    "WrongType",
    "__version__",
    "bounds",
    "fit_curve",
    "pseudo_regret",
    "reach",
    "select",
    "simulate",
    "theory",
]

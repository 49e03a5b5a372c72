"""restsure: one training budget, many candidate models, the best one back, trained."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from restsure import bounds, theory
from restsure.arms import Bernoulli, BetaNoise, FunctionArms, Gaussian, PowerLawArms, RoundNoise, TableArms
from restsure.errors import (
    DamagedRun,
    InvalidLoss,
    InvalidParameter,
    LearnerFailed,
    MissingExtra,
    NoArmLeft,
    OutOfTurn,
    RestSureError,
    RunError,
    RunInUse,
    WriteFailed,
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
from restsure.training import Checkpoints, Learner, ProcessExecutor, Recorded, Result, read_run, select

if TYPE_CHECKING:
    from restsure import report as report

__version__ = "0.1.0"

__all__ = [
    "UCBE",
    "Bernoulli",
    "BetaNoise",
    "Checkpoints",
    "CurveBank",
    "CurveFit",
    "DamagedRun",
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
    "LearnerFailed",
    "LeastSquares",
    "LogTrend",
    "MissingExtra",
    "NoArmLeft",
    "OutOfTurn",
    "Policy",
    "PowerLaw",
    "PowerLawArms",
    "ProcessExecutor",
    "Pull",
    "Recommendation",
    "Recorded",
    "RestSure",
    "RestSureError",
    "Result",
    "RisingElimination",
    "RisingSuccessiveRejects",
    "RisingUCB",
    "RisingUCBE",
    "RoundNoise",
    "RoundRobin",
    "RunError",
    "RunInUse",
    "Simulation",
    "SuccessiveHalving",
    "SuccessiveRejects",
    "TableArms",
    "TwoWindow",
    "WriteFailed",
    "WrongType",
    "__version__",
    "bounds",
    "fit_curve",
    "pseudo_regret",
    "reach",
    "read_run",
    "report",
    "select",
    "simulate",
    "theory",
]


def __getattr__(name: str) -> Any:
    """``rs.report`` is loaded when it is asked for: runs need none of it."""
    if name == "report":
        return import_module("restsure.report")
    raise AttributeError(f"module 'restsure' has no attribute {name!r}")

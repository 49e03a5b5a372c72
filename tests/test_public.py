"""The public surface: what a user may rely on, and what importing costs."""

import subprocess
import sys

import restsure as rs

PUBLIC = """
    UCBE Bernoulli BetaNoise Checkpoints CurveBank CurveFit DamagedRun Decision LearnerFailed ProcessExecutor Recorded
    RunError RunInUse WriteFailed read_run
     ExploreThenCommit FixedExploration FunctionArms Game Gaussian
    HorizonLCB InvalidLoss InvalidParameter LeastSquares Learner LogTrend MissingExtra NoArmLeft OutOfTurn Policy PowerLaw
    PowerLawArms Pull Recommendation RestSure RestSureError Result RisingElimination RisingSuccessiveRejects RisingUCB
    RisingUCBE RoundNoise RoundRobin Simulation SuccessiveHalving SuccessiveRejects TableArms TwoWindow WrongType
    __version__ bounds fit_curve pseudo_regret reach report select simulate theory
"""


def test_public_names() -> None:
    assert sorted(rs.__all__) == sorted(PUBLIC.split())
    assert all(hasattr(rs, name) for name in PUBLIC.split())


def test_policies_are_frozen_hashable_and_printable() -> None:
    policy = rs.RestSure.as_published(rho=0.5, alpha_max=1.0)
    assert {policy: 1}[rs.RestSure.as_published()] == 1
    assert repr(policy) == ("RestSure(rho=0.5, estimator=TwoWindow(), bound=Theorem2(alpha_max=1.0), delta=None)")
    try:
        policy.rho = 0.3  # type: ignore[misc]
    except AttributeError:
        return
    raise AssertionError("a policy must not change")


def test_import_brings_numpy_and_nothing_optional() -> None:
    """The bare package must not load the command line, the plots or anything heavy."""
    code = "import sys, restsure; print(sorted({m.split('.')[0] for m in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "'numpy'" in loaded
    heavy = "matplotlib typer rich scipy sklearn skops pandas torch optuna mlflow tensorboardX ray"
    for name in heavy.split():
        assert f"'{name}'" not in loaded

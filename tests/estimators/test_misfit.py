"""Curves that rise or speed up are found; those that fall and flatten are left alone."""

import numpy as np
import pytest

import restsure as rs
from restsure.estimators.filters import FilteredCurves
from restsure.estimators.misfit import FOLLOWS, RISES, SPEEDS_UP, bends, windows
from restsure.estimators.thinned import ThinnedLosses

SHAPES = {
    "power law": (lambda u: 0.5 * (u + 1e-3) ** -0.5 * 0.1 + 0.1, FOLLOWS),
    "shifted": (lambda u: 0.5 / (u + 0.5) + 0.1, FOLLOWS),
    "constant": (lambda u: 0.3 + 0 * u, FOLLOWS),
    "line": (lambda u: 0.5 - 0.4 * u, FOLLOWS),
    "line, then flat": (lambda u: np.maximum(0.5 - 0.6 * u, 0.2), FOLLOWS),
    "rise": (lambda u: 0.5 + 0.2 * u, RISES),
    "jump up": (lambda u: np.where(u < 0.6, 0.2, 0.5), RISES),
    "late drop": (lambda u: np.where(u < 0.72, 0.5, 0.1), SPEEDS_UP),
    "sigmoid": (lambda u: 0.5 / (1 + np.exp((u - 0.8) / 0.1)) + 0.1, SPEEDS_UP),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [60, 1_000, 10_000])
def test_what_bends(shape: str, n: int) -> None:
    curve, kind = SHAPES[shape]
    losses = ThinnedLosses(1)
    noisy = curve(np.arange(1, n + 1) / n) + 0.01 * np.random.default_rng(n).normal(size=n)
    losses.update(np.array([0]), noisy[None])
    assert bends(*windows(losses, np.array([0])), np.array([1e-4])).kind[0] == kind


@pytest.mark.parametrize("n", [12, 30, 200])
def test_noise_alone_is_no_misfit(n: int) -> None:
    """Four standard errors: of 4,000 power laws under noise as large as themselves, less than a handful."""
    rng = np.random.default_rng(n)
    runs, s = 4_000, np.arange(1.0, n + 1)
    alpha, rho, beta = rng.uniform((0.1, 0.1, 0.0), (1.0, 1.0, 0.5), (runs, 3)).T[:, :, None]
    losses = ThinnedLosses(runs)
    losses.update(np.arange(runs), alpha * s**-rho + beta + 0.3 * rng.normal(size=(runs, n)))
    assert (bends(*windows(losses, np.arange(runs)), np.full(runs, 0.09)).kind != FOLLOWS).sum() <= 4


def falling(curve, rng):
    s = 0
    while True:
        s += 1
        yield float(curve(s) + 0.005 * rng.normal())


def test_a_curve_that_rises_is_not_given_up_by_extrapolation_and_the_report_says_so(monkeypatch) -> None:
    """It jumps above its rival for a while, and comes back below: by its level alone nobody would wait for that."""

    def play(policy: rs.HorizonLCB) -> rs.training.Result:
        rng = np.random.default_rng(0)
        candidates = {
            "steady": falling(lambda s: 0.2 / s**0.5 + 0.25, rng),
            "shaken": falling(lambda s: 0.2 / s**0.5 + (0.35 if 25 <= s < 40 else 0.22), rng),
        }
        return rs.select(candidates, budget=400, policy=policy, progress=False)

    result = play(rs.HorizonLCB())
    assert result.name == "shaken"
    assert "shaken: does not follow the curve model (its losses rise)" in result.explain()
    sure = play(rs.HorizonLCB(rs.PowerLaw(0.5)))  # who says the shape is known is believed
    assert not sure.misfits
    monkeypatch.setattr(FilteredCurves, "note_bends", lambda *_: None)
    assert play(rs.HorizonLCB()).name == "steady"


def test_the_certificate_tells_of_misfits() -> None:
    rng = np.random.default_rng(1)
    candidates = {
        "good": falling(lambda s: 0.3 / s**0.5 + 0.25, rng),
        "rises": falling(lambda s: 0.26 if s < 12 else 0.46, rng),
    }
    result = rs.select(candidates, budget=100, progress=False)
    assert result.misfits == {"rises": "its losses rise"}
    assert "Not all do: rises: its losses rise." in str(result.certificate)

"""Losses of any size: what arms start with, runaways, and whole orders of magnitude."""

import math

import numpy as np
import pytest

import restsure as rs
from restsure.estimators import CurveModel


def play(policy: rs.HorizonLCB, curves: np.ndarray):
    game = policy.start(len(curves), curves.shape[1])
    made = [0] * len(curves)
    while (pull := game.ask()) is not None:
        game.tell(pull.arm, curves[pull.arm, made[pull.arm] : made[pull.arm] + pull.times].tolist())
        made[pull.arm] += pull.times
    return game


@pytest.mark.parametrize("reference", [None, 1.5, 20.0])
@pytest.mark.parametrize("first", [20.0, 100.0, 1e4, 1e6, 1e10])
def test_one_high_first_loss_makes_nobody_win(first: float, reference: float | None) -> None:
    s = np.arange(1.0, 61)
    for seed in range(5):
        noise = 0.02 * np.random.default_rng(seed).normal(size=(3, 60))
        curves = np.stack([1.5 + 0 * s, 0.7 / s**0.5 + 0.25, 0.5 / s**0.5 + 0.45]) + noise
        curves[0, 0] = first
        assert play(rs.HorizonLCB(reference=reference), curves).recommend().arm == 1


@pytest.mark.parametrize("reference", [None, 3.0])
def test_a_runaway_is_left_alone(reference: float | None) -> None:
    s = np.arange(1.0, 81)
    curves = np.stack([446 * 1.6**s, 3 / s**0.5 + 0.3, 2 / s + 0.5]) * np.exp(
        0.2 * np.random.default_rng(0).normal(size=(3, 80))
    )
    game = play(rs.HorizonLCB(reference=reference), curves)
    assert game.recommend().arm == 2
    assert game.pulls[0] <= 6


@pytest.mark.parametrize("start", [1e5, 1e40, 1e150, 1e300])
def test_a_candidate_that_has_diverged_changes_nothing_for_the_others(start: float) -> None:
    s = np.arange(1.0, 301)
    others = np.stack([0.5 / s**0.5 + 0.1, 0.5 / s**0.5 + 0.3, 0.4 / s**0.5 + 0.3])
    others += 0.01 * np.random.default_rng(0).normal(size=others.shape)
    game = play(rs.HorizonLCB(), np.concatenate((others, (start * 2.0 ** np.minimum(s, 10))[None])))
    assert game.pulls[0] > 250
    assert game.pulls[3] <= 4
    assert game.recommend().loss == pytest.approx(0.13, abs=0.01)


@pytest.mark.parametrize("start", [1e3, 1e24, 1e300])
@pytest.mark.parametrize("good", [1, 2])
def test_nor_does_it_where_half_of_them_have(good: int, start: float) -> None:
    """The median of an even number of arms lies between two of them, one of which may have run away."""
    s = np.arange(1.0, 121)
    fine = np.stack([0.5 / s**0.5 + 0.1, 0.5 / s**0.5 + 0.3])[:good]
    fine += 0.01 * np.random.default_rng(0).normal(size=fine.shape)
    game = play(rs.HorizonLCB(), np.concatenate((fine, np.full((good, len(s)), start))))
    best = game.recommend()
    assert best.arm == 0
    assert best.loss == pytest.approx(fine[0, best.pulls - 20 : best.pulls].mean(), abs=0.01)
    assert best.high - best.low < 0.1
    assert max(game.pulls[good:]) <= 4


@pytest.mark.filterwarnings("ignore:(overflow|invalid value|divide by zero) encountered:RuntimeWarning")
@pytest.mark.parametrize("size", [1e-310, 1e-160, 1e-20, 1e20, 1e160, 1e300])
def test_losses_of_any_size_are_played_to_the_end(size: float) -> None:
    """Where squares overflow or vanish nothing is told apart, but nothing breaks either."""
    s = np.arange(1.0, 101)
    curves = np.stack([0.5 / s**0.5 + 0.1, 0.2 / s**0.5 + 0.5, 0.3 / s + 0.4])
    curves += 0.01 * np.random.default_rng(0).normal(size=curves.shape)
    game = play(rs.HorizonLCB(), size * curves)
    assert sum(game.pulls) == 100
    assert game.recommend().pulls > 0
    if 1e-100 < size < 1e100:
        assert game.recommend().arm == 0
    if size > 1e155:  # no index is a number, and all are pulled alike
        assert max(game.pulls) - min(game.pulls) <= 2


@pytest.mark.parametrize(
    "curve", [rs.LogTrend(), rs.CurveBank(), rs.PowerLaw(0.5)], ids=lambda curve: type(curve).__name__
)
def test_the_unit_of_the_losses_changes_nothing(curve: CurveModel) -> None:
    s = np.arange(1.0, 301)
    for seed in range(3):
        noise = 0.02 * np.random.default_rng(seed).normal(size=(4, 300))
        curves = np.stack([0.5 / s**0.5 + 0.1 * k for k in (1, 2, 3)] + [0.8 / (s + 5) ** 0.5 + 0.08]) + noise
        usual = play(rs.HorizonLCB(curve), curves)
        for unit in (2.0**-183, 2.0**-40, 2.0**40, 2.0**499):  # 1e-55, 1e-12, 1e12, 1e150
            game = play(rs.HorizonLCB(curve), unit * curves)
            assert game.pulls == usual.pulls
            assert game.recommend().loss == pytest.approx(unit * usual.recommend().loss, rel=1e-9)
            assert np.array(game.outlook(500)) == pytest.approx(unit * np.array(usual.outlook(500)), rel=1e-9)


def test_with_a_reference_orders_of_magnitude_are_told_apart() -> None:
    """All start ten thousand times too high: an estimate is near the losses seen, and the choice among the best."""
    s = np.arange(1.0, 201)
    for seed in range(5):
        noise = np.exp(0.1 * np.random.default_rng(seed).normal(size=(5, 200)))
        ends = ((1, 1.5), (2, 1.0), (5, 0.5), (3, 2.0), (40, 0.1))
        curves = np.stack([1e4 * np.exp(-s / time) + end for time, end in ends]) * noise
        best = play(rs.HorizonLCB(reference=10.0), curves).recommend()
        assert best.arm in (1, 2)
        seen = curves[best.arm, best.pulls - 20 : best.pulls].mean()
        assert best.loss == pytest.approx(seen, rel=0.15)
        assert best.low < best.loss < best.high


def test_a_reference_far_above_changes_nothing() -> None:
    s = np.arange(1.0, 121)
    curves = np.stack([0.5 / s**0.5 + 0.1 * k for k in (1, 2, 3)]) + 0.02 * np.random.default_rng(0).normal(
        size=(3, 120)
    )
    plain, far = (play(rs.HorizonLCB(reference=reference), curves) for reference in (None, 1e9))
    assert plain.pulls == far.pulls
    assert far.recommend().loss == pytest.approx(plain.recommend().loss, rel=1e-6)
    assert np.array(far.outlook(500)) == pytest.approx(np.array(plain.outlook(500)), rel=1e-5)


def test_losses_are_told_as_they_were_meant() -> None:
    """There and back: the transformation is undone wherever a loss is shown, below the floor too."""
    policy = rs.HorizonLCB(floor=2.0, reference=10.0)
    losses = np.array([-3.0, 2.0, 2.5, 10.0, 1e6])
    assert policy.told(policy.played(losses)) == pytest.approx(losses)
    assert policy.played(np.array([10.0]))[0] == pytest.approx(math.log(9))
    assert rs.HorizonLCB.from_json(policy.to_json()) == policy


def test_bad_references() -> None:
    for reference in (0.0, -1.0, math.inf, "high"):
        with pytest.raises((rs.InvalidParameter, rs.WrongType), match="reference="):
            rs.HorizonLCB(reference=reference)  # type: ignore[arg-type]
    with pytest.raises(rs.InvalidParameter, match="must be None when certified"):
        rs.HorizonLCB(rs.PowerLaw(0.5, sigma=0.1), certified=True, reference=1.0)

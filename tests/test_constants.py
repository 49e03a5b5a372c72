"""The search of the constants (benchmarks/constants.py): it moves what it says, and what it found is of these constants."""

import csv
import math
from pathlib import Path

import numpy as np
import pytest

import restsure as rs
from benchmarks import constants
from benchmarks.constants import FIRST, KINDS, Constants, Ratio, moves, ratio
from restsure.estimators.filters import FILTERS
from restsure.policies import horizon_play
from tests.simulation.test_data import real_data

RESULTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results" / "constants.csv"
MOVES = list(moves())


def arms() -> rs.PowerLawArms:
    """Five of them, one far above the others."""
    return rs.PowerLawArms([0.5, 0.8, 0.3, 0.2, 1.0], [0.02, 0.01, 0.1, 0.1, 1.0], noise=rs.Gaussian(0.05))


def played(which: Constants) -> np.ndarray:
    with which.in_place():
        return rs.simulate(which.policy, arms(), 200, 20, seed=1).arm_pulls


def test_without_a_move_it_is_the_default_policy() -> None:
    default = rs.simulate(rs.HorizonLCB(), arms(), 200, 20, seed=1).arm_pulls
    np.testing.assert_array_equal(played(Constants()), default)


@pytest.mark.parametrize("name", sorted({name for name, *_ in MOVES if ":" not in name or name.startswith("filter 1")}))
def test_moves_are_felt(name) -> None:
    changed = [which for constant, _, _, which in MOVES if constant == name]
    assert len(changed) == 2
    assert any((played(which) != played(Constants())).any() for which in changed)


def test_constants_are_as_they_were_afterwards() -> None:
    before = horizon_play.FEW
    with FIRST.in_place():
        assert math.isinf(horizon_play.FEW)
    assert before == horizon_play.FEW


def test_weights_stay_a_prior() -> None:
    assert all(sum(f.weight for f in which.filters) == pytest.approx(1) for *_, which in MOVES)
    assert sum(f.weight for f in FILTERS) == pytest.approx(1)


def test_ratios() -> None:
    """Twice the regret everywhere is a ratio of two, surely; the same is one."""
    rng = np.random.default_rng(0)
    some = {name: rng.uniform(1e3, 1e4, 50) for names in KINDS.values() for name in names}
    same, twice = (ratio({name: factor * each for name, each in some.items()}, some) for factor in (1, 2))
    assert same == Ratio(dict.fromkeys(KINDS, 1.0), 1.0, 0.0)
    assert twice.all == pytest.approx(2, rel=1e-4)
    assert twice.error < 1e-5
    assert not same.clearly_better
    assert not twice.clearly_better
    assert ratio(some, {name: 2 * each for name, each in some.items()}).clearly_better


def test_regrets_are_of_all_problems(monkeypatch) -> None:
    monkeypatch.setenv("RESTSURE_DATA", str(real_data()))
    monkeypatch.setattr(constants, "problems", constants.problems.__wrapped__)
    found = constants.regrets(Constants(), constants.FITTING, 4, 0)
    assert [*found] == [name for names in KINDS.values() for name in names]
    assert {len(each) for each in found.values()} == {4, 1}


def test_what_was_found_is_of_these_constants() -> None:
    """Every move from the constants as they are is in the file: who changes one searches again."""
    with RESULTS.open(newline="") as file:
        first, *rows = csv.DictReader(file)
    assert first["constant"] == "the rule it began with"
    expected = [(name, f"{value:.4g}", f"{tried:.4g}") for name, value, tried, _ in MOVES]
    assert [(row["constant"], row["value"], row["tried"]) for row in rows] == expected

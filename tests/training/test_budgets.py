"""Budgets in steps, samples and seconds: what is spent, and what a slow candidate must be worth."""

import time

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import Perceptron
from sklearn.naive_bayes import MultinomialNB

import restsure as rs
from restsure.training.meter import Meter, read_budget

X, Y = load_digits(return_X_y=True)


class Falling:
    """A curve, and what a step of it takes on a clock that only it moves."""

    def __init__(self, clock: list[float], alpha: float, beta: float, seconds: float, cost: float | None = None):
        self.clock, self.alpha, self.beta, self.seconds, self.steps = clock, alpha, beta, seconds, 0
        if cost is not None:
            self.cost = cost

    def train(self, times: int) -> list[float]:
        self.clock[0] += times * self.seconds
        s = self.steps + 1 + np.arange(times)
        self.steps += times
        return list(self.alpha / np.sqrt(s) + self.beta)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    return now


@pytest.mark.parametrize(
    ("budget", "total", "unit"),
    [
        (1, 1, "training steps"),
        ("300 steps", 300, "training steps"),
        ("1 pull", 1, "training steps"),
        ("90s", 90, "seconds"),
        ("1.5 hours", 5_400, "seconds"),
        ("1h 30min", 5_400, "seconds"),
        ("250ms", 0.25, "seconds"),
        ("2 days", 172_800, "seconds"),
        ("60_000 samples", 60_000, "samples"),
        ("60,000 SAMPLES", 60_000, "samples"),
    ],
)
def test_what_a_budget_can_be(budget: int | str, total: float, unit: str) -> None:
    assert read_budget(budget) == Meter(total, unit)


@pytest.mark.parametrize(
    "budget",
    [
        0,
        -1,
        2.5,
        None,
        True,
        [3],
        "",
        "soon",
        "10",
        "10 parsecs",
        "0s",
        "-5 s",
        "0 samples",
        "1.5 steps",
        "5min 3 samples",
    ],
)
def test_what_it_cannot_be(budget: object) -> None:
    with pytest.raises((rs.InvalidParameter, rs.WrongType), match="budget="):
        rs.select({"a": lambda: 0.5}, budget=budget)  # type: ignore[arg-type]


def test_seconds_are_measured_and_a_slow_candidate_must_be_worth_its_time(clock: list[float]) -> None:
    """The slow one would win by steps; in the time that there is, it cannot get far enough."""

    def candidates() -> dict[str, Falling]:
        return {
            "quick": Falling(clock, 0.5, 0.10, seconds=0.01),
            "slow": Falling(clock, 1.0, 0.05, seconds=0.5),
            "poor": Falling(clock, 0.5, 0.30, seconds=0.01),
        }

    result = rs.select(candidates(), budget="30s")
    assert (result.name, result.unit) == ("quick", "seconds")
    assert 29 < result.spent <= 30
    assert result.costs == pytest.approx({"quick": 0.01, "slow": 0.5, "poor": 0.01})
    assert result.pulls["quick"] > 1_500
    assert result.pulls["slow"] * 0.5 < 10
    assert rs.select(candidates(), budget=3_000).name == "slow"
    assert sum(result.history.to_dict()["cost"]) == pytest.approx(result.spent)
    assert "of 30 seconds spent on 3 candidates" in str(result)
    assert "of 30 seconds." in result.explain()


def test_more_time_is_predicted_in_its_unit(clock: list[float]) -> None:
    result = rs.select({"a": Falling(clock, 0.5, 0.1, 0.1), "b": Falling(clock, 0.5, 0.3, 0.1)}, budget="10s")
    now, (more, low, high) = result.loss, result.what_if(budget="20s")
    assert low < more < now
    assert more < high
    assert more == pytest.approx(0.5 / np.sqrt(result.pulls["a"] + 100) + 0.1, abs=0.01)
    with pytest.raises(rs.InvalidParameter, match="must be in seconds"):
        result.what_if(budget=300)


def test_a_slow_first_step_is_forgotten(clock: list[float]) -> None:
    class Cold(Falling):
        def train(self, times: int) -> list[float]:
            if not self.steps:
                clock[0] += 1.0
            return super().train(times)

    result = rs.select({"cold": Cold(clock, 1.0, 0.0, 0.01), "other": Falling(clock, 0.1, 0.3, 0.01)}, budget="10s")
    assert result.name == "cold"
    assert result.costs["cold"] == pytest.approx(0.01, rel=0.1)
    assert result.spent == pytest.approx(10, abs=0.2)


def test_time_lost_in_a_failure_is_spent(clock: list[float]) -> None:
    class Lost(Falling):
        def train(self, times: int) -> list[float]:
            super().train(times)
            raise RuntimeError("after all that")

    result = rs.select({"lost": Lost(clock, 1.0, 0.0, 6.0), "other": Falling(clock, 0.1, 0.3, 0.01)}, budget="10s")
    assert result.spent == pytest.approx(10, abs=0.02)
    assert result.pulls["other"] == pytest.approx(400, abs=2)


def test_time_that_is_not_enough_for_all(clock: list[float]) -> None:
    result = rs.select({f"{k}": Falling(clock, 1.0, 0.0, 4.0) for k in range(5)}, budget="10s")
    assert sum(result.pulls.values()) == 3  # the third begins in time
    assert result.spent == 12


def test_samples_count_what_is_learnt() -> None:
    models = {"bayes": MultinomialNB(), "perceptron": Perceptron()}
    result = rs.select(models, (X, Y), budget="2000 samples", batch_size=50)
    assert (sum(result.pulls.values()), result.spent, result.unit) == (40, 2_000, "samples")
    uneven = [(X[k : k + 10 + k % 7], Y[k : k + 10 + k % 7]) for k in range(0, 900, 20)]
    result = rs.select(models, uneven, budget="500 samples", classes=range(10))
    assert 480 <= result.spent <= 510
    with pytest.raises(rs.InvalidParameter, match="candidate 'own' does not say how many"):
        rs.select({"own": lambda: 0.5}, budget="500 samples")


def test_declared_costs(clock: list[float]) -> None:
    result = rs.select(
        {"dear": Falling(clock, 1.0, 0.05, 0, cost=10.0), "cheap": Falling(clock, 0.5, 0.1, 0)}, budget=500
    )
    assert result.spent == 10 * result.pulls["dear"] + result.pulls["cheap"] <= 500
    assert result.name == "cheap"


def test_only_a_policy_that_knows_costs_takes_seconds() -> None:
    with pytest.raises(rs.InvalidParameter, match="must be in training steps for RoundRobin"):
        rs.select({"a": lambda: 0.5}, budget="1s", policy=rs.RoundRobin())


def test_a_game_with_measured_costs_wants_them() -> None:
    game = rs.HorizonLCB().start(2, 10.0, costs="measured")
    pull = game.ask()
    assert pull is not None
    with pytest.raises(rs.InvalidParameter, match="must say what the pulls of arm 0 have cost"):
        game.tell(pull.arm, [0.5])
    with pytest.raises(rs.InvalidParameter, match="cost=-1"):
        game.tell(pull.arm, [0.5], cost=-1)
    game.tell(pull.arm, [0.5], cost=0.5)
    assert game.spent == 0.5
    plain = rs.HorizonLCB().start(1, 10)
    plain.ask()
    with pytest.raises(rs.InvalidParameter, match="must be None unless"):
        plain.tell(0, [0.5, 0.4], cost=1)
    with pytest.raises(rs.InvalidParameter, match="must be known beforehand when certified"):
        rs.HorizonLCB(rs.PowerLaw(0.5, sigma=0.1), certified=True).start(2, 10.0, costs="measured")
    with pytest.raises(rs.InvalidParameter, match="costs='guessed'"):
        rs.HorizonLCB().start(2, 10.0, costs="guessed")

"""Real training beside other tools: everybody keeps to the budget and gives back a trained model."""

import csv
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import page
from benchmarks.live import command, river_peer, sklearn_peer
from benchmarks.live.meter import Meter
from benchmarks.live.peers import METHODS, OURS, applies
from benchmarks.live.runs import KNOWN, ORACLE, Outcome, one_seed, outcome
from benchmarks.live.tasks import TASKS
from restsure.cli.bench import write_rows

ROOT = Path(__file__).resolve().parents[1]
BUDGET = 48


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    return {one.method: one for one in one_seed("digits", 0, [BUDGET], None)}


def test_every_method_returns_a_model_that_was_trained(outcomes: dict[str, Outcome]) -> None:
    assert list(outcomes) == [ORACLE, *METHODS]
    assert outcomes[ORACLE].error < 15
    for one in outcomes.values():
        assert one.error < 40, one  # untrained: 90 %


def test_nobody_spends_more_than_the_budget_and_most_spend_it_all(outcomes: dict[str, Outcome]) -> None:
    for method in METHODS:
        least = BUDGET / 2 if method.startswith("sklearn") else BUDGET - 1  # its rungs seldom fit
        assert least < outcomes[method].pulls <= BUDGET, outcomes[method]


def test_nobody_beats_the_oracle_by_more_than_chance(outcomes: dict[str, Outcome]) -> None:
    """The error is taken on 500 digits: two models of the same error differ by 2.6 points with a chance of a twentieth."""
    assert min(outcomes[method].regret for method in METHODS) > -3


def test_river_models_are_counted_by_samples() -> None:
    task = TASKS["phishing"](1, None)
    assert not applies("sklearn-halving", task)
    for method in (OURS, "optuna-median", "river-halving", "river-bandit"):
        one = outcome("phishing", task, BUDGET, method, METHODS[method], 0.0)
        assert BUDGET - 1 < one.pulls <= BUDGET, one
        assert one.error < 40, one  # the larger class has 56 %


def test_regressions_are_played_by_everybody() -> None:
    """Errors are in percent of the variance, and no model that ran away counts for more than twice of it."""
    outcomes = {one.method: one for one in one_seed("diabetes", 0, [BUDGET], None)}
    assert list(outcomes) == [ORACLE, *METHODS]
    assert 40 < outcomes[ORACLE].error < 70
    for method in METHODS:
        assert outcomes[method].pulls <= BUDGET
        assert outcomes[ORACLE].error < outcomes[method].error + 20 < 220
    river = KNOWN["trump"](0, None)
    for method in (OURS, "river-halving", "river-bandit"):
        one = outcome("trump", river, BUDGET, method, METHODS[method], 0.0)
        assert BUDGET - 1 < one.pulls <= BUDGET, one
        assert one.error < 100, one
    assert not applies("sklearn-halving-steps", river)


def test_a_model_that_ran_away() -> None:
    class Away:
        def __init__(self, number: float):
            self.number = number

        def predict(self, x: np.ndarray) -> np.ndarray:
            return np.full(len(x), self.number)

    task = KNOWN["diabetes"](0, None)
    assert [task.error(Away(number)) for number in (1e200, math.inf, math.nan)] == [200.0] * 3
    assert 99 < task.error(Away(task.y_test.mean())) < 101


def test_samples_that_are_predicted_together_are_predicted_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    task = TASKS["digits"](0, None)
    quick = METHODS["river-halving"](task, BUDGET), METHODS["river-bandit"](task, BUDGET)

    def one_by_one(model: river_peer.Streamed, x: dict[str, int]) -> int | None:
        row = task.x[model.rows[x["sample"]]][None]
        return model.learner.predict(row).item() if model.learner.pulls else None

    monkeypatch.setattr(river_peer.Streamed, "predict_one", one_by_one)
    slow = METHODS["river-halving"](task, BUDGET), METHODS["river-bandit"](task, BUDGET)
    for left, right in zip(quick, slow, strict=True):
        assert type(left) is type(right)
        assert (left.predict(task.x_test) == right.predict(task.x_test)).all()


def test_meter_counts_every_step_and_puts_everything_back() -> None:
    task = TASKS["digits"](0, None)
    learn = sklearn_peer.PartialFitLearner.learn
    with Meter(task.size) as meter:
        task.learner("MultinomialNB").train(3)
        task.learner("GaussianNB").train(2)
    assert meter.pulls == 5
    assert 0 < meter.inside < meter.seconds
    assert sklearn_peer.PartialFitLearner.learn is learn


def test_a_method_that_overspends_is_found_out() -> None:
    task = TASKS["digits"](0, None)
    with pytest.raises(RuntimeError, match="greedy on digits, seed 0: 49 pulls of a budget of 48"):
        outcome(
            "digits", task, BUDGET, "greedy", lambda task, budget: task.learner("GaussianNB").train(budget + 1), 0.0
        )


@pytest.mark.parametrize("most", [1, 8, 9, 45, 200])
def test_iterations_are_those_of_scikit_learn(most: int) -> None:
    task = TASKS["digits"](0, None)
    names = ["GaussianNB", "BernoulliNB", "MultinomialNB", "Perceptron"]
    search = sklearn_peer._search(task, task.stream.classes(), resource="steps", max_resources=most)
    search.set_params(param_grid={"name": names}, refit=False).fit(task.x[:200], task.y[:200])
    expected = list(zip(search.n_candidates_, search.n_resources_, strict=True))
    assert list(sklearn_peer.iterations(len(names), most, least=1)) == expected


def test_tables(outcomes: dict[str, Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = command.summary(list(outcomes.values()))
    shown = command.table(rows)
    assert shown.startswith("\ndigits, 48 pulls, 1 seeds: points above the oracle")
    assert all(method in shown for method in METHODS)
    write_rows(
        tmp_path / "live.csv", command.HEAD, [[command.figure(cell) for cell in row] for row in rows], command="x"
    )
    with (tmp_path / "live.csv").open() as file:
        kept = {row["method"]: float(row["regret"]) for row in csv.DictReader(file)}
    assert np.isclose(kept[OURS], outcomes[OURS].regret, rtol=1e-3)
    monkeypatch.setattr(page, "RESULTS", tmp_path)
    section = page.section("live")
    assert f"| {OURS} | " in section
    assert section.count("\n| ") == len(METHODS) + 3
    assert "| regret | digits, 48 |" in section


def test_seeds_of_two_files_are_taken_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = {
        "one": ["digits,256,30,restsure,1.0,0.3", "digits,256,30,other,3.0,0.3", "fashion,256,30,restsure,1,1"],
        "two": ["digits,256,10,restsure,2.0,0.4", "digits,256,10,other,1.0,0.4", "digits,256,10,oracle,0,0"],
    }
    for name, rows in lines.items():
        (tmp_path / f"{name}.csv").write_text("\n".join(["task,budget,seeds,method,regret,se", *rows]))
    monkeypatch.setattr(page, "RESULTS", tmp_path)
    assert page.pooled("one", "two") == "1.25 ± 0.25 and 2.50 ± 0.25 (`other`) on digits, 256"


def test_seeds_begin_where_they_are_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    played = list[tuple[str, int]]()
    monkeypatch.setattr(command, "one_seed", lambda name, seed, *_: played.append((name, seed)) or [])
    options = command.parsed(["--tasks", "digits,bananas", "--seeds", "2", "--first", "20", "--jobs", "1"])
    assert list(command.played(options)) == [[]] * 4
    assert played == [("digits", 20), ("digits", 21), ("bananas", 20), ("bananas", 21)]


def test_help() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "live", "--help"], capture_output=True, text=True, check=True
    )
    assert "--budgets" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--tasks", "letters"], "'letters' must be one of fashion, digits"),
        (["--budgets", "40"], "at least 48"),
        (["--first", "-1"], "--first at least 0"),
    ],
)
def test_bad_options_are_named(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.parsed(arguments)
    assert says in capsys.readouterr().err

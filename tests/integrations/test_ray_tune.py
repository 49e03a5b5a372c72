"""The scheduler within real Ray Tune: trials of classes and functions, bad ones, and an experiment that is killed."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from ray import tune
from ray.tune.experiment import Trial

import restsure as rs
from restsure.integrations.ray import HorizonScheduler, recommended
from tests.integrations.tune_trainables import Curve, curve, loss, slow_tuner, tuner

pytestmark = [
    pytest.mark.usefixtures("cluster"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray"),
    pytest.mark.filterwarnings("ignore::FutureWarning:ray"),
]


def iterations(results: tune.ResultGrid) -> dict[int, int]:
    return {result.config["number"]: result.metrics["training_iteration"] for result in results}


def played(total: int, numbers: list[int]) -> list[int]:
    """The pulls of the plain game."""
    game = rs.HorizonLCB().start(len(numbers), total, seed=0)
    while (pull := game.ask()) is not None:
        had = game.pulls[pull.arm]
        game.tell(pull.arm, [loss(numbers[pull.arm], k) for k in range(had + 1, had + pull.times + 1)])
    return list(game.pulls)


def test_actors_are_reused_and_the_budget_is_kept(tmp_path) -> None:
    log, scheduler = tmp_path / "log", HorizonScheduler(60, workers=1)
    space = {"number": tune.grid_search([0, 1, 2, 3]), "log": str(log)}
    results = tuner(tmp_path, Curve, space, scheduler, reuse_actors=True, metric="loss").fit()
    steps = [tuple(map(int, line.split())) for line in log.read_text().splitlines()]
    assert len(steps) == len(set(steps)) == 60  # each was made once
    assert list(iterations(results).values()) == played(60, [0, 1, 2, 3])
    best = results.get_best_result()
    assert best.config["number"] == recommended(results).config["number"] == 1
    assert scheduler.best_trial.trial_id == best.metrics["trial_id"]
    assert scheduler.best_trial.status == Trial.TERMINATED
    assert best.checkpoint is not None
    assert scheduler.debug_string().startswith(
        "HorizonScheduler: 60 of 60 training_iteration among 4 trials; best so far:"
    )


def test_two_at_once_and_a_score_that_is_maximised(tmp_path) -> None:
    scheduler = HorizonScheduler(40, metric="score", mode="max", best=100, policy=rs.HorizonLCB(rs.CurveBank()))
    space = {"number": tune.grid_search([0, 1, 2, 3])}
    results = tuner(tmp_path, Curve, space, scheduler, reuse_actors=True, metric=None, mode=None).fit()
    assert scheduler._ledger.workers == 2
    assert sum(iterations(results).values()) == 40
    assert recommended(results).config["number"] == 1
    assert scheduler.recommendation.loss == pytest.approx(100 - recommended(results).metrics["score"], abs=3)


def test_trials_that_break_repeat_themselves_or_end(tmp_path) -> None:
    kinds = {4: "nan", 5: "raises", 6: "raises once", 7: "ends"}
    space = {
        "number": tune.grid_search([1, 4, 5, 6, 7]),
        "kind": tune.sample_from(lambda config: kinds.get(config["number"])),
        "flag": str(tmp_path / "flag"),
    }
    scheduler = HorizonScheduler(50, workers=1)
    with pytest.warns(RuntimeWarning, match="is stopped: loss=nan: must be a finite number"):
        results = tuner(tmp_path, curve, space, scheduler, reuse_actors=True).fit()
    [nan, raises] = sorted(scheduler._ledger.game.failures.values())
    assert (nan, raises) == ("it ended with an error", "loss=nan: must be a finite number")
    made = iterations(results)
    assert (made[4], made[5], made[7]) == (4, 3, 3)
    assert (tmp_path / "flag").exists()
    assert made[6] >= 2
    assert recommended(results).config["number"] == 1
    assert sum(made.values()) in (50, 51)  # the report that was none
    with recommended(results).checkpoint.as_directory() as folder:
        assert Path(folder, "k").read_text() == str(made[1])


def kill_between_writes(driver: subprocess.Popen, folder: Path) -> None:
    """Ray writes the state of its own search in place, and cannot restore what it was killed in the middle of."""
    while driver.poll() is None:
        driver.send_signal(signal.SIGSTOP)
        try:
            for path in folder.glob("basic-variant-state-*"):
                pickle.loads(path.read_bytes())
            for path in folder.glob("experiment_state-*"):
                json.loads(path.read_text())
        except (EOFError, ValueError, pickle.UnpicklingError):
            driver.send_signal(signal.SIGCONT)
            time.sleep(0.02)
            continue
        driver.send_signal(signal.SIGKILL)
        driver.wait()


def test_an_experiment_that_was_killed_goes_on_with_its_history(cluster, tmp_path) -> None:
    expected = iterations(slow_tuner(tmp_path, "whole", 0.0).fit())
    command = [sys.executable, "-m", "tests.integrations.tune_trainables", cluster, str(tmp_path)]
    log = tmp_path / "killed.log"
    driver = subprocess.Popen(
        command,
        env={**os.environ, "TUNE_GLOBAL_CHECKPOINT_S": "0.2"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while driver.poll() is None and not (log.exists() and log.read_text().count("\n") >= 30):
        time.sleep(0.02)
    kill_between_writes(driver, tmp_path / "killed" / "tuned")
    before = Counter(log.read_text().splitlines())
    assert len(before) < 60
    again = tune.Tuner.restore(str(tmp_path / "killed" / "tuned"), trainable=Curve)
    results = again.fit()
    steps = Counter(log.read_text().splitlines())
    assert iterations(results) == expected
    assert recommended(results).config["number"] == 1
    assert len(steps) == 60
    assert steps.total() < 75  # what came after the last checkpoint was made again, and no more

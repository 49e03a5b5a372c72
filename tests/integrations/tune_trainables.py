"""Trials for Ray Tune, of a class and of a function; ``python -m tests.integrations.tune_trainables ADDRESS DIR`` tunes one."""

import json
import logging
import math
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ray
from ray import tune

from restsure.integrations.ray import HorizonScheduler

LINES = [(0.2, 0.3), (1.0, 0.05), (0.1, 0.5), (0.5, 0.2)]


def loss(number: int, k: int) -> float:
    alpha, beta = LINES[number % 4]
    return alpha / k**0.5 + beta


class Curve(tune.Trainable):
    """Says in a file which step it makes."""

    def setup(self, config: dict[str, Any]) -> None:
        self.number, self.k = config["number"], 0
        self.nap, self.log = config.get("nap", 0.0), config.get("log")

    def step(self) -> dict[str, Any]:
        time.sleep(self.nap)
        self.k += 1
        if self.log is not None:
            with Path(self.log).open("a") as file:
                file.write(f"{self.number} {self.k}\n")
        return {"loss": loss(self.number, self.k), "score": 100 * (1 - loss(self.number, self.k)), "k": self.k}

    def save_checkpoint(self, folder: str) -> dict[str, Any]:
        return {"k": self.k}

    def load_checkpoint(self, saved: dict[str, Any]) -> None:
        self.k = saved["k"]

    def reset_config(self, config: dict[str, Any]) -> bool:
        self.setup(config)
        return True


def curve(config: dict[str, Any]) -> None:
    """The same as a function; of others than the first four, one becomes NaN, one raises, one raises once, and one ends."""
    number, k = config["number"], 0
    if (checkpoint := tune.get_checkpoint()) is not None:
        with checkpoint.as_directory() as folder:
            k = json.loads(Path(folder, "k").read_text())
    while True:
        k += 1
        value = loss(number, k)
        if k > 3 and config.get("kind") == "nan":
            value = math.nan
        if k > 3 and config.get("kind") == "raises":
            raise ValueError("at its fourth step")
        if k > 1 and config.get("kind") == "raises once" and not Path(config["flag"]).exists():
            Path(config["flag"]).touch()
            raise ValueError("only once")
        if k > 3 and config.get("kind") == "ends":
            return
        with TemporaryDirectory() as folder:
            Path(folder, "k").write_text(str(k))
            report = {"loss": value, "k": k}
            tune.report(report, checkpoint=tune.Checkpoint.from_directory(folder))


def tuner(
    folder: Path, trainable: Any, space: dict[str, Any], scheduler: HorizonScheduler, **options: Any
) -> tune.Tuner:
    config = tune.TuneConfig(**{"metric": "loss", "mode": "min", "scheduler": scheduler, **options})
    failures = tune.FailureConfig(max_failures=1)
    run = tune.RunConfig(storage_path=str(folder), name="tuned", verbose=0, failure_config=failures)
    return tune.Tuner(trainable, param_space=space, tune_config=config, run_config=run)


def slow_tuner(folder: Path, name: str, nap: float) -> tune.Tuner:
    """One that takes a while, with one trial at a time, so that it is always the same."""
    space = {"number": tune.grid_search([0, 1, 2, 3]), "nap": nap, "log": str(folder / f"{name}.log")}
    (folder / name).mkdir(exist_ok=True)
    return tuner(folder / name, Curve, space, HorizonScheduler(60, workers=1), reuse_actors=True)


if __name__ == "__main__":
    ray.init(address=sys.argv[1], log_to_driver=False, logging_level=logging.ERROR)
    slow_tuner(Path(sys.argv[2]), "killed", 0.05).fit()

"""A candidate of ``benchmarks/live`` as a trial of Ray Tune, and its whole curve for whoever plays without Ray."""

import warnings
from functools import cache
from pathlib import Path
from typing import Any

from ray import tune

from benchmarks.live.tasks import TASKS, Task
from restsure.training.executors.parcel import dumps, loads


@cache
def task_of(name: str, seed: int, data: str | None) -> Task:
    """One for all trials of a process."""
    warnings.simplefilter("ignore")  # learners that have not converged after a few batches
    return TASKS[name](seed, None if data is None else Path(data))


class Online(tune.Trainable):
    """An iteration is a batch, and the loss is taken on the batch that comes next."""

    def setup(self, config: dict[str, Any]) -> None:
        self.learner: Any = task_of(config["task"], config["seed"], config["data"]).learner(config["model"])

    def step(self) -> dict[str, float]:
        [loss] = self.learner.train(1)
        return {"loss": loss}

    def save_checkpoint(self, folder: str) -> dict[str, bytes]:
        return {"learner": dumps(self.learner, self.learner.judge)}

    def load_checkpoint(self, saved: dict[str, bytes]) -> None:
        self.learner = loads(saved["learner"], self.learner.judge)

    def reset_config(self, config: dict[str, Any]) -> bool:
        self.setup(config)
        return True


def curves_of(name: str, seed: int, data: str | None, length: int) -> tuple[dict[str, list[float]], float]:
    """The losses of each candidate, and the lowest test error of any that gets all iterations."""
    task, losses, errors = task_of(name, seed, data), dict[str, list[float]](), list[float]()
    for model in task.candidates():
        learner = task.learner(model)
        losses[model] = learner.train(length)
        errors.append(task.error(learner.model))
    return losses, min(errors)


def error_of(name: str, seed: int, data: str | None, model: str, iterations: int) -> float:
    """The test error of a candidate after so many iterations."""
    task = task_of(name, seed, data)
    learner = task.learner(model)
    learner.train(iterations)
    return task.error(learner.model)

"""A candidate of ``benchmarks/live`` as a trial of Ray Tune, and its whole curve for whoever plays without Ray.

Of the training data some are held back: every report is the share of them that is predicted wrong.
"""

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from ray import tune

from benchmarks.live.tasks import TASKS, Task
from restsure.training.adapters import BatchLearner, Judge, as_learner
from restsure.training.executors.parcel import dumps, loads
from restsure.training.stream import ArrayStream

HELD_BACK = {"fashion": 2_000, "digits": 300}


@cache
def task_of(name: str, seed: int, data: str | None) -> tuple[Task, Judge]:
    """One for all trials of a process."""
    warnings.simplefilter("ignore")  # learners that have not converged after a few batches
    task, held = TASKS[name](seed, None if data is None else Path(data)), HELD_BACK[name]
    stream = ArrayStream(task.x[:-held], task.y[:-held], batch_size=task.size, seed=seed)
    return task, Judge(stream, None, stream.classes(), (task.x[-held:], task.y[-held:]), held)


def learner_of(name: str, seed: int, data: str | None, model: str) -> BatchLearner:
    task, judge = task_of(name, seed, data)
    learner = as_learner(model, task.candidates()[model], judge)
    assert isinstance(learner, BatchLearner)
    return learner


class Online(tune.Trainable):
    """An iteration is a batch."""

    def setup(self, config: dict[str, Any]) -> None:
        self.learner: Any = learner_of(**config)

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
    """The reports of each candidate, in an order of chance, and the lowest test error of any that gets all iterations."""
    task, _ = task_of(name, seed, data)
    models, curves, errors = list(task.candidates()), dict[str, list[float]](), list[float]()
    for number in np.random.default_rng(seed).permutation(len(models)):
        learner = learner_of(name, seed, data, models[number])
        curves[models[number]] = learner.train(length)
        errors.append(task.error(learner.model))
    return curves, min(errors)


def error_of(name: str, seed: int, data: str | None, model: str, iterations: int) -> float:
    """The test error of a candidate after so many iterations."""
    learner = learner_of(name, seed, data, model)
    learner.train(iterations)
    return task_of(name, seed, data)[0].error(learner.model)

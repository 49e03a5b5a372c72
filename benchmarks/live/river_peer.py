"""river: its selectors by successive halving and by bandits, of classifiers or regressors, with the budget in samples learnt.

Both go through the stream sample by sample, let some models predict and learn each, and are stopped when all together have
learnt as many as the budget has. A model of scikit-learn collects a pull of samples and learns them in one step; until then
it does not change, so the samples that come next are predicted together, which is what one after the other would say.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import bandit, metrics
from river.base import Classifier, Estimator, Regressor
from river.model_selection import (
    BanditClassifier,
    BanditRegressor,
    SuccessiveHalvingClassifier,
    SuccessiveHalvingRegressor,
)

from benchmarks.live.tasks import Task
from restsure.training.adapters import BatchLearner, RiverLearner
from restsure.training.stream import ArrayStream


class Streamed(Estimator):
    """A candidate for river's selectors. Features are the number of the sample in the stream, by which it is looked up."""

    def __init__(self, task: Task, rows: NDArray[np.intp], learner: BatchLearner):
        self.task, self.rows, self.learner = task, rows, learner
        self.step = 1 if isinstance(learner, RiverLearner) else task.size
        self.learnt, self._waiting, self._predicted = 0, list[int](), dict[int, Any]()

    def learn_one(self, x: dict[str, int], y: Any) -> None:
        self.learnt += 1
        self._waiting.append(x["sample"])
        if len(self._waiting) == self.step:
            rows = self.rows[self._waiting]
            self.learner.learn(self.task.x[rows], self.task.y[rows])
            self.learner.pulls += 1
            self._waiting, self._predicted = [], {}

    def predict_one(self, x: dict[str, int], **_: Any) -> Any:
        if self.learner.pulls == 0:
            return self.nothing
        number = x["sample"]
        if number not in self._predicted:
            found = self.learner.predict(self.task.x[self.rows[number : number + self.step]])
            self._predicted = dict(enumerate(found.tolist(), number))
        return self._predicted[number]


class StreamedClassifier(Streamed, Classifier):
    """Of any number of classes."""

    nothing = None

    @property
    def _multiclass(self) -> bool:
        return True


class StreamedRegressor(Streamed, Regressor):
    """Of one number."""

    nothing = 0.0


def halving(task: Task, budget: int) -> Any:
    """As in river's documentation; the survivor learns what the others have left."""
    if task.numeric:
        return _run(task, budget, lambda models: SuccessiveHalvingRegressor(models, metrics.MSE(), budget * task.size))
    return _run(
        task, budget, lambda models: SuccessiveHalvingClassifier(models, metrics.Accuracy(), budget * task.size)
    )


def epsilon_greedy(task: Task, budget: int) -> Any:
    """As in river's documentation, with a burn-in of four pulls for each model: fewer samples could be none learnt."""
    policy = bandit.EpsilonGreedy(epsilon=0.1, decay=0.001, burn_in=4 * task.size, seed=task.seed)
    if task.numeric:
        return _run(task, budget, lambda models: BanditRegressor(models, metrics.MSE(), policy))
    return _run(task, budget, lambda models: BanditClassifier(models, metrics.Accuracy(), policy))


def _run(task: Task, budget: int, make: Callable[[list[Streamed]], Any]) -> Any:
    numbered = ArrayStream(np.arange(len(task.y)), task.y, batch_size=task.size, seed=task.seed)
    rows = np.concatenate([numbered.batch(s)[0] for s in range(budget)])
    kind = StreamedRegressor if task.numeric else StreamedClassifier
    models = [kind(task, rows, task.learner(name)) for name in task.candidates()]
    selector, learnt, last = make(models), 0, len(models)
    for number, y in enumerate(task.y[rows].tolist()):
        if learnt + last > budget * task.size:  # never more models learn a sample than have learnt the one before
            break
        selector.learn_one({"sample": number}, y)
        before, learnt = learnt, sum(model.learnt for model in models)
        last = learnt - before
    return selector.best_model.learner.model

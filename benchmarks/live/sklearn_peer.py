"""scikit-learn: ``HalvingGridSearchCV`` over the candidates, squeezed into the budget.

It trains every candidate from scratch at every iteration, and the winner once more on all data. The budget covers all of
that, so the largest resource is chosen for which it does. ``factor`` is the default (3), and cross-validation is the least
there is: one split, a fifth held out. The resource is either samples, as it is by default: the first batches of the stream,
one pass at the most, since samples that come twice would be trained on and tested on; or training steps, on a stream of
the training part, as many passes as it takes.
"""

from collections.abc import Callable, Iterator, Mapping
from math import ceil, floor, log
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.experimental import enable_halving_search_cv  # noqa: F401  # makes the next import possible
from sklearn.model_selection import HalvingGridSearchCV, ShuffleSplit, StratifiedShuffleSplit

from benchmarks.live.tasks import Task
from restsure.training.adapters import Judge
from restsure.training.estimator_learners import PartialFitLearner
from restsure.training.stream import ArrayStream

FACTOR, HELD_OUT = 3, 0.2


class Batchwise(BaseEstimator):
    """The candidate of that name, trained by ``partial_fit`` in batches: ``steps`` of them, or all there are, in order."""

    def __init__(
        self,
        make: Callable[[int], Mapping[str, Any]],
        seed: int,
        size: int,
        classes: Any,
        name: str = "",
        steps: int | None = None,
    ):
        self.make, self.seed, self.size, self.classes, self.name, self.steps = make, seed, size, classes, name, steps

    def fit(self, x: Any, y: Any) -> Self:
        stream = ArrayStream(x, y, batch_size=self.size, seed=self.seed)
        learner = PartialFitLearner(self.make(self.seed)[self.name], Judge(stream, None, np.asarray(self.classes)))
        if self.steps is None:
            batches = ((x[k : k + self.size], y[k : k + self.size]) for k in range(0, len(y), self.size))
        else:
            batches = (stream.batch(s) for s in range(self.steps))
        for batch in batches:
            learner.learn(*batch)
            learner.pulls += 1
        self.learner_, self.classes_ = learner, learner.labels
        return self

    def predict(self, x: Any) -> Any:
        return self.learner_.predict(x)


class BatchwiseClassifier(ClassifierMixin, Batchwise):
    """Scored by accuracy."""


class BatchwiseRegressor(RegressorMixin, Batchwise):
    """Scored by the share of the variance that is explained."""


def halving_by_samples(task: Task, budget: int) -> Any:
    """Resource: samples, out of as many as the refit can afford."""
    count, classes = len(task.candidates()), task.stream.classes()
    least = 2 if task.numeric else 2 * len(classes)

    def cost(batches: int) -> int:
        total = batches * task.size
        train = total - ceil(HELD_OUT * total)
        rungs = iterations(count, total, least=least)
        return batches + sum(many * ceil(int(samples / total * train) / task.size) for many, samples in rungs)

    batches = max(n for n in range(1, min(budget, task.stream.a_pass) + 1) if cost(n) <= budget)
    x, y = zip(*(task.stream.batch(s) for s in range(batches)), strict=True)
    search = _search(task, classes, resource="n_samples", max_resources="auto")
    return search.fit(np.concatenate(x), np.concatenate(y)).best_estimator_.learner_.model


def halving_by_steps(task: Task, budget: int) -> Any:
    """Resource: training steps; the winner is trained anew, on all data, for as many as in the last iteration."""
    count = len(task.candidates())

    def cost(steps: int) -> int:
        rungs = list(iterations(count, steps, least=1))
        return rungs[-1][1] + sum(many * each for many, each in rungs)

    steps = max(n for n in range(1, budget + 1) if cost(n) <= budget)
    search = _search(task, task.stream.classes(), resource="steps", max_resources=steps)
    return search.fit(task.x, task.y).best_estimator_.learner_.model


def iterations(count: int, most: int, *, least: int) -> Iterator[tuple[int, int]]:
    """Candidates and resources of every iteration, as scikit-learn has them with ``min_resources="exhaust"``."""
    needed = 1 + floor(log(count, FACTOR))
    least = max(least, most // FACTOR ** (needed - 1))
    possible = 1 + floor(log(most // least, FACTOR)) if most >= least else 0
    for k in range(min(needed, possible)):
        yield count, min(FACTOR**k * least, most)
        count = ceil(count / FACTOR)


def _search(task: Task, classes: Any, **resource: Any) -> HalvingGridSearchCV:
    kind, split = (BatchwiseRegressor, ShuffleSplit) if task.numeric else (BatchwiseClassifier, StratifiedShuffleSplit)
    return HalvingGridSearchCV(
        kind(task.make, task.seed, task.size, classes.tolist()),
        {"name": list(task.candidates())},
        factor=FACTOR,
        cv=split(n_splits=1, test_size=HELD_OUT, random_state=task.seed),
        random_state=task.seed,
        return_train_score=False,
        **resource,
    )

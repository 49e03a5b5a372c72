"""What can be trained: scikit-learn estimators, river models, training loops, and anything with a method ``train``."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from restsure.errors import InvalidLoss, InvalidParameter, WrongType
from restsure.training.batch_learner import BatchLearner, Judge

__all__ = ["BatchLearner", "Judge", "Learner", "LoopLearner", "as_learner"]


@runtime_checkable
class Learner(Protocol):
    """A candidate that owns its data: ``train(times)`` makes so many training steps and returns a loss for each.

    A loss is judged before or apart from the training on that step. What is given back in the end is its attribute
    ``model`` if it has one, or the learner itself. An attribute ``cost`` says what a step of it costs, against a budget of
    training steps (one, otherwise); an attribute ``samples``, how many it has learnt from so far.

    With methods ``save(directory)`` and ``load(directory)`` a learner can be stopped: one that was built anew and has loaded
    what another has saved goes on as that one would have.
    """

    def train(self, times: int) -> Sequence[float]:
        """Train ``times`` steps more; one loss a step."""


class PartialFitLearner(BatchLearner):
    """A scikit-learn estimator with ``partial_fit``, or a pipeline whose last step has it.

    Steps before the last learn every batch if they have ``partial_fit`` too, and the first batch otherwise.
    """

    def __init__(self, model: Any, judge: Judge):
        from sklearn.base import clone

        super().__init__(model, clone(model), judge)
        self.steps = _steps(self.model)
        self.labels = judge.labels if self.classifies() else None
        self.known = {*judge.labels.tolist()}

    def classifies(self) -> bool:
        from sklearn.base import is_classifier

        return bool(is_classifier(self.model))

    def learn(self, x: Any, y: Any) -> None:
        if self.labels is not None and (unseen := {*y.tolist()} - self.known):
            raise InvalidParameter(
                f"class {min(unseen)!r} was not among the first: tell select all of them by classes="
            )
        for step in self.steps[:-1]:
            if step is None or step == "passthrough":
                continue
            if hasattr(step, "partial_fit"):
                step.partial_fit(x, y)
            elif self.pulls == 0:
                step.fit(x, y)
            x = step.transform(x)
        if self.labels is not None and self.pulls == 0:
            self.steps[-1].partial_fit(x, y, classes=self.labels)
        else:
            self.steps[-1].partial_fit(x, y)

    def predict(self, x: Any) -> Any:
        return self.model.predict(x)

    def probabilities(self, x: Any) -> tuple[Any, Any]:
        return self.model.predict_proba(x), self.model.classes_

    def go_on(self, model: Any, pulls: int) -> None:
        super().go_on(model, pulls)
        self.steps = _steps(model)


class WarmStartLearner(BatchLearner):
    """A scikit-learn estimator with ``warm_start``: a pull adds as many rounds as it was made with, on all data so far.

    A classifier cannot learn of a class after its first round: those that the first batch lacks are shown by one sample.
    """

    def __init__(self, model: Any, judge: Judge, rounds: str):
        from sklearn.base import clone

        super().__init__(model, clone(model).set_params(warm_start=True), judge)
        self.rounds, self.each = rounds, model.get_params()[rounds]
        # trees are counted from the start, iterations of a solver from where the last fit stopped
        self.adds_up = rounds == "n_estimators" or type(model).__name__.startswith("HistGradientBoosting")
        self.labels = judge.labels if self.classifies() else judge.labels[:0]
        self.x, self.y = list[Any](), list[NDArray[Any]]()

    def classifies(self) -> bool:
        from sklearn.base import is_classifier

        return bool(is_classifier(self.model))

    def learn(self, x: Any, y: Any) -> None:
        for features, targets in self._new(self.pulls, x, y):
            self.x.append(features)
            self.y.append(targets)
        self.model.set_params(**self._rounds_after(self.pulls + 1))
        self.model.fit(_stacked(self.x), np.concatenate(self.y))

    def _new(self, pulls: int, x: Any, y: Any) -> list[Any]:
        """Batches that were not seen before: the next one, and samples of classes that the first one lacks."""
        lacking = np.setdiff1d(self.labels, y) if pulls == 0 else self.labels[:0]
        next_one = [(x, y)] if self.judge.stream.is_new(pulls) else []
        return [*next_one, *(self.judge.stream.example(label) for label in lacking)]

    def _rounds_after(self, pulls: int) -> dict[str, Any]:
        return {self.rounds: self.each * max(pulls, 1)} if self.adds_up else {}

    def like(self, pulls: int) -> Any:
        from sklearn.base import clone

        return clone(self.candidate).set_params(warm_start=True, **self._rounds_after(pulls))

    def go_on(self, model: Any, pulls: int) -> None:
        xs, ys = list[Any](), list[NDArray[Any]]()
        for number in range(pulls):
            batch = self.judge.stream.batch(number)
            if not self.judge.stream.is_new(number):
                break  # nor is any after it
            for x, y in self._new(number, *batch):
                xs.append(x)
                ys.append(y)
        super().go_on(model, pulls)
        self.x, self.y = xs, ys

    def predict(self, x: Any) -> Any:
        return self.model.predict(x)

    def probabilities(self, x: Any) -> tuple[Any, Any]:
        return self.model.predict_proba(x), self.model.classes_


class RiverLearner(BatchLearner):
    """A river model; rows of arrays become dictionaries by column number, rows of data frames by column name."""

    def __init__(self, model: Any, judge: Judge):
        super().__init__(model, deepcopy(model), judge)
        self.labels = judge.labels if self.classifies() else np.empty(0)

    def classifies(self) -> bool:
        from river.base import Classifier

        return isinstance(self.model, Classifier) or hasattr(self.model, "predict_proba_one")

    def learn(self, x: Any, y: Any) -> None:
        for row, target in zip(_dictionaries(x), y.tolist(), strict=True):
            self.model.learn_one(row, target)

    def predict(self, x: Any) -> Any:
        fallback = self.labels.tolist()[0] if len(self.labels) else 0.0
        found = [self.model.predict_one(row) for row in _dictionaries(x)]
        return np.array([fallback if value is None else value for value in found])

    def probabilities(self, x: Any) -> tuple[Any, Any]:
        labels = self.labels.tolist()
        found = [self.model.predict_proba_one(row) for row in _dictionaries(x)]
        return np.array([[row.get(label, 0.0) for label in labels] for row in found]), self.labels


class LoopLearner:
    """A training loop that yields its losses, or a function that makes one step and returns its loss."""

    def __init__(self, step: Callable[[], float], model: Any):
        self.step, self.model = step, model

    def train(self, times: int) -> list[float]:
        losses = list[float]()
        for _ in range(times):
            try:
                losses.append(self.step())
            except StopIteration:
                raise InvalidLoss("the training loop ended before the budget was spent") from None
        return losses


_ROUNDS = ("n_estimators", "max_iter")


def as_learner(name: str, candidate: Any, judge: Judge | None) -> Learner:
    """The learner for a candidate; ``judge`` is None when there is no data."""
    if isinstance(candidate, type):
        raise WrongType(f"candidates[{name!r}]={candidate!r}: must be an object, not a class")
    if isinstance(candidate, Learner):
        return candidate
    if isinstance(candidate, Iterator):
        return LoopLearner(candidate.__next__, candidate)
    if inspect.isgeneratorfunction(candidate):
        loop = candidate()
        return LoopLearner(loop.__next__, loop)
    last = candidate.steps[-1][1] if _is_sklearn_pipeline(candidate) else candidate
    make: Callable[[Any, Judge], Learner] | None = None
    if hasattr(last, "partial_fit"):
        make = PartialFitLearner
    elif hasattr(candidate, "learn_one"):
        make = RiverLearner
    elif rounds := _rounds_of(candidate):
        make = partial(WarmStartLearner, rounds=rounds)
    if make is not None:
        if judge is None:
            raise WrongType(f"candidates[{name!r}]={type(candidate).__name__}: needs data, but data is None")
        return make(candidate, judge)
    if callable(candidate):
        return LoopLearner(candidate, candidate)
    raise WrongType(
        f"candidates[{name!r}]={type(candidate).__name__}: must have partial_fit, warm_start, learn_one or train, or be "
        f"a function or generator of losses"
    )


def _is_sklearn_pipeline(candidate: Any) -> bool:
    steps = getattr(candidate, "steps", None)
    return isinstance(steps, list) and bool(steps) and hasattr(candidate, "fit")


def _steps(model: Any) -> list[Any]:
    return [step for _, step in model.steps] if _is_sklearn_pipeline(model) else [model]


def _rounds_of(candidate: Any) -> str:
    """The parameter that counts rounds, of an estimator that can go on where it stopped."""
    parameters = candidate.get_params() if hasattr(candidate, "get_params") and hasattr(candidate, "fit") else {}
    return next((name for name in _ROUNDS if name in parameters and "warm_start" in parameters), "")


def _stacked(parts: list[Any]) -> Any:
    if hasattr(parts[0], "iloc"):
        import pandas

        return pandas.concat(parts)
    if hasattr(parts[0], "tocsr"):
        from scipy.sparse import vstack

        return vstack(parts)
    return np.concatenate(parts)


def _dictionaries(x: Any) -> list[dict[Any, Any]]:
    if hasattr(x, "to_dict") and hasattr(x, "iloc"):
        return list(x.to_dict(orient="records"))
    rows = x.tolist() if isinstance(x, np.ndarray) else list(x)
    return [row if isinstance(row, dict) else dict(enumerate(row)) for row in rows]

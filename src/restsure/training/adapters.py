"""What can be trained: estimators, river models, training loops, and anything with a method ``train``."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any, Protocol, runtime_checkable

import numpy as np

from restsure.errors import InvalidLoss, InvalidParameter, WrongType
from restsure.training.batch_learner import BatchLearner, Judge
from restsure.training.estimator_learners import estimator_learner
from restsure.training.stream import values_of

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


class RiverLearner(BatchLearner):
    """A river model; rows of arrays become dictionaries by column number, rows of data frames by column name.

    Rows that are text or dictionaries stay what they are, and of sparse rows there is what they have.
    """

    def __init__(self, model: Any, judge: Judge):
        super().__init__(model, deepcopy(model), judge)
        self.labels = judge.labels if self.classifies() else np.empty(0)

    def classifies(self) -> bool:
        from river.base import Classifier
        from river.compose import Pipeline

        last = self.model
        while isinstance(last, Pipeline):  # which has the methods of both kinds
            last = next(reversed(last.steps.values()))
        return isinstance(last, Classifier) or hasattr(last, "predict_proba_one")

    def learn(self, x: Any, y: Any) -> None:
        if self.judge.stream.nan and (values := values_of(x)).dtype.kind == "f" and np.isnan(values).any():
            raise InvalidParameter("X must be finite, but has NaN, which river's models would learn from for good")
        for row, target in zip(_samples(x), y.tolist(), strict=True):
            self.model.learn_one(row, target)

    def predict(self, x: Any) -> Any:
        fallback = self.labels.tolist()[0] if len(self.labels) else 0.0
        found = [self.model.predict_one(row) for row in _samples(x)]
        return np.array([fallback if value is None else value for value in found])

    def probabilities(self, x: Any) -> tuple[Any, Any]:
        labels = self.labels.tolist()
        found = [self.model.predict_proba_one(row) for row in _samples(x)]
        return np.array([[row.get(label, 0.0) for label in labels] for row in found]), self.labels


class LoopLearner:
    """A training loop that yields its losses, or a function that makes one step and returns its loss."""

    def __init__(self, step: Callable[[], float], model: Any):
        self.step, self.model = step, model

    def train(self, times: int) -> list[float]:
        losses: list[float] = []
        for _ in range(times):
            try:
                losses.append(self.step())
            except StopIteration:
                raise InvalidLoss("the training loop ended before the budget was spent") from None
        return losses


def as_learner(name: str, candidate: Any, judge: Judge | None) -> Learner:
    """The learner for a candidate; ``judge`` is None when there is no data."""
    if isinstance(candidate, type):
        raise WrongType(f"candidates[{name!r}]={candidate!r}: must be an object, not a class")
    train = getattr(candidate, "train", None)
    if str(getattr(train, "__module__", None)).startswith("torch."):  # that of a network, which switches a mode only
        raise WrongType(
            f"candidates[{name!r}]={type(candidate).__name__}: must be in a restsure.integrations.torch.TorchLearner, which "
            f"says how it is trained"
        )
    if isinstance(candidate, Learner):
        return candidate
    if isinstance(candidate, Iterator):
        return LoopLearner(candidate.__next__, candidate)
    if inspect.isgeneratorfunction(candidate):
        loop = candidate()
        return LoopLearner(loop.__next__, loop)
    make = estimator_learner(candidate) or (RiverLearner if hasattr(candidate, "learn_one") else None)
    if make is not None:
        if judge is None:
            raise WrongType(f"candidates[{name!r}]={type(candidate).__name__}: needs data, but data is None")
        if must := _must(candidate, judge):
            raise WrongType(f"candidates[{name!r}]={type(candidate).__name__}: must {must}")
        return make(candidate, judge)
    if callable(candidate):
        return LoopLearner(candidate, candidate)
    raise WrongType(
        f"candidates[{name!r}]={type(candidate).__name__}: must have partial_fit, warm_start, learn_one or train, or be "
        f"a function or generator of losses"
    )


def _must(candidate: Any, judge: Judge) -> str | None:
    """What an estimator or river model has to have, or to be, so that anyone can say how good it is; None if it does."""
    if hasattr(candidate, "learn_one"):
        return None if hasattr(candidate, "predict_one") else "have predict_one"
    if not hasattr(candidate, "predict"):
        return "have predict"
    from sklearn.base import is_clusterer, is_outlier_detector

    if judge.loss is None and (is_clusterer(candidate) or is_outlier_detector(candidate)):
        return "be a classifier or a regressor, unless loss= says how it is judged"
    return None


def _samples(x: Any) -> list[Any]:
    """Rows as river's models want them: dictionaries by column, or the text itself where a row is text."""
    if hasattr(x, "to_dict") and hasattr(x, "columns"):
        return list(x.to_dict(orient="records"))
    if hasattr(x, "tocsr"):
        sparse = x.tocsr()
        columns, values = (np.split(part, sparse.indptr[1:-1]) for part in (sparse.indices, sparse.data))
        return [dict(zip(k.tolist(), v.tolist(), strict=True)) for k, v in zip(columns, values, strict=True)]
    rows = x.tolist() if hasattr(x, "tolist") else x
    return [row if isinstance(row, (dict, str)) else dict(enumerate(row)) for row in rows]

"""Estimators with scikit-learn's interface as learners: those with ``partial_fit``, with ``warm_start``, and boosters.

Boosters are the estimators of LightGBM, XGBoost and CatBoost. They are known by their ``fit``, and none of these is imported
here.
"""

import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterable
from copy import copy, deepcopy
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from restsure.errors import InvalidParameter
from restsure.training.batch_learner import BatchLearner, Judge

_ROUNDS = ("n_estimators", "max_iter")
_CONTINUES = ("init_model", "xgb_model")
_SEEDS = ("random_state", "random_seed", "seed")  # by all of which CatBoost knows its own


def estimator_learner(candidate: Any) -> Callable[[Any, Judge], BatchLearner] | None:
    """What makes a learner of an estimator, or of a pipeline by its last step; None if it cannot be trained step by step."""
    last = _steps(candidate)[-1]
    if hasattr(last, "partial_fit"):
        return PartialFitLearner
    if not hasattr(last, "get_params") or not hasattr(last, "fit"):
        return None
    parameters = last.get_params()
    if "warm_start" in parameters and (rounds := [name for name in _ROUNDS if name in parameters]):
        return partial(WarmStartLearner, rounds=rounds[0])
    if continues := _continues(last):
        return partial(BoosterLearner, continues=continues)
    return None


def takes_nan(candidate: Any) -> bool:
    """Whether an estimator or the last step of a pipeline says that it takes NaN, or an imputer is in it."""
    parts = [_steps(candidate)[-1]]
    if _is_pipeline(candidate):
        parts += [part for part in candidate.get_params().values() if type(part).__name__.endswith("Imputer")]
    estimators = [part for part in parts if hasattr(part, "__sklearn_tags__") and not isinstance(part, type)]
    return any(part.__sklearn_tags__().input_tags.allow_nan for part in estimators)


class EstimatorLearner(BatchLearner):
    """An estimator with scikit-learn's interface."""

    def classifies(self) -> bool:
        from sklearn.base import is_classifier

        return bool(is_classifier(self.model))

    def predict(self, x: Any) -> Any:
        return self.model.predict(x)

    def probabilities(self, x: Any) -> tuple[Any, Any]:
        return self.model.predict_proba(x), self.model.classes_


class PartialFitLearner(EstimatorLearner):
    """A scikit-learn estimator with ``partial_fit``, or a pipeline whose last step has it.

    Steps before the last learn every batch if they have ``partial_fit`` too, and the first batch otherwise.
    """

    def __init__(self, model: Any, judge: Judge):
        from sklearn.base import clone

        super().__init__(model, clone(model), judge)
        self.steps = _steps(self.model)
        self.labels = judge.labels if self.classifies() else None
        self.known = {*judge.labels.tolist()}

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

    def go_on(self, model: Any, pulls: int) -> None:
        super().go_on(model, pulls)
        self.steps = _steps(model)


class RoundsLearner(EstimatorLearner):
    """An estimator that goes on from its last fit: a pull adds as many rounds as it was made with, on all data so far.

    A classifier cannot learn of a class after its first round: those that the first batch lacks are shown by one sample. Of a
    pipeline, steps before the last learn the first batch: trees stay where features do.
    """

    def __init__(self, model: Any, judge: Judge):
        super().__init__(model, _cloned(model), judge)
        self.labels = judge.labels if self.classifies() else judge.labels[:0]
        self.x, self.y = list[Any](), list[NDArray[Any]]()

    @abstractmethod
    def grow(self, x: Any, y: Any) -> None:
        """Some more rounds of the last step, on all data so far."""

    def learn(self, x: Any, y: Any) -> None:
        new = self._new(self.pulls, x, y)
        if self.pulls == 0:
            self._prepare(*_stacked(new))
        for part, targets in new:
            self.x.append(self._transformed(self.model, part))
            self.y.append(targets)
        self.grow(*_stacked(zip(self.x, self.y, strict=True)))

    def _new(self, pulls: int, x: Any, y: Any) -> list[Any]:
        """Batches that were not seen before: the next one, and samples of classes that the first one lacks."""
        lacking = np.setdiff1d(self.labels, y) if pulls == 0 else self.labels[:0]
        next_one = [(x, y)] if self.judge.stream.is_new(pulls) else []
        return [*next_one, *(self.judge.stream.example(label) for label in lacking)]

    def _prepare(self, x: Any, y: Any) -> None:
        for step in _steps(self.model)[:-1]:
            if step is not None and step != "passthrough":
                x = step.fit(x, y).transform(x)

    def _transformed(self, model: Any, x: Any) -> Any:
        for step in _steps(model)[:-1]:
            x = x if step is None or step == "passthrough" else step.transform(x)
        return x

    def go_on(self, model: Any, pulls: int) -> None:
        xs, ys = list[Any](), list[NDArray[Any]]()
        for number in range(pulls):
            batch = self.judge.stream.batch(number)
            if not self.judge.stream.is_new(number):
                break  # nor is any after it
            for x, y in self._new(number, *batch):
                xs.append(self._transformed(model, x))
                ys.append(y)
        super().go_on(model, pulls)
        self.x, self.y = xs, ys


class WarmStartLearner(RoundsLearner):
    """A scikit-learn estimator with ``warm_start``."""

    def __init__(self, model: Any, judge: Judge, rounds: str):
        super().__init__(model, judge)
        last = _steps(self.model)[-1].set_params(warm_start=True)
        self.rounds, self.each = rounds, last.get_params()[rounds]
        # trees are counted from the start, iterations of a solver from where the last fit stopped
        self.adds_up = rounds == "n_estimators" or type(last).__name__.startswith("HistGradientBoosting")

    def grow(self, x: Any, y: Any) -> None:
        _steps(self.model)[-1].set_params(**self._rounds_after(self.pulls + 1)).fit(x, y)

    def _rounds_after(self, pulls: int) -> dict[str, Any]:
        return {self.rounds: self.each * max(pulls, 1)} if self.adds_up else {}

    def like(self, pulls: int) -> Any:
        model = _cloned(self.candidate)
        _steps(model)[-1].set_params(warm_start=True, **self._rounds_after(pulls))
        return model


class BoosterLearner(RoundsLearner):
    """An estimator of LightGBM, XGBoost or CatBoost, whose ``fit`` goes on from the trees of a model by ``continues=model``.

    Every fit begins to draw by its seed. With the same seed, a model that takes a tenth of the features for each tree would
    take the same ones in every pull: each pull has the next seed, and the first the one that the candidate was given. XGBoost
    also draws on across models unless the seed is another one, so that candidates would depend on each other.
    """

    def __init__(self, model: Any, judge: Judge, continues: str):
        booster = _steps(model)[-1]
        given = booster.get_params() | vars(booster)  # what it holds, where it would draw a number to answer
        self.seed_name = next((name for name in _SEEDS if given.get(name) is not None), _SEEDS[0])
        self.seed = given.get(self.seed_name) or 0
        if not isinstance(self.seed, int | np.integer):
            kind = type(self.seed).__name__
            raise InvalidParameter(
                f"{type(booster).__name__}: {self.seed_name} must be None or a number, since a {kind} is drawn from whenever "
                f"its parameters are asked for"
            )
        super().__init__(model, judge)
        self.continues = continues

    def grow(self, x: Any, y: Any) -> None:
        going_on = {self.continues: _steps(self.model)[-1]} if self.pulls else {}
        self.model = _with_last(self.model, self._booster(self.pulls + 1).fit(x, y, **going_on))

    def _booster(self, pulls: int) -> Any:
        """As it is after so many pulls, in its parameters."""
        booster = _cloned(_steps(self.candidate)[-1])
        return booster.set_params(**{self.seed_name: int(self.seed) + pulls - 1}) if pulls > 1 else booster

    def like(self, pulls: int) -> Any:
        return _with_last(_cloned(self.candidate), self._booster(pulls))

    def predict(self, x: Any) -> Any:
        predicted = np.asarray(self.model.predict(x))
        return (
            predicted[:, 0] if predicted.ndim == 2 and predicted.shape[1] == 1 else predicted
        )  # CatBoost has a column

    def _make(self) -> dict[str, Any]:
        library = type(_steps(self.candidate)[-1]).__module__.partition(".")[0]  # another version would go on otherwise
        return super()._make() | {"version": str(getattr(import_module(library), "__version__", None))}


def _is_pipeline(model: Any) -> bool:
    steps = getattr(model, "steps", None)
    return isinstance(steps, list) and bool(steps) and hasattr(model, "fit")


def _steps(model: Any) -> list[Any]:
    """Those of a scikit-learn pipeline, or the model alone."""
    return [step for _, step in model.steps] if _is_pipeline(model) else [model]


def _with_last(model: Any, last: Any) -> Any:
    """A pipeline of the same steps with that last one; or, in the place of a model alone, that one."""
    if not _is_pipeline(model):
        return last
    changed = copy(model)
    changed.steps = [*model.steps[:-1], (model.steps[-1][0], last)]
    return changed


def _continues(estimator: Any) -> str:
    """By which parameter of its ``fit`` a booster goes on from a model; of others, nothing."""
    return next((name for name in _CONTINUES if name in inspect.signature(estimator.fit).parameters), "")


def _cloned(model: Any) -> Any:
    """As scikit-learn clones it, which takes CatBoost for broken: a list that it is given comes back as another list."""
    from sklearn.base import clone

    last = _steps(model)[-1]
    if not _continues(last):
        return clone(model)
    booster = type(last)(**deepcopy(last.get_params(deep=False)))
    return _with_last(clone(_with_last(model, None)), booster) if _is_pipeline(model) else booster


def _stacked(batches: Iterable[tuple[Any, NDArray[Any]]]) -> tuple[Any, NDArray[Any]]:
    """All of them as one."""
    parts, targets = zip(*batches, strict=True)
    if hasattr(parts[0], "iloc"):
        import pandas

        return pandas.concat(parts), np.concatenate(targets)
    if hasattr(parts[0], "tocsr"):
        from scipy.sparse import vstack

        return vstack(parts, format="csr"), np.concatenate(targets)
    return np.concatenate(parts), np.concatenate(targets)

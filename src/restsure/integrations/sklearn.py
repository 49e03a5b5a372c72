"""Selection as a scikit-learn estimator: ``fit`` trains the candidates under one budget, ``predict`` asks the winner."""
# ruff: noqa: N803 - scikit-learn looks for an argument X

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from restsure import checks
from restsure.errors import InvalidParameter, MissingExtra, NoArmLeft, WrongType
from restsure.policies import Policy
from restsure.training import Result, select
from restsure.training.estimator_learners import takes_nan

try:
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        MetaEstimatorMixin,
        RegressorMixin,
        clone,
        is_classifier,
        is_regressor,
    )
    from sklearn.ensemble import VotingClassifier
    from sklearn.exceptions import FitFailedWarning
    from sklearn.utils import check_random_state, get_tags
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise MissingExtra(
        "restsure.integrations.sklearn needs scikit-learn 1.6 or newer: pip install 'restsure[sklearn]'"
    ) from None

__all__ = ["SelectiveClassifier", "SelectiveRegressor"]

_STEPS_EACH = 32  # training steps for each candidate where no budget is given: enough to see a curve


def _if_it_can(method: Callable[..., Any]) -> Any:
    """A method that is there if the winner has it; before fitting, if whoever wins will have it."""

    def can(self: "_Selective") -> bool:
        models = [self.best_estimator_] if hasattr(self, "best_estimator_") else self._models()
        return bool(models) and all(hasattr(model, method.__name__) for model in models)

    return available_if(can)(method)


class _Selective(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What classifier and regressor share."""

    result_: Result
    best_name_: str
    best_estimator_: Any

    def __init__(
        self,
        estimators: Sequence[tuple[str, Any]],
        *,
        budget: int | str | None = None,
        batch_size: int | None = None,
        loss: str | Callable[[Any, Any], float] | None = None,
        validation_fraction: float | None = None,
        policy: Policy | None = None,
        progress: bool = False,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.estimators = estimators
        self.budget: Any = budget  # what can be a budget is for select to say
        self.batch_size = batch_size
        self.loss = loss
        self.validation_fraction = validation_fraction
        self.policy = policy
        self.progress = progress
        self.random_state = random_state

    def predict(self, X: Any) -> Any:
        """What the winner predicts, a value a row."""
        return self._ask_winner("predict", X)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; if ``deep``, also each candidate by its name and its parameters as ``name__parameter``."""
        params: dict[str, Any] = super().get_params(deep=deep)
        for name, candidate in self._named().items() if deep else ():
            params[name] = candidate
            if hasattr(candidate, "get_params") and not isinstance(candidate, type):
                params |= {f"{name}__{key}": value for key, value in candidate.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Any:
        """Set parameters, replace candidates by ``name``, and set theirs by ``name__parameter``."""
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        new = {name: params.pop(name) for name in self._named() if name in params}
        if new:
            self.estimators = [(name, new.get(name, candidate)) for name, candidate in self.estimators]
        return super().set_params(**params)

    def __sklearn_tags__(self) -> Any:
        tags, theirs = super().__sklearn_tags__(), [get_tags(model) for model in self._models()]
        # whoever cannot take the data only drops out: it is enough if one can
        tags.input_tags.sparse = any(their.input_tags.sparse for their in theirs)
        tags.input_tags.allow_nan = any(takes_nan(model) for model in self._models())
        tags.input_tags.positive_only = bool(theirs) and all(their.input_tags.positive_only for their in theirs)
        return tags

    def _sk_visual_block_(self) -> Any:
        """Drawn as scikit-learn draws candidates side by side, the winner as trained."""
        trained = {self.best_name_: self.best_estimator_} if hasattr(self, "best_estimator_") else {}
        return VotingClassifier([*(self._named() | trained).items()])._sk_visual_block_()

    def _select(self, X: Any, y: Any, classes: Any = None) -> None:
        candidates = self._checked_candidates()
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        share = self.validation_fraction
        if share is not None:
            share = checks.real("validation_fraction", share, above=0, below=1)
        try:
            result = select(
                {name: _seeded(candidate, seed) for name, candidate in candidates.items()},
                (X, y),
                validation=share,
                budget=_STEPS_EACH * len(candidates) if self.budget is None else self.budget,
                batch_size=self.batch_size,
                loss=self.loss,
                classes=classes,
                policy=self.policy,
                progress=self.progress,
                random_state=seed,
            )
        except NoArmLeft as error:
            raise InvalidParameter(f"estimators: {error}") from error
        if result.failures:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in result.failures.items())
            lost = f"{len(result.failures)} of {len(candidates)} candidates have failed"
            warnings.warn(f"{lost}: {reasons}", FitFailedWarning, stacklevel=3)
        if result.interrupted:
            warnings.warn(f"fit was interrupted and keeps the best so far: {result}", stacklevel=3)
        self.result_, self.best_name_, self.best_estimator_ = result, result.name, result.model

    def _ask_winner(self, method: str, X: Any) -> Any:
        check_is_fitted(self)
        finite = not takes_nan(self.best_estimator_) or "allow-nan"
        rules = {"accept_sparse": "csr", "ensure_all_finite": finite}
        checked = validate_data(self, X, reset=False, skip_check_array=_is_frame(X), **rules)
        return getattr(self.best_estimator_, method)(checked)

    def _checked_data(self, X: Any, y: Any, **rules: Any) -> tuple[Any, Any]:
        """Numbers, dense or sparse; a data frame stays one, with columns of any kind."""
        kind = None if _is_frame(X) else "numeric"
        rules["ensure_all_finite"] = not get_tags(self).input_tags.allow_nan or "allow-nan"
        checked, targets = validate_data(self, X, y, accept_sparse="csr", dtype=kind, **rules)
        return X if _is_frame(X) else checked, targets

    def _named(self) -> dict[str, Any]:
        """Candidates by name, as far as there are any: until ``fit``, a parameter may be anything."""
        try:
            return dict(self.estimators)
        except (TypeError, ValueError):
            return {}

    def _models(self) -> list[Any]:
        return [candidate for candidate in self._named().values() if _is_estimator(candidate)]

    def _checked_candidates(self) -> dict[str, Any]:
        """Candidates by name, without those that are "drop"."""
        pairs, kind = self.estimators, is_classifier if is_classifier(self) else is_regressor
        if not isinstance(pairs, (list, tuple)) or not all(isinstance(p, (list, tuple)) and len(p) == 2 for p in pairs):
            raise WrongType("estimators: must be a list of pairs (name, estimator)")
        candidates, taken = dict[str, Any](), self.get_params(deep=False)
        for name, candidate in pairs:
            if not isinstance(name, str) or not name.strip() or "__" in name or name in taken or name in candidates:
                rule = f"must be text without '__', all different and none of {', '.join(taken)}"
                raise InvalidParameter(f"estimators: names {rule}, but one is {name!r}")
            candidates[name] = candidate
        kept = {name: candidate for name, candidate in candidates.items() if not _is_dropped(candidate)}
        for name, candidate in kept.items():
            if not _is_estimator(candidate) or not kind(candidate):
                rule = f"must be a {kind.__name__.removeprefix('is_')} or 'drop'"
                given = candidate if isinstance(candidate, type) else type(candidate).__name__
                raise WrongType(f"estimators[{name!r}]={given}: {rule}")
        if not kept:
            raise InvalidParameter("estimators: must have at least one estimator")
        return kept


class SelectiveClassifier(ClassifierMixin, _Selective):  # type: ignore[misc]
    """The best of some classifiers, trained: a scikit-learn estimator around :func:`restsure.select`.

    ``estimators``: pairs (name, classifier), each with ``partial_fit`` or ``warm_start``, a booster, or a pipeline that ends in
    one; "drop" in place of a classifier leaves it out. ``budget``: training steps of all together, 32 for each if None.
    ``batch_size``, ``loss``, ``policy`` and ``progress`` are those of ``select``; ``loss`` sees the labels as they are in y.
    ``validation_fraction``: that share of the rows is held back, and candidates are judged on it; otherwise they are judged on
    the batches that they learn next, which are new to them in the first pass over the data only.
    ``random_state`` orders the data, and becomes the random state of candidates that were given none.

    X is an array, a sparse matrix or a data frame, and a data frame goes to the candidates as it is, so that pipelines can
    choose columns by name. NaN is accepted if a candidate takes it. A candidate that fails is out, and a ``FitFailedWarning``
    names it; if all fail, fit does.

    After ``fit``: ``best_estimator_`` and ``best_name_``, the winner; ``result_``, with pulls, losses, certificate and reasons;
    ``classes_``; ``n_features_in_``; ``feature_names_in_`` if X has names. ``predict_proba``, ``predict_log_proba`` and
    ``decision_function`` are there if the winner has them, and before ``fit`` if all candidates have.

    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import Perceptron, SGDClassifier
    >>> from sklearn.naive_bayes import MultinomialNB
    >>> models = [("bayes", MultinomialNB()), ("perceptron", Perceptron()), ("svm", SGDClassifier())]
    >>> model = SelectiveClassifier(models, budget=90, random_state=0).fit(*load_digits(return_X_y=True))
    >>> sum(model.result_.pulls.values()), model.best_name_ in dict(models)
    (90, True)
    """

    def fit(self, X: Any, y: Any) -> "SelectiveClassifier":
        """Train the candidates on (X, y) under the budget, and keep the best one."""
        features, labels = self._checked_data(X, y)
        check_classification_targets(labels)
        self.classes_ = np.unique(labels)
        self._select(features, labels, self.classes_)
        return self

    @_if_it_can
    def predict_proba(self, X: Any) -> Any:
        """The winner's probabilities of ``classes_``, a row a sample."""
        return self._ask_winner("predict_proba", X)

    @_if_it_can
    def predict_log_proba(self, X: Any) -> Any:
        """Their logarithms."""
        return self._ask_winner("predict_log_proba", X)

    @_if_it_can
    def decision_function(self, X: Any) -> Any:
        """The winner's scores: one a sample where there are two classes, otherwise one for each of ``classes_``."""
        return self._ask_winner("decision_function", X)


class SelectiveRegressor(RegressorMixin, _Selective):  # type: ignore[misc]
    """The best of some regressors, trained: as :class:`SelectiveClassifier`, for numbers instead of classes.

    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import SGDRegressor
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> rates = [(f"rate {rate:g}", make_pipeline(StandardScaler(), SGDRegressor(eta0=rate))) for rate in (1e-4, 1e-2)]
    >>> SelectiveRegressor(rates, random_state=0).fit(*load_diabetes(return_X_y=True)).best_name_
    'rate 0.01'
    """

    def fit(self, X: Any, y: Any) -> "SelectiveRegressor":
        """Train the candidates on (X, y) under the budget, and keep the best one."""
        self._select(*self._checked_data(X, y, y_numeric=True))
        return self


def _seeded(estimator: Any, seed: int) -> Any:
    """A copy with no random state left open, so that one seed makes all of ``fit`` repeatable."""
    copy = clone(estimator)
    states = {key: value for key, value in copy.get_params().items() if key.split("__")[-1] == "random_state"}
    return copy.set_params(**{key: seed for key, value in states.items() if value is None})


def _is_estimator(candidate: Any) -> bool:
    return hasattr(candidate, "__sklearn_tags__") and not isinstance(candidate, type)


def _is_dropped(candidate: Any) -> bool:
    return isinstance(candidate, str) and candidate == "drop"


def _is_frame(x: Any) -> bool:
    return hasattr(x, "iloc")

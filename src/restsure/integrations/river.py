"""Selection among river models: every sample of the stream trains one model, the one that could end up best."""

import math
import warnings
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Self

from restsure import checks
from restsure.errors import InvalidLoss, InvalidParameter, MissingExtra, NoArmLeft, WrongType
from restsure.policies import Game, HorizonLCB, Policy
from restsure.training.result import with_names

try:
    from river.base import Estimator
    from river.model_selection.base import ModelSelectionClassifier, ModelSelectionRegressor, ModelSelector
except ImportError:
    raise MissingExtra("restsure.integrations.river needs river: pip install 'restsure[river]'") from None

__all__ = ["SelectiveClassifier", "SelectiveRegressor"]


@dataclass(slots=True)
class _Pull:
    """The pull in progress: which model, its metric over the samples so far, how many it learnt and predicted, and targets."""

    arm: int
    metric: Any
    learnt: int = 0
    judged: int = 0
    targets: list[Any] = field(default_factory=list)


class _Selective(ModelSelector, Estimator):
    """What both have in common; they differ in what a metric wants to be told."""

    metric: Any

    def __init__(
        self,
        models: Iterable[Any],
        metric: Any,
        budget: int,
        *,
        batch_size: int = 16,  # from 2 to 32 the models found are as good; fewer decisions cost less time
        policy: Policy | None = None,
        seed: int | None = None,
    ):
        candidates = _checked_models(models, metric)
        super().__init__(candidates, metric)  # type: ignore[arg-type]  # river says iterator, but reads it twice
        self.budget = checks.whole("budget", budget, at_least=1)
        self.batch_size = checks.whole("batch_size", batch_size, at_least=2)
        self.policy, self.seed = policy, seed
        if self.budget < len(candidates) * self.batch_size:
            raise InvalidParameter(
                f"budget={budget}: must be at least {len(candidates) * self.batch_size}, batch_size={batch_size} samples "
                f"for each of {len(candidates)} models"
            )
        self._rule = HorizonLCB() if policy is None else policy
        checks.instance("policy", self._rule, Policy)
        self._game = self._start(self._rule)
        self._samples = 0  # learnt during the selection
        self._best: int | None = 0  # kept between pulls, so that predictions cost no more than the model's
        self._pull = self._next_pull()

    def _start(self, rule: Policy) -> Game:
        return rule.start(len(self.models), self.budget // self.batch_size, seed=self.seed)

    @abstractmethod
    def _predict(self, model: Any, x: dict[Any, Any]) -> Any:
        """What the metric is told."""

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Train one model on this sample: the one whose turn it is, or the winner once the budget is spent."""
        pull = self._pull
        if pull is None:
            self.best_model.learn_one(x, y)
            return
        self._samples += 1
        try:
            loss = self._train(pull, x, y)
        except Exception as error:
            self._drop(pull.arm, error)
            return
        if loss is not None:
            self._before_first(pull)
            self._game.tell(pull.arm, [loss])
            self._move_on()

    @property
    def best_model(self) -> Any:
        """The model with the lowest estimated loss at the samples it has learnt; the first one before any is judged."""
        if self._best is None:
            raise self._none_left()
        return self.models[self._best]

    @property
    def finished(self) -> bool:
        """Whether the budget is spent, so that only the winner learns."""
        return self._pull is None

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each model, with its number where several would have the same."""
        plain = [str(model) for model in self.models]
        count = Counter(plain)
        return tuple(f"{name} [{arm}]" if count[name] > 1 else name for arm, name in enumerate(plain))

    @property
    def pulls(self) -> dict[str, int]:
        """Pulls of each model that are complete, by name: ``batch_size`` samples each."""
        return dict(zip(self.names, self._game.pulls, strict=True))

    @property
    def failures(self) -> dict[str, str]:
        """Models that are out, and why."""
        return {self.names[arm]: reason for arm, reason in self._game.failures.items()}

    def explain(self) -> str:
        """Why this model is trained, or was chosen, and every failure on the way, by name."""
        text = with_names(self._game.explain(), self.names)
        if self.finished and not self._game.over:
            text += f"\nNo other pull fits in the budget of {self.budget} samples: those of failed pulls are spent too."
        return text

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Self:
        # river would copy the list of models as they are, trained
        fresh = {"models": [model.clone() for model in self.models]}
        return super().clone({**fresh, **(new_params or {})}, include_attributes)

    def _train(self, pull: _Pull, x: dict[Any, Any], y: Any) -> float | None:
        """Predict the sample, then learn it; the loss, if that completes the pull."""
        model = self.models[pull.arm]
        predicted = self._predict(model, x)
        if predicted is not None and predicted != {}:  # a model may know nothing yet: river does not judge that either
            pull.metric.update(y, predicted)
            pull.judged += 1
        model.learn_one(x, y)
        pull.learnt += 1
        pull.targets.append(y)
        if pull.learnt < self.batch_size:
            return None
        if not pull.judged:
            raise InvalidLoss(f"no prediction in {self.batch_size} samples")
        value = float(pull.metric.get())
        if not math.isfinite(value):
            raise InvalidLoss(f"{type(self.metric).__name__}={value}: must be finite")
        return 1.0 - value if self.metric.bigger_is_better else value

    def _before_first(self, pull: _Pull) -> None:
        """What is to be done before the first loss is told."""

    def _drop(self, arm: int, error: Exception) -> None:
        """That model is out, and another one is next."""
        reason = f"{type(error).__name__}: {error}"
        self._game.fail(arm, reason)
        self._move_on()
        if self._best is None:
            raise self._none_left() from error
        warnings.warn(f"{self.names[arm]} is out: {reason}", RuntimeWarning, stacklevel=3)

    def _move_on(self) -> None:
        """Between pulls: who is best, and who is next."""
        left = [arm for arm in range(len(self.models)) if arm not in self._game.failures]
        seen = any(self._game.pulls[arm] for arm in left)
        self._best = self._game.recommend().arm if seen else left[0] if left else None
        self._pull = self._next_pull()

    def _next_pull(self) -> _Pull | None:
        """None when no other pull fits in the budget, in which samples of pulls that failed are counted too."""
        if self.budget - self._samples < self.batch_size:
            return None
        pull = self._game.ask(max_times=1)
        return None if pull is None else _Pull(pull.arm, self.metric.clone())

    def _none_left(self) -> NoArmLeft:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in self.failures.items())
        return NoArmLeft(f"all {len(self.models)} models have failed: {reasons}")

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        for params in super()._unit_test_params():
            yield {**params, "budget": 150}

    def _unit_test_skips(self) -> set[str]:
        # a sample trains one model only: in another order the models get other samples, harder or easier ones
        return {"check_model_selection_order_does_not_matter"}


class SelectiveClassifier(_Selective, ModelSelectionClassifier):
    """Online selection of a classifier: every sample trains one of ``models``, in place, and predictions are the best one's.

    ``budget`` samples are learnt while the selection lasts, and all that come later by the winner alone. They are handed out
    in pulls of ``batch_size``: the model whose turn it is predicts each of them before it learns it, and its loss is a fresh
    ``metric`` over the pull, or one minus it where bigger is better. A larger pull is less noisy, a smaller one leaves more
    decisions; a metric that means little on few samples (an area under a curve, a rare class) wants a larger one.
    ``policy`` (:class:`~restsure.HorizonLCB` if None) decides who is next, and ``seed`` is for policies that draw.

    While it lasts, a model that raises, or whose metric over a pull is no finite number, is out for good, with a warning;
    samples it has used are spent. What the winner raises afterwards is left to the caller. Models are compared at different
    times of the stream: if it drifts while they are, the drift is taken for a difference between them.

    >>> from river import datasets, linear_model, metrics, naive_bayes, preprocessing, tree
    >>> model = preprocessing.StandardScaler() | SelectiveClassifier(
    ...     [linear_model.LogisticRegression(), naive_bayes.GaussianNB(), tree.HoeffdingTreeClassifier()],
    ...     metrics.Accuracy(),
    ...     budget=600,
    ... )
    >>> accuracy = metrics.Accuracy()
    >>> for x, y in datasets.Phishing():
    ...     accuracy.update(y, model.predict_one(x))
    ...     model.learn_one(x, y)
    >>> selector = model["SelectiveClassifier"]
    >>> selector.finished, sum(selector.pulls.values()) * selector.batch_size
    (True, 592)
    >>> accuracy.get() > 0.8
    True
    """

    def _predict(self, model: Any, x: dict[Any, Any]) -> Any:
        return model.predict_one(x) if self.metric.requires_labels else model.predict_proba_one(x)

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        # not left to the probabilities, which some classifiers do not have
        return self.best_model.predict_one(x, **kwargs)

    @property
    def _multiclass(self) -> bool:
        return all(model._multiclass for model in self.models)


class SelectiveRegressor(_Selective, ModelSelectionRegressor):
    """Online selection of a regressor, as :class:`SelectiveClassifier` does it for classifiers.

    Errors above those of the best constant, taken on the samples of the first pull, are compared in logarithms: models that
    start far from their targets, or run away from them, do not hide what the others differ in.

    >>> from river import datasets, evaluate, linear_model, metrics, optim, preprocessing
    >>> rates = [linear_model.LinearRegression(optimizer=optim.SGD(rate)) for rate in (1e-4, 1e-3, 1e-2)]
    >>> selector = SelectiveRegressor(rates, metrics.MAE(), budget=600)
    >>> model = preprocessing.StandardScaler() | preprocessing.TargetStandardScaler(selector)
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE()).get() < 0.6
    True
    """

    def _predict(self, model: Any, x: dict[Any, Any]) -> Any:
        return model.predict_one(x)

    def _before_first(self, pull: _Pull) -> None:
        """Errors have any size: the game begins with what someone makes who always says the same."""
        rule = self._rule
        if (
            any(self._game.pulls)
            or self._game.failures
            or not isinstance(rule, HorizonLCB)
            or rule.reference is not None
        ):
            return
        metric, targets = self.metric.clone(), pull.targets
        for target in targets:
            metric.update(target, sum(targets) / len(targets))
        reference = metric.get()
        if not metric.bigger_is_better and math.isfinite(reference) and reference > rule.floor and not rule.certified:
            self._game = self._start(replace(rule, reference=reference))
            self._game.ask(max_times=1)


def _checked_models(models: Any, metric: Any) -> list[Any]:
    """Two or more models that the metric can judge, each an object of its own."""
    if not isinstance(models, Iterable):
        raise WrongType(f"models={models!r}: must be a list of river models")
    name = type(metric).__name__
    try:
        float(metric.clone().get())
        bool(metric.bigger_is_better)
    except Exception:
        raise WrongType(f"metric={name}: must be a river metric whose value is one number") from None
    found = list(models)
    if len(found) < 2:
        raise InvalidParameter(f"models: must be at least 2, but there are {len(found)}")
    for k, model in enumerate(found):
        if isinstance(model, type):
            raise WrongType(f"models[{k}]={model.__name__}: must be an object, not a class")
        if not metric.works_with(model):
            raise WrongType(f"models[{k}]={type(model).__name__}: must be a model that {name} can judge")
        if any(model is other for other in found[:k]):
            raise InvalidParameter(f"models[{k}]={type(model).__name__}: must not be in the list twice")
    return found

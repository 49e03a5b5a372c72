"""Losses by name: what a prediction costs, always minimised."""

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from restsure import checks
from restsure.errors import InvalidLoss, WrongType


@dataclass(frozen=True, eq=False)  # by identity: a callable of the user's need not have a hash
class Loss:
    """A name, ``function(y_true, y_pred)``, and whether it wants probabilities of the classes instead of predictions."""

    name: str
    function: Callable[..., Any]
    probabilities: bool = False

    def __call__(self, y_true: Any, predicted: Any, classes: Any = None) -> float:
        value = self.function(y_true, predicted, classes) if self.probabilities else self.function(y_true, predicted)
        if type(value) is not float and (isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real)):
            raise InvalidLoss(f"loss {self.name}: must be a number, but is {type(value).__name__}")
        if not math.isfinite(value):
            raise InvalidLoss(f"loss {self.name}: must be finite, but is {value}")
        return float(value)


def zero_one(y_true: Any, y_pred: Any) -> float:
    """The share of wrong predictions."""
    wrong = np.asarray(y_true) != np.asarray(y_pred)
    return float(np.count_nonzero(wrong) / wrong.size)


def balanced(y_true: Any, y_pred: Any) -> float:
    """The share of wrong predictions, averaged over the classes in the batch: rare ones count as much as others."""
    wrong, labels = np.asarray(y_true) != np.asarray(y_pred), np.asarray(y_true)
    return float(np.mean([wrong[labels == label].mean() for label in np.unique(labels)]))


def squared(y_true: Any, y_pred: Any) -> float:
    """The mean squared error."""
    return float(np.mean(_apart(y_true, y_pred) ** 2))


def absolute(y_true: Any, y_pred: Any) -> float:
    """The mean absolute error."""
    return float(np.mean(np.abs(_apart(y_true, y_pred))))


def _apart(y_true: Any, y_pred: Any) -> Any:
    """As floats: small whole numbers without a sign would go round, and booleans have no difference."""
    return np.asarray(y_true, dtype=np.float64) - np.asarray(y_pred, dtype=np.float64)


def log_loss(y_true: Any, probabilities: Any, classes: Any) -> float:
    """Minus the mean log-probability of the true class, cut at 1e-15."""
    columns = np.searchsorted(classes, np.asarray(y_true))
    chosen = np.asarray(probabilities)[np.arange(len(columns)), np.minimum(columns, len(classes) - 1)]
    return float(-np.mean(np.log(np.maximum(chosen, 1e-15))))


LOSSES = {
    "zero_one": Loss("zero_one", zero_one),
    "balanced": Loss("balanced", balanced),
    "squared": Loss("squared", squared),
    "absolute": Loss("absolute", absolute),
    "log": Loss("log", log_loss, probabilities=True),
}

OF_NUMBERS: dict[Loss, Callable[[Any], Any]] = {LOSSES["squared"]: np.mean, LOSSES["absolute"]: np.median}
"""Losses of numbers, and what has the least of them, of all who always say the same."""


def loss_named(loss: Any) -> Loss | None:
    """A loss from its name or from a callable; None is left to the learner (zero-one or squared)."""
    if loss is None:
        return None
    if isinstance(loss, str):
        return LOSSES[checks.choice("loss", loss, list(LOSSES))]
    if callable(loss):
        return Loss(getattr(loss, "__name__", type(loss).__name__), loss)
    raise WrongType(f"loss={loss!r}: must be a name, a function of (y_true, y_pred), or None")

"""What a trial of Ray Tune reports, as a loss and a time."""

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Reading:
    """``loss``: how far the metric is from ``best``, the best value that it can have; a metric that is maximised is turned."""

    metric: str
    mode: str
    best: float | None
    time_attr: str

    @property
    def zero(self) -> float:
        """The value of the metric at which the loss is zero: that of a perfect loss or accuracy, unless said otherwise."""
        return float(self.mode == "max") if self.best is None else self.best

    def of(self, report: Mapping[str, Any]) -> tuple[float, float] | str:
        """Time and loss; or, in words, what is wrong.

        >>> Reading("accuracy", "max", None, "training_iteration").of({"training_iteration": 3, "accuracy": 0.75})
        (3.0, 0.25)
        >>> Reading("loss", "min", None, "training_iteration").of({"training_iteration": 3, "loss": math.nan})
        'loss=nan: must be a finite number'
        """
        for name in (self.metric, self.time_attr):
            value = report.get(name)
            if not isinstance(value, numbers.Real) or isinstance(value, bool) or not math.isfinite(value):
                return f"{name}={value!r}: must be a finite number"
        loss = float(report[self.metric]) - self.zero
        return float(report[self.time_attr]), -loss if self.mode == "max" else loss

    def beyond(self, trial: str, report: Mapping[str, Any]) -> str:
        """What to say where the metric is better than it can be."""
        return (
            f"best={self.zero:g}: must be the best value that {self.metric!r} can have, but trial {trial} has "
            f"{report[self.metric]:g}"
        )

"""What a method really does: training steps and time are taken at the learners, where no method can pass by."""

import time
from collections.abc import Callable
from typing import Any

from restsure.training.adapters import RiverLearner
from restsure.training.estimator_learners import PartialFitLearner
from restsure.training.stream import ArrayStream

_INSIDE = [
    (ArrayStream, "batch"),
    (PartialFitLearner, "learn"),
    (PartialFitLearner, "predict"),
    (RiverLearner, "learn"),
    (RiverLearner, "predict"),
]


class Meter:
    """While it is open: pulls of ``size`` samples, and seconds of processor time.

    A call of ``partial_fit`` is a pull however few samples it has, and so are ``size`` samples of a river model. ``inside`` is
    the time in which learners train and predict, and batches are drawn; ``seconds`` is all of it.
    """

    def __init__(self, size: int):
        self.size, self.steps, self.samples, self.inside, self.seconds = size, 0, 0, 0.0, 0.0

    @property
    def pulls(self) -> float:
        return self.steps + self.samples / self.size

    @property
    def overhead(self) -> float:
        """Seconds that were neither training nor predicting nor drawing batches."""
        return self.seconds - self.inside

    def __enter__(self) -> "Meter":
        self._as_they_were = [(owner, name, getattr(owner, name)) for owner, name in _INSIDE]
        for owner, name, method in self._as_they_were:
            setattr(owner, name, self._timed(method))
        self._began = time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.process_time() - self._began
        for owner, name, method in self._as_they_were:
            setattr(owner, name, method)

    def _timed(self, method: Callable[..., Any]) -> Callable[..., Any]:
        learns = method.__name__ == "learn"

        def timed(owner: Any, *args: Any) -> Any:
            if learns:
                self.steps += isinstance(owner, PartialFitLearner)
                self.samples += len(args[1]) if isinstance(owner, RiverLearner) else 0
            start = time.process_time()
            try:
                return method(owner, *args)
            finally:
                self.inside += time.process_time() - start

        return timed

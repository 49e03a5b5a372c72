"""Pulls run in this process, one after the other."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from restsure.training.adapters import Learner
from restsure.training.executors.base import Crew, Executor, Outcome, trained
from restsure.training.meter import Meter


@dataclass(frozen=True)
class InProcess(Executor):
    """Train in this process, one pull at a time: the default."""

    def open(self, learners: Sequence[Learner], meter: Meter) -> "InProcessCrew":
        return InProcessCrew(learners, meter)


class InProcessCrew(Crew):
    """Learners of this process; a pull is made when it is collected."""

    def __init__(self, learners: Sequence[Learner], meter: Meter):
        self.learners, self.meter = list(learners), meter
        self.waiting: deque[tuple[int, int]] = deque()

    def submit(self, arm: int, times: int) -> None:
        self.waiting.append((arm, times))

    def collect(self, arm: int | None = None) -> Outcome:
        at = 0 if arm is None else [waiting for waiting, _ in self.waiting].index(arm)
        arm, times = self.waiting[at]
        del self.waiting[at]
        return trained(arm, self.learners[arm], times, self.meter)

    def can_save(self, arm: int) -> bool:
        return all(callable(getattr(self.learners[arm], name, None)) for name in ("save", "load"))

    def save(self, arm: int, directory: Path) -> None:
        learner: Any = self.learners[arm]
        learner.save(directory)

    def load(self, arm: int, directory: Path) -> None:
        learner: Any = self.learners[arm]
        learner.load(directory)

    def renew(self, arm: int) -> bool:
        return False  # the learner is the user's own object: only a state that was saved brings it back

    def learner(self, arm: int) -> Learner:
        return self.learners[arm]

    def close(self) -> None:
        self.waiting.clear()

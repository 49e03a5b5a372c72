"""Where pulls run: what a session needs of a place that trains learners."""

import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from restsure.training.adapters import Learner
from restsure.training.meter import Meter

_LONGEST, _TRACE = 1_000, 20_000  # characters of an error, and of its traceback, that are kept


class Outcome(NamedTuple):
    """What came of some pulls of one candidate: their losses, as its learner gave them, or the ``error`` in one line.

    ``cost``: in the unit of the meter, None where costs are not measured; ``seconds``: how long it took. ``lost``: the place
    where it was trained is gone, through no fault of the learner that anyone knows of.
    """

    arm: int
    losses: Any
    cost: float | None
    seconds: float
    error: str | None = None
    traceback: str | None = None
    lost: bool = False


class Executor(ABC):
    """A description of where pulls run; ``open`` takes the learners there.

    ``workers``: how many pulls run side by side at the most. ``deterministic``: whether outcomes are taken in the order in
    which the pulls were asked for, so that no decision depends on which ends first. ``max_restarts``: how often a candidate
    whose place is lost is brought back in another one, beyond the retries of a run.
    """

    workers: int = 1
    deterministic: bool = True
    max_restarts: int = 0

    @abstractmethod
    def open(self, learners: Sequence[Learner], meter: Meter) -> "Crew":
        """Take the learners, all as they were given; nothing is trained yet."""


class Crew(ABC):
    """The learners of one run in the place where they are trained, each known by the number of its arm.

    A pull of an arm is submitted and collected before that arm is used again; other arms' pulls may be out meanwhile. What a
    learner does wrong is in the outcome and harms no other arm; calls raise only what is not the learner's fault. Where the
    place of a learner is gone they raise LearnerLost, and it stays gone until it is renewed.
    """

    @abstractmethod
    def submit(self, arm: int, times: int) -> None:
        """Begin ``times`` pulls of ``arm``."""

    @abstractmethod
    def collect(self, arm: int | None = None) -> Outcome:
        """Wait for the pulls of ``arm``, or for those of whichever ends first."""

    @abstractmethod
    def can_save(self, arm: int) -> bool:
        """Whether its learner has ``save`` and ``load``."""

    @abstractmethod
    def save(self, arm: int, directory: Path) -> None:
        """Have the learner write its state into an empty directory; raises what the learner raises."""

    @abstractmethod
    def load(self, arm: int, directory: Path) -> None:
        """Have the learner go on from a state that :meth:`save` wrote; raises what the learner raises."""

    @abstractmethod
    def renew(self, arm: int) -> bool:
        """Make the arm usable again after its learner failed; whether that is now as it was given, with no pull made."""

    @abstractmethod
    def learner(self, arm: int) -> Learner:
        """The learner itself, trained as far as it is, in this process."""

    @abstractmethod
    def close(self) -> None:
        """Give back what the crew holds; pulls that are out are given up. Safe to call again."""


def trained(arm: int, learner: Learner, times: int, meter: Meter) -> Outcome:
    """Make the pulls here and now; whatever the learner raises is in the outcome."""
    before, began = meter.read(learner), time.perf_counter()
    losses, error, trace = None, None, None
    try:
        losses = learner.train(times)
    except KeyboardInterrupt:
        raise
    except BaseException as raised:  # a learner that calls sys.exit ends itself only
        error, trace = one_line(raised), where()
    seconds = time.perf_counter() - began
    return Outcome(arm, losses, meter.read(learner) - before if meter.measures else None, seconds, error, trace)


def one_line(error: BaseException) -> str:
    """The kind and text of an error; whatever it says, it is short and in one line."""
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = "its text cannot be shown"
    cut = "" if len(text) <= _LONGEST else " ..."
    return f"{type(error).__name__}: {text[:_LONGEST].rstrip()}{cut}".strip()


def where() -> str:
    """The traceback of the error in hand: its beginning and its end, if it is long."""
    text = traceback.format_exc()
    return text if len(text) <= _TRACE else f"{text[: _TRACE // 2]}\n...\n{text[-_TRACE // 2 :]}"

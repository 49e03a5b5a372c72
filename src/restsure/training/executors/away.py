"""Learners that train elsewhere: what crews in processes and on clusters have in common."""

import math
from abc import abstractmethod
from collections.abc import Sequence

from restsure.errors import OutOfTurn
from restsure.training.adapters import Learner
from restsure.training.executors.base import Crew, Outcome
from restsure.training.executors.worker import Reply
from restsure.training.meter import Meter


class CrewAway(Crew):
    """Which pulls are out, and which outcomes wait to be collected.

    ``learners``: as they were given, in this process; those that train are elsewhere. A pull may take ``pull_timeout_s``.
    """

    def __init__(self, learners: Sequence[Learner], meter: Meter, pull_timeout_s: float | None):
        self.learners, self.meter, self._each_s = list(learners), meter, pull_timeout_s
        self._out, self._ended = set[int](), dict[int, Outcome]()

    def collect(self, arm: int | None = None) -> Outcome:
        while not (self._ended if arm is None else arm in self._ended):
            if not (self._out if arm is None else arm in self._out):
                raise OutOfTurn(f"arm={arm}: no pull is out")
            self._wait()
        return self._ended.pop(next(iter(self._ended)) if arm is None else arm)

    def can_save(self, arm: int) -> bool:
        return all(callable(getattr(self.learners[arm], name, None)) for name in ("save", "load"))

    @abstractmethod
    def _wait(self) -> None:
        """Until one of those at work says something, dies, or has had its time."""

    def _limit(self, arm: int, times: int) -> tuple[float, str]:
        """How many seconds so many pulls may take, and that in words; none of this arm may be out."""
        if arm in self._out or arm in self._ended:
            raise OutOfTurn(f"arm={arm}: its pull must be collected first")
        limit_s = math.inf if self._each_s is None else self._each_s * times
        return limit_s, f"{'a pull' if times == 1 else f'{times} pulls'} may take {limit_s:g} s (pull_timeout_s)"

    def _forget(self, arm: int) -> None:
        """Whatever is known of a pull of this arm."""
        self._out.discard(arm)
        self._ended.pop(arm, None)

    def _outcome(self, arm: int, reply: Reply, seconds: float, *, lost: bool = False) -> Outcome:
        """Of pulls that have ended: what the other side says, or the error."""
        if reply.error is None and isinstance(reply.value, Outcome):
            return reply.value
        cost = None if not self.meter.measures else seconds if self.meter.unit == "seconds" else 0.0
        return Outcome(arm, None, cost, seconds, reply.error, reply.traceback, lost=lost)

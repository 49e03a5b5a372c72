"""Pulls run side by side, each candidate in a process of its own."""

import math
import multiprocessing
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing import connection, util
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from restsure import checks
from restsure.errors import InvalidParameter, LearnerFailed, OutOfTurn
from restsure.training.adapters import Learner
from restsure.training.executors.away import CrewAway
from restsure.training.executors.base import Executor
from restsure.training.executors.hand import Hand
from restsure.training.executors.parcel import Depot, InMemory, judge_of
from restsure.training.executors.starting import check_place, started
from restsure.training.executors.worker import serve
from restsure.training.meter import Meter

_STATE_LIMIT_S = 600.0  # for a learner to be saved, loaded or brought back
_GRACE_S = 2.0  # in which processes at rest may end by themselves
_BYTES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


@dataclass(frozen=True)
class ProcessExecutor(Executor):
    """Train each candidate in a process of its own, ``workers`` of them at the same time.

    A learner that hangs, leaks, kills its interpreter or leaves other processes behind fails alone: its process is ended with
    all that it has started (and that has not left its group of processes), and the others go on. None is left when this
    process ends, not even when it is killed (on Linux). A process lives from the first pull of its candidate to the end, so
    there must be memory for the learners of all candidates.

    ``pull_timeout_s``: what a pull may take at the most, n pulls in a row n times that; starting a process does not count.
    ``memory_limit``: bytes, or text such as "2GB" or "512MiB", that a candidate may allocate beyond what its process holds
    when its learner has been set up (Linux; memory of a GPU does not count).

    ``deterministic``: outcomes are taken in the order in which the pulls were asked for. Otherwise they are taken as they come,
    which keeps workers busier, and decisions may depend on which came first.

    ``start_method``: "spawn" and "forkserver" send learners by pickle, so that their classes and functions must be at the top
    level of a module, and a script must begin to train under ``if __name__ == "__main__":``. Arrays, sparse matrices, data
    frames of numbers and tensors are mapped instead of sent: they are in memory once, however many candidates there are.
    "fork" copies this process as it is, with closures and generators; it may deadlock if this process has threads, those
    of numerical libraries included, and cannot be used with a GPU.

    Losses are the same as in this process, to the bit, for learners that draw from random generators of their own, with one
    exception: numerical libraries get as many threads as there are cores for each worker, unless the environment says
    otherwise (OMP_NUM_THREADS and the like), and sums over large matrices may depend on the number of threads.

    >>> ProcessExecutor(workers=4, pull_timeout_s=30, memory_limit="2GB").memory_bytes
    2000000000
    """

    workers: int = 2
    pull_timeout_s: float | None = None
    memory_limit: int | str | None = None
    deterministic: bool = True
    start_method: str = "spawn"

    def __post_init__(self) -> None:
        checks.whole("workers", self.workers, at_least=1)
        if self.pull_timeout_s is not None:
            checks.real("pull_timeout_s", self.pull_timeout_s, above=0)
        if self.memory_bytes is not None and not sys.platform.startswith("linux"):
            raise InvalidParameter(
                f"memory_limit={self.memory_limit!r}: must be None on {sys.platform}, only Linux has it"
            )
        checks.instance("deterministic", self.deterministic, bool)
        checks.choice("start_method", self.start_method, multiprocessing.get_all_start_methods())

    @property
    def memory_bytes(self) -> int | None:
        """The memory limit in bytes."""
        limit = self.memory_limit
        if limit is None:
            return None
        if not isinstance(limit, str):
            return checks.whole("memory_limit", limit, at_least=1)
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?i?)b", limit.strip().lower())
        if not found or found[2] not in _BYTES or float(found[1]) * _BYTES[found[2]] < 1:
            raise InvalidParameter(
                f"memory_limit={limit!r}: must be a number of bytes, or text such as '2GB' or '512MiB'"
            )
        return int(float(found[1]) * _BYTES[found[2]])

    def open(self, learners: Sequence[Learner], meter: Meter) -> "ProcessCrew":
        check_place(self.start_method)
        return ProcessCrew(self, learners, meter)


class ProcessCrew(CrewAway):
    """Learners in processes of their own, each started when it is first used."""

    def __init__(self, executor: ProcessExecutor, learners: Sequence[Learner], meter: Meter):
        super().__init__(learners, meter, executor.pull_timeout_s)
        self.executor, self._depot, self._hands = executor, Depot(), dict[int, Hand]()
        # run once: when called, when the crew is forgotten, or at the end of this process before it waits for its children
        self._shut = util.Finalize(self, _shut, (self._hands, self._depot), exitpriority=1)
        try:
            if executor.start_method != "fork":
                self._depot.pack(learners)
        except BaseException:
            self.close()
            raise

    def submit(self, arm: int, times: int) -> None:
        limit_s, what = self._limit(arm, times)
        hand = self._hand(arm)
        hand.ask("train", times, limit_s, what)
        self._out.add(arm)
        self._take(arm, hand)

    def save(self, arm: int, directory: Path) -> None:
        self._ask(arm, "save", str(Path(directory).absolute()), "saving")

    def load(self, arm: int, directory: Path) -> None:
        self._ask(arm, "load", str(Path(directory).absolute()), "loading")

    def renew(self, arm: int) -> bool:
        hand = self._hands.pop(arm, None)
        if hand is not None:
            hand.stop()
        self._forget(arm)
        return True

    def learner(self, arm: int) -> Learner:
        if arm not in self._hands:
            return self.learners[arm]  # as it was given
        try:
            found: Learner = self._ask(arm, "learner", None, "bringing it back")
        except LearnerFailed:
            if self._hands[arm].dead or not self.can_save(arm):
                raise
            found = self.learners[arm]
            with TemporaryDirectory(prefix="restsure-") as directory:
                self.save(arm, Path(directory))
                found.load(Path(directory))  # type: ignore[attr-defined]
        return found

    def close(self) -> None:
        self._shut()

    def _hand(self, arm: int) -> Hand:
        """The process of an arm, started now if there is none."""
        if not self._shut.still_active():
            raise OutOfTurn("the crew is closed")
        if arm in self._hands:
            return self._hands[arm]
        forked = self.executor.start_method == "fork"
        source = InMemory(self.learners[arm]) if forked else self._depot.parcels[arm]
        arguments = source, arm, self.meter, self.executor.memory_bytes
        process, pipe = started(self.executor.start_method, self.executor.workers, serve, arguments)
        self._hands[arm] = Hand(process, pipe, judge_of(self.learners[arm]))
        return self._hands[arm]

    def _ask(self, arm: int, verb: str, argument: Any, what: str) -> Any:
        """What the process of an arm answers; raises what went wrong there."""
        hand = self._hand(arm)
        while hand.at_work:
            self._wait()
        hand.ask(verb, argument, _STATE_LIMIT_S, f"{what} may take {_STATE_LIMIT_S:g} s")
        while hand.at_work:
            self._wait()
        if hand.reply.os_error is not None:
            raise OSError(*hand.reply.os_error)
        if hand.reply.error is not None:
            raise LearnerFailed(hand.reply.error)
        return hand.reply.value

    def _wait(self) -> None:
        """Until one of the processes at work says something or dies, or its time is over."""
        at_work = {arm: hand for arm, hand in self._hands.items() if hand.at_work}
        left = min(hand.deadline for hand in at_work.values()) - time.monotonic()
        connection.wait([hand.connection for hand in at_work.values()], None if math.isinf(left) else max(left, 0))
        for arm, hand in at_work.items():
            hand.look()
            self._take(arm, hand)

    def _take(self, arm: int, hand: Hand) -> None:
        """Keep the outcome of a pull that has ended."""
        if hand.at_work or arm not in self._out:
            return
        self._out.remove(arm)
        outcome = self._outcome(arm, hand.reply, hand.seconds)
        limit = self.executor.memory_limit
        if limit is not None and outcome.error is not None and outcome.error.startswith("MemoryError"):
            outcome = outcome._replace(error=f"{outcome.error} (memory_limit={limit!r})")
        self._ended[arm] = outcome


def _shut(hands: dict[int, Hand], depot: Depot) -> None:
    """Give up what is at work, let what rests end by itself for a moment, and then nothing is left."""
    at_rest = [hand for hand in hands.values() if not hand.at_work]
    try:
        for hand in hands.values():
            if hand.at_work:
                hand.stop()
        for hand in at_rest:
            hand.rest(0)
        until = time.monotonic() + _GRACE_S
        for hand in at_rest:
            hand.rest(max(until - time.monotonic(), 0))
    finally:
        for hand in hands.values():
            hand.stop()
        hands.clear()
        depot.close()

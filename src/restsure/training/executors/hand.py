"""A process with one learner, as the process that started it sees it."""

import math
import os
import pickle
import signal
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from restsure.errors import InvalidParameter
from restsure.training.adapters import Judge
from restsure.training.executors.parcel import loads
from restsure.training.executors.starting import SCRIPT_RULE, UNGUARDED
from restsure.training.executors.worker import Reply

START_LIMIT_S = 60.0  # for the imports of a script and its learner, on a machine that is busy
_KILL_LIMIT_S = 5.0  # a process that the kernel does not end within that is left behind


class Hand:
    """One request at a time: ``ask``, then ``look`` when the connection has something or the deadline has come.

    The clock of a request begins when the process is ready for it. A process that has died, or was stopped, answers
    everything by saying so.
    """

    def __init__(self, process: BaseProcess, connection: "Connection[Any, Any]", judge: Judge | None):
        self.process: BaseProcess | None = process
        self.connection, self.judge = connection, judge
        self.ready, self.at_work, self.dead = False, False, ""
        self.reply, self.began, self.seconds = Reply(), time.monotonic(), 0.0
        self.deadline, self._rule = self.began + START_LIMIT_S, f"it may take {START_LIMIT_S:g} s to start"
        self._limit, self._what = math.inf, ""

    def ask(self, verb: str, argument: Any, limit_s: float, what: str) -> None:
        """Send a request that may take ``limit_s`` seconds; ``what`` says it in words."""
        self._limit, self._what, self.at_work = limit_s, what, True
        if self.ready:
            self._begin()
        if self.dead:
            self._end(Reply(error=self.dead))
            return
        with suppress(OSError):  # it has died, as the next look will find
            self.connection.send_bytes(pickle.dumps((verb, argument)))

    def look(self) -> None:
        """Take in what has come; what has died or is over its time is ended and says so."""
        try:
            while self.at_work and self.connection.poll():
                self._hear(self.connection.recv_bytes())
        except (EOFError, OSError):
            self._bury(f"died{'' if self.ready else ' while starting'}: {_how(self.stop(), self.ready)}")
        elapsed = time.monotonic() - self.began
        if self.at_work and time.monotonic() >= self.deadline:
            self.stop()
            self._bury(f"was stopped after {elapsed:.3g} s: {self._rule}")

    def rest(self, limit_s: float) -> None:
        """Let the process end by itself, having nothing to do, within so many seconds."""
        if self.process is not None:
            self.connection.close()
            self.process.join(limit_s)

    def stop(self) -> int | None:
        """End the process and all others of its group at once; its exit code, if it has ended now."""
        process, self.process = self.process, None
        if process is None or process.pid is None:
            return None
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()  # it may have died before it had a group of its own
        self.connection.close()
        process.join(_KILL_LIMIT_S)
        code = process.exitcode
        if code is not None:
            process.close()
        return code

    def _hear(self, data: bytes) -> None:
        try:
            reply: Reply = loads(data, self.judge)
        except Exception as error:
            why = " ".join(f"{type(error).__name__}: {error}".split())
            reply = Reply(error=f"what it gives back cannot be read ({why})")
        if self.ready:
            self._end(reply)
        elif reply.error is None:
            self.ready = True
            self._begin()
        else:
            self.stop()
            self.dead = f"could not be set up in its process ({reply.error})"
            self._end(Reply(None, self.dead, reply.traceback))

    def _begin(self) -> None:
        self.began = time.monotonic()
        self.deadline, self._rule = self.began + self._limit, self._what

    def _bury(self, how: str) -> None:
        self.dead = f"the process of this candidate {how}"
        self._end(Reply(error=self.dead))

    def _end(self, reply: Reply) -> None:
        self.reply, self.at_work = reply, False
        self.seconds = time.monotonic() - self.began if self.ready else 0.0


def _how(code: int | None, ready: bool) -> str:
    if code == UNGUARDED and not ready:
        raise InvalidParameter(SCRIPT_RULE) from None
    if code is None:
        return "nobody knows how"
    if code >= 0:
        return f"exit code {code}"
    with suppress(ValueError):
        return f"signal {-code} ({signal.Signals(-code).name})"
    return f"signal {-code}"

"""The other side of a process executor: the process that has one learner, and does what it is told through a pipe."""

import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from restsure.training.adapters import Judge
from restsure.training.executors.base import one_line, trained, where
from restsure.training.executors.parcel import InMemory, Parcel, dumps
from restsure.training.meter import Meter

ANSWER = 1 << 26  # bytes of an answer that the other side is ready to read: millions of losses
_FIRST_FREE = 200  # descriptors below are the learner's: some close what they do not know


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a request: a value, or the error in one line; the arguments of an OSError, if it was one."""

    value: Any = None
    error: str | None = None
    traceback: str | None = None
    os_error: tuple[Any, ...] | None = None


def serve(
    connection: "Connection[Any, Any]", source: Parcel | InMemory, arm: int, meter: Meter, memory: int | None
) -> None:
    """Set the learner up, say whether that went well, and answer requests (verb, argument) until the pipe ends."""
    connection = _stand_alone(connection)
    with suppress(EOFError, OSError):  # whoever asked is gone
        reply = attempt(source.unpack)
        connection.send_bytes(pickle.dumps(replace(reply, value=None)))
        if reply.error is None:
            learner, judge = reply.value
            _answer(connection, learner, judge, arm, meter, memory)


def _answer(
    connection: "Connection[Any, Any]", learner: Any, judge: Judge | None, arm: int, meter: Meter, memory: int | None
) -> None:
    verbs: dict[str, Callable[[Any], Any]] = {
        "train": lambda times: trained(arm, learner, times, meter),
        "save": lambda directory: learner.save(Path(directory)),
        "load": lambda directory: learner.load(Path(directory)),
        "learner": lambda _: learner,
    }
    most = None if memory is None else _data_bytes() + memory
    while True:
        verb, argument = pickle.loads(connection.recv_bytes())
        with _at_most(most):
            reply = attempt(verbs[verb], argument)
        packed = attempt(dumps, reply, judge)
        if packed.error is not None:
            why = f"what it gives back cannot be sent ({packed.error})"
            packed = Reply(pickle.dumps(Reply(None, why, packed.traceback)))
        elif verb == "train" and len(packed.value) > ANSWER:
            why = f"losses: must be {argument} numbers, but are {len(packed.value):,} bytes"
            packed = Reply(pickle.dumps(Reply(None, why)))
        _flush()
        connection.send_bytes(packed.value)


def attempt(action: Callable[..., Any], *arguments: Any) -> Reply:
    """Whatever is raised is the answer."""
    try:
        return Reply(action(*arguments))
    except BaseException as raised:
        return _failure(raised)


def _failure(raised: BaseException) -> Reply:
    os_error = None
    if isinstance(raised, OSError):
        known = raised.errno is not None
        os_error = (raised.errno, str(raised.strerror), str(raised.filename or "") or None) if known else (str(raised),)
    return Reply(None, one_line(raised), where(), os_error)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):  # closed, or taken away
            stream.flush()


def _stand_alone(connection: "Connection[Any, Any]") -> "Connection[Any, Any]":
    """Be a group of processes of one's own, which the other side can end as a whole, and which ends with it.

    The pipe from the other side ends when that does, however it ends. The kernel then signals this group (on Linux), so that
    a learner in the middle of a pull goes too, with whatever it has started. Ctrl-C is for the other side to act on.
    """
    import fcntl  # not everywhere, where this module is imported

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    os.setpgid(0, 0)
    other = parent_process()
    if other is not None and hasattr(fcntl, "F_SETSIG"):
        life = fcntl.fcntl(other.sentinel, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE)
        fcntl.fcntl(life, fcntl.F_SETOWN, -os.getpid())
        fcntl.fcntl(life, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(life, fcntl.F_SETFL, fcntl.fcntl(life, fcntl.F_GETFL) | os.O_ASYNC)
        if not other.is_alive():  # it ended before the kernel was told
            os._exit(1)
    moved: Connection[Any, Any] = Connection(fcntl.fcntl(connection.fileno(), fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE))
    connection.close()
    os.register_at_fork(after_in_child=moved.close)  # the pipe must end with this process, not with one it has started
    return moved


@contextmanager
def _at_most(most: int | None) -> Iterator[None]:
    """Within, this process holds ``most`` bytes of data; the answer is then given without a limit."""
    if most is None:
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _data_bytes() -> int:
    """What this process holds of what RLIMIT_DATA counts."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1_024 for line in lines if line.startswith("VmData:"))

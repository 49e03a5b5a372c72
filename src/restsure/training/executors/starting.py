"""How a process of one's own is started, and from where it can be."""

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker, util
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from restsure.errors import InvalidParameter

UNGUARDED = 79  # the exit code of a process that ran a script which begins to train whenever it is run
SCRIPT_RULE = (
    'executor=ProcessExecutor: a script must begin to train under `if __name__ == "__main__":`, since each process runs the '
    "script again to know its names"
)
_NAME = "restsure candidate"
_THREADS = [f"{library}_NUM_THREADS" for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR")] + ["VECLIB_MAXIMUM_THREADS"]


def check_place(start_method: str) -> None:
    """Whether processes can be started from here."""
    if os.name != "posix":
        raise InvalidParameter(f"executor=ProcessExecutor: must be InProcess on {os.name}, which has no process groups")
    process = multiprocessing.current_process()
    if process.daemon:
        raise InvalidParameter(
            "executor=ProcessExecutor: must be InProcess in a daemonic process, which starts no others"
        )
    if getattr(process, "_inheriting", False):  # a script is run again, to know its names, and has got as far as here
        if process.name.startswith(_NAME):
            os._exit(UNGUARDED)
        raise InvalidParameter(SCRIPT_RULE)
    script = getattr(sys.modules["__main__"], "__file__", None)
    if start_method != "fork" and script is not None and not Path(script).exists():
        raise InvalidParameter(
            f"executor=ProcessExecutor: the script {script!r} must be a file, since each process runs it again"
        )


def started(
    start_method: str, workers: int, target: Callable[..., None], arguments: tuple[Any, ...]
) -> tuple[BaseProcess, "Connection[Any, Any]"]:
    """A process that calls ``target`` with its end of a pipe and ``arguments``; and our end of the pipe."""
    context: Any = multiprocessing.get_context(start_method)
    here, there = context.Pipe()
    util.register_after_fork(here, Connection.close)  # a forked process must not keep this end of the pipe open
    # not a daemon: a learner may have processes of its own, such as those that load its batches
    process = context.Process(target=target, args=(there, *arguments), name=_NAME, daemon=False)
    try:
        with _handed_down(start_method, workers):
            process.start()
    finally:
        there.close()
    return process, here


@contextmanager
def _handed_down(start_method: str, workers: int) -> Iterator[None]:
    """What a process takes over as it starts: Ctrl-C is held back until it ignores it, and threads are few enough."""
    if start_method != "fork":
        resource_tracker.ensure_running()  # starting that later would let Ctrl-C through
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    said = any(name in os.environ for name in _THREADS)
    new = {} if said else dict.fromkeys(_THREADS, str(max(cores // workers, 1)))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    os.environ.update(new)
    try:
        yield
    finally:
        for name in new:
            os.environ.pop(name, None)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

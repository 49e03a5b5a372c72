"""Learners that a process of its own can be given, good and bad: all at the top level, since they travel by name."""

import ctypes
import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing import util
from pathlib import Path
from typing import Any

import numpy as np

from restsure.training.adapters import BatchLearner, Judge


class Counter:
    """A learner whose loss is 1 / pulls; it can be saved."""

    def __init__(self, pulls: int = 0):
        self.pulls = pulls

    @property
    def samples(self) -> int:
        return 10 * self.pulls

    def train(self, times: int) -> Any:
        losses = []
        for _ in range(times):
            self.pulls += 1
            losses.append(1 / self.pulls)
        return losses

    def save(self, directory: Path) -> None:
        (directory / "pulls").write_text(str(self.pulls))

    def load(self, directory: Path) -> None:
        self.pulls = int((directory / "pulls").read_text())


class Plain:
    """A learner that cannot be saved."""

    def train(self, times: int) -> list[float]:
        return [0.5] * times


class MeanLearner(BatchLearner):
    """Predicts the mean so far; as light as a learner from batches can be."""

    def __init__(self, judge: Judge):
        super().__init__(None, {"sum": 0.0}, judge)

    def classifies(self) -> bool:
        return False

    def learn(self, x: Any, y: Any) -> None:
        self.model["sum"] += float(y.sum())

    def predict(self, x: Any) -> Any:
        return np.full(len(x), self.model["sum"] / self.samples)

    def probabilities(self, x: Any) -> Any:
        raise NotImplementedError


class Doing(Counter):
    """A counter that does something else first whenever it trains; what that returns is its answer, if it returns anything."""

    def __init__(self, deed: Callable[[], Any]):
        super().__init__()
        self.deed = deed

    def train(self, times: int) -> Any:
        answer = self.deed()
        return super().train(times) if answer is None else answer


class Silent(Counter):
    def train(self, times: int) -> None:
        super().train(times)


class SavesBadly(Counter):
    """``save`` and ``load`` do something else."""

    def __init__(self, deed: Callable[[], Any]):
        super().__init__()
        self.deed = deed

    def save(self, directory: Path) -> None:
        self.deed()

    def load(self, directory: Path) -> None:
        self.deed()


class StaysThere(Counter):
    """Once trained it has what no pickle can hold; its state can be saved."""

    def train(self, times: int) -> Any:
        self.lock = threading.Lock()
        return super().train(times)


class StaysThereUnsaved(Plain):
    def train(self, times: int) -> list[float]:
        self.lock = threading.Lock()
        return super().train(times)


class SetUp(Counter):
    """Does something when it is unpickled."""

    def __init__(self, deed: Callable[[], Any]):
        super().__init__()
        self.deed = deed

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.deed()


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def segfault() -> None:
    ctypes.string_at(0)


def exit_at_once() -> None:
    os._exit(3)


def leave() -> None:
    sys.exit(4)


def leave_in_words() -> None:
    sys.exit("that is all")


def leave_with_a_thread_that_does_not_end() -> None:
    threading.Thread(target=threading.Event().wait).start()
    sys.exit(5)


def kill_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def interrupt() -> None:
    raise KeyboardInterrupt


def hang() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(3600)


def deadlock() -> None:
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


def hold_the_interpreter() -> None:
    """Native code that never gives the interpreter back, so that no thread and no handler of Python can help."""
    ctypes.PyDLL(None).pause()


def recurse() -> None:
    recurse()


def leak() -> None:
    held = []
    while True:
        held.append(bytearray(1 << 20))


def ask_for_a_terabyte() -> None:
    np.zeros(1 << 37)


def take_30_megabytes() -> None:
    assert len(bytearray(30 << 20)) == 30 << 20


def raise_lines() -> None:
    raise ValueError("one\n  two\n" + "three " * 10_000)


def raise_unprintable() -> None:
    raise Unprintable


def run_out_of_disk() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "somewhere")


def raise_plain_os_error() -> None:
    raise OSError("no number")


def make_noise() -> None:
    print("noise on stdout")
    os.write(1, b"noise on descriptor 1\n")
    subprocess.run(["echo", "noise of another process"], check=True)


def close_descriptors() -> None:
    os.closerange(0, 21)


def close_everything() -> None:
    os.closerange(0, 65_536)


def go_elsewhere() -> None:
    os.chdir("/")


def fork_a_sleeper(path: str, then: Callable[[], None]) -> None:
    """Start processes that outlive this one, in two ways; their numbers are left in a file."""
    if (forked := os.fork()) == 0:
        time.sleep(3600)
    started = subprocess.Popen(["sleep", "3600"])
    started.returncode = 0  # nobody will wait for it
    Path(path).write_text(f"{forked} {started.pid}")
    then()


def tell_pids(path: str) -> None:
    """Leave one's own number and that of a child in a file, and hang."""
    fork_a_sleeper(path, lambda: None)
    Path(path).write_text(f"{os.getpid()} {Path(path).read_text()}")
    hold_the_interpreter()


def write_at_the_end(path: str) -> None:
    util.Finalize(None, Path(path).write_text, ["done"], exitpriority=0)


def nap() -> None:
    time.sleep(1.2)


def threads() -> str:
    return os.environ.get("OMP_NUM_THREADS", "") + os.environ.get("OPENBLAS_NUM_THREADS", "")


def signals() -> list[bool]:
    return [signal.getsignal(signal.SIGINT) == signal.SIG_IGN, os.getpgrp() == os.getpid()]


def text() -> str:
    return "no losses"


def nan() -> list[float]:
    return [float("nan")]


def too_many() -> list[float]:
    return [0.5] * 100


def huge() -> bytes:
    return bytes(80 << 20)


def unsendable() -> Any:
    return (loss for loss in [0.5])


def gone(pid: int) -> bool:
    """Whether a process has ended, be it that nobody has asked yet how."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def wait_for(condition: Callable[[], bool], limit_s: float = 30) -> bool:
    """Whether it becomes true in time."""
    until = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True

"""A learner in an actor: how it gets there, what is done with it, and how it comes back.

Only what this process and its own actors have just written to each other is unpickled here, never a file of anyone else.
"""

import io
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from pickle import PickleBuffer
from tempfile import TemporaryDirectory
from types import FunctionType
from typing import Any

import numpy as np
import ray
from ray.cloudpickle import CloudPickler

from restsure.errors import WrongType
from restsure.training.adapters import Judge, Learner
from restsure.training.executors.base import trained
from restsure.training.executors.parcel import ALIGNMENT, LARGE, Pickler, Unpickler, judge_of
from restsure.training.executors.worker import ANSWER, Reply, attempt
from restsure.training.meter import Meter
from restsure.training.stream import ArrayStream

Files = dict[str, bytes]  # what is in a directory, by path


@dataclass(frozen=True)
class Luggage:
    """A learner, and what it shares with others, on its way to an actor: references to what is in the object store."""

    body: Any
    judge: Any
    fixed: tuple[bool, ...]
    buffers: tuple[Any, ...]


class Shelf:
    """What actors are set up from: a judge, and memory that several learners refer to, is put into the object store once."""

    def __init__(self, learners: Sequence[Learner]):
        self._judges, self._places = dict[int, Any](), dict[tuple[int, int], Any]()
        self._kept = list[memoryview]()  # an address names a buffer for as long as that lives
        self.luggage = [self._pack(arm, learner) for arm, learner in enumerate(learners)]
        self._kept.clear()
        self._places.clear()

    def moved(self, arm: int, body: Any) -> Luggage:
        """The same learner, packed again by :meth:`Place.pack`."""
        return Luggage(body, self.luggage[arm].judge, (), ())

    def _pack(self, arm: int, learner: Learner) -> Luggage:
        judge, buffers = judge_of(learner), list[tuple[Any, bool]]()
        if judge is not None and id(judge) not in self._judges:
            advice = "give arrays or a sequence of batches"
            self._judges[id(judge)] = _sent("data and loss", advice, ray.put, judge)
        who = f"candidates: number {arm} ({type(getattr(learner, 'model', learner)).__name__})"
        body = _sent(who, "give what can be pickled", _packed, learner, judge, lambda it: self._keep(it, buffers))
        return Luggage(
            ray.put(body),
            self._judges.get(id(judge)),
            tuple(fixed for _, fixed in buffers),
            tuple(buffer for buffer, _ in buffers),
        )

    def _keep(self, buffer: PickleBuffer, buffers: list[tuple[Any, bool]]) -> bool:
        """Whether the buffer goes into the pickle itself, being small."""
        raw = buffer.raw()
        if raw.nbytes < LARGE:
            return True
        flat = np.frombuffer(raw, np.uint8)
        key = flat.__array_interface__["data"][0], raw.nbytes
        if key not in self._places:
            self._places[key] = ray.put(flat)
            self._kept.append(raw)
        buffers.append((self._places[key], raw.readonly))
        return False


class Place:
    """The actor: it has one learner, and does what it is told; whatever goes wrong is in the reply."""

    def __init__(self, meter: Meter):
        self.arm, self.meter = 0, meter
        self.learner: Any = None
        self.judge: Judge | None = None

    def set_up(self, arm: int, body: bytes, judge: Judge | None, fixed: tuple[bool, ...], *buffers: Any) -> bytes:
        self.arm = arm
        # batches of an array are copies; others are handed to the learner, and what is in the object store is read-only
        self.judge = judge if judge is None or isinstance(judge.stream, ArrayStream) else deepcopy(judge)
        memory = [each if fix else _own(each) for each, fix in zip(buffers, fixed, strict=True)]
        reply = attempt(lambda: Unpickler(io.BytesIO(body), self.judge, memory).load())
        self.learner = reply.value
        return self._said(Reply(None, reply.error, reply.traceback))

    def train(self, times: int) -> bytes:
        said = self._said(attempt(trained, self.arm, self.learner, times, self.meter))
        if len(said) > ANSWER:
            return self._said(Reply(error=f"losses: must be {times} numbers, but are {len(said):,} bytes"))
        return said

    def save(self) -> bytes:
        return self._said(attempt(saved, self.learner))

    def load(self, files: Files) -> bytes:
        return self._said(attempt(loaded, self.learner, files))

    def pack(self) -> tuple[bytes, bytes]:
        """A reply without the learner, and the learner: that is for the next actor, and need not pass through the driver."""
        reply = attempt(_packed, self.learner, self.judge)
        return self._said(Reply(None, reply.error, reply.traceback)), reply.value or b""

    def _said(self, reply: Reply) -> bytes:
        said = attempt(_packed, reply, self.judge)
        if said.error is not None:
            return _packed(Reply(None, f"what it gives back cannot be sent ({said.error})", said.traceback), None)
        answer: bytes = said.value
        return answer


def saved(learner: Any) -> Files:
    """The files that a learner's ``save`` writes."""
    with TemporaryDirectory(prefix="restsure-") as directory:
        learner.save(Path(directory))
        return read_files(Path(directory))


def loaded(learner: Any, files: Files) -> None:
    """Have a learner go on from files that its ``save`` wrote."""
    with TemporaryDirectory(prefix="restsure-") as directory:
        write_files(Path(directory), files)
        learner.load(Path(directory))


def read_files(directory: Path) -> Files:
    """All that is in a directory."""
    found = sorted(path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in found}


def write_files(directory: Path, files: Mapping[str, bytes]) -> None:
    """The same in another directory."""
    for name, content in files.items():
        path = directory / PurePosixPath(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


class _RayPickler(Pickler, CloudPickler):  # type: ignore[misc]
    """As to a process, but what is defined in a script or a notebook goes by value."""

    def reducer_override(self, thing: Any) -> Any:
        found = NotImplemented
        if not isinstance(thing, (type, FunctionType)):
            found = Pickler.reducer_override(self, thing)
        return CloudPickler.reducer_override(self, thing) if found is NotImplemented else found


def _packed(thing: Any, judge: Judge | None, keep: Callable[[PickleBuffer], bool] | None = None) -> bytes:
    """All of it but the judge, as bytes."""
    _RayPickler(file := io.BytesIO(), judge, keep).dump(thing)
    return file.getvalue()


def _own(buffer: Any) -> memoryview:
    """A copy that can be written to, in memory aligned as numerical libraries like it."""
    room = np.empty(buffer.nbytes + ALIGNMENT, np.uint8)
    start = -room.__array_interface__["data"][0] % ALIGNMENT
    room[start : start + buffer.nbytes] = buffer
    return memoryview(room[start : start + buffer.nbytes])  # type: ignore[arg-type]


def _sent(who: str, advice: str, send: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return send(*arguments)
    except (OSError, MemoryError, ray.exceptions.RayError):  # of this machine, or of the cluster
        raise
    except Exception as error:
        why = " ".join(f"{type(error).__name__}: {error}".split())
        raise WrongType(f"{who} cannot be sent to an actor ({why}); {advice}, or train in this process") from error

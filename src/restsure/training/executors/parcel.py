"""A learner on its way to a process of its own and back: what many learners share is written once, and mapped by all.

Only what this process and its own children have just written to each other is unpickled here, never a file of anyone else.
"""

import io
import mmap
import os
import pickle
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from types import FunctionType
from typing import Any

import numpy as np

from restsure.errors import WrongType
from restsure.training.adapters import BatchLearner, Judge, Learner

LARGE = 1 << 16  # bytes from which a buffer is mapped instead of copied
ALIGNMENT = 64  # bytes: what numerical libraries ask of memory at the most
Span = tuple[int, int]  # where something begins in a file, and its size


@dataclass(frozen=True)
class InMemory:
    """A learner that a forked process has already."""

    learner: Learner

    def unpack(self) -> tuple[Learner, Judge | None]:
        """The learner, and the judge that it shares with others."""
        return self.learner, judge_of(self.learner)


class SharedFile:
    """A file without a name, for this process and its own: it is gone when they are, however they end."""

    def __init__(self, file: Any):
        self.file = file

    def __reduce__(self) -> Any:
        from multiprocessing.reduction import DupFd  # not everywhere, where this module is imported

        return _Mapped, (DupFd(self.file.fileno()),)

    def memory(self) -> memoryview:
        """All of it, copied page by page when written to: nobody else sees what is written."""
        return memoryview(mmap.mmap(self.file.fileno(), 0, access=mmap.ACCESS_COPY))


class _Mapped:
    """The same in another process."""

    def __init__(self, descriptor: Any):
        with os.fdopen(descriptor.detach(), "rb") as file:
            self._memory = SharedFile(file).memory()

    def memory(self) -> memoryview:
        return self._memory


@dataclass(frozen=True)
class Parcel:
    """A learner, and the judge that it shares with others, in a file that has those of the others too."""

    file: SharedFile
    learner: Span
    judge: Span | None

    def unpack(self) -> tuple[Learner, Judge | None]:
        """The learner, and the judge that it shares with others."""
        memory = self.file.memory()
        judge = None if self.judge is None else _read(memory, self.judge, None)
        return _read(memory, self.learner, judge), judge


def _read(memory: memoryview, span: Span, judge: Judge | None) -> Any:
    file = io.BytesIO(_part(memory, span))
    buffers = [_part(memory, span).toreadonly() if fixed else _part(memory, span) for span, fixed in pickle.load(file)]
    return Unpickler(file, judge, buffers).load()


def _part(memory: memoryview, span: Span) -> memoryview:
    start, size = span
    return memory[start : start + size]


class Depot:
    """Where parcels are made; memory that several learners refer to is written once. Close it when no one needs them."""

    def __init__(self) -> None:
        self.file = TemporaryFile()  # noqa: SIM115
        self.parcels = list[Parcel]()
        self._judges, self._places = dict[int, Span](), dict[tuple[int, int], Span]()
        self._kept = list[memoryview]()  # an address names a buffer for as long as that lives

    def pack(self, learners: Sequence[Learner]) -> None:
        """Make a parcel of each; a learner that cannot be sent is refused."""
        for arm, learner in enumerate(learners):
            judge = judge_of(learner)
            if judge is not None and id(judge) not in self._judges:
                advice = "give arrays or a sequence of batches, and a loss from the top level of a module"
                self._judges[id(judge)] = self._write(judge, None, "data and loss", advice)
            who = f"candidates: number {arm} ({type(getattr(learner, 'model', learner)).__name__})"
            span = self._write(learner, judge, who, "define it at the top level of a module")
            self.parcels.append(Parcel(SharedFile(self.file), span, self._judges.get(id(judge))))
        self.file.flush()
        self._kept.clear()
        self._places.clear()

    def close(self) -> None:
        """The file is gone, once nobody maps it any more."""
        self.file.close()

    def _write(self, thing: Any, judge: Judge | None, who: str, advice: str) -> Span:
        buffers = list[tuple[Span, bool]]()
        try:
            Pickler(body := io.BytesIO(), judge, lambda buffer: self._keep(buffer, buffers)).dump(thing)
        except (OSError, MemoryError):  # of this machine
            raise
        except Exception as error:
            why = " ".join(f"{type(error).__name__}: {error}".split())
            raise WrongType(
                f"{who} cannot be sent to a process of its own ({why}); {advice}, or train in this process"
            ) from error
        return self._append(pickle.dumps(buffers) + body.getbuffer())

    def _keep(self, buffer: pickle.PickleBuffer, buffers: list[tuple[Span, bool]]) -> bool:
        """Whether the buffer goes into the pickle itself, being small."""
        raw = buffer.raw()
        if raw.nbytes < LARGE:
            return True
        key = np.frombuffer(raw, np.uint8).__array_interface__["data"][0], raw.nbytes
        if key not in self._places:
            self._places[key] = self._append(raw)
            self._kept.append(raw)
        buffers.append((self._places[key], raw.readonly))
        return False

    def _append(self, data: bytes | memoryview) -> Span:
        self.file.write(bytes(-self.file.tell() % ALIGNMENT))
        start = self.file.tell()
        return start, self.file.write(data)


def judge_of(learner: Learner) -> Judge | None:
    """The judge that a learner shares with others."""
    return learner.judge if isinstance(learner, BatchLearner) else None


def dumps(thing: Any, judge: Judge | None) -> bytes:
    """All of it but the judge, as bytes."""
    Pickler(file := io.BytesIO(), judge).dump(thing)
    return file.getvalue()


def loads(data: bytes, judge: Judge | None) -> Any:
    """What :func:`dumps` wrote, with this judge."""
    return Unpickler(io.BytesIO(data), judge).load()


class Pickler(pickle.Pickler):
    """Protocol 5, with the judge and torch's own generators by name: the other process has them, or its own."""

    def __init__(
        self, file: Any, judge: Judge | None, keep: "Callable[[pickle.PickleBuffer], bool] | None" = None
    ) -> None:
        super().__init__(file, protocol=5, buffer_callback=keep)
        self.judge, self.sends = judge, keep is not None

    def persistent_id(self, thing: Any) -> Any:
        if thing is self.judge and thing is not None:
            return "judge"
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(thing, torch.Generator):
            own = (torch.default_generator, *torch.cuda.default_generators)
            return next((number for number, generator in enumerate(own) if generator is thing), None)
        return None

    def reducer_override(self, thing: Any) -> Any:
        if isinstance(thing, (type, FunctionType)) and thing.__module__ == "__main__" and self.sends:
            if not _script_is_a_file():
                raise pickle.PicklingError(f"{thing.__qualname__} is defined in __main__, which is not a file")
        elif type(thing) is np.ndarray and self.sends:
            if thing.nbytes >= LARGE and not thing.flags.forc and not thing.dtype.hasobject:
                return thing.copy(order="K").__reduce_ex__(5)  # only what is contiguous can be mapped
        elif (torch := sys.modules.get("torch")) is not None and type(thing) is torch.Tensor:
            return self._tensor(thing)
        return NotImplemented

    def _tensor(self, tensor: Any) -> Any:
        """A plain tensor as an array: by itself, torch would copy all of the memory that a slice is taken from."""
        try:
            if tensor.requires_grad or tensor.device.type != "cpu" or tensor.__dict__ or not tensor.is_contiguous():
                return NotImplemented
            array = tensor.numpy()
        except (TypeError, RuntimeError):  # sparse, or of a type that numpy does not have
            return NotImplemented
        return (_shared_tensor if self.sends and array.nbytes >= LARGE else _own_tensor), (array,)


class Unpickler(pickle.Unpickler):
    """The other side of it, with the judge, and the generators, of this process."""

    def __init__(self, file: Any, judge: Judge | None, buffers: Sequence[memoryview] = ()) -> None:
        super().__init__(file, buffers=buffers)
        self.judge = judge

    def persistent_load(self, name: Any) -> Any:
        if name == "judge":
            return self.judge
        torch = import_module("torch")
        if name == 0:
            return torch.default_generator
        torch.cuda.init()
        return torch.cuda.default_generators[name - 1]


def _shared_tensor(array: Any) -> Any:
    return import_module("torch").from_numpy(array)


def _own_tensor(array: Any) -> Any:
    return _shared_tensor(array).clone()  # in memory aligned as torch does it


def _script_is_a_file() -> bool:
    """Whether another process can run what is ``__main__`` here, to know its names: not a notebook, nor ``python -c``."""
    main = sys.modules["__main__"]
    return getattr(main, "__spec__", None) is not None or Path(getattr(main, "__file__", "") or "<none>").is_file()

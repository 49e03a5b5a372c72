"""What a run was told: enough to play its game again, and to refuse to go on as another run."""

import hashlib
import inspect
import platform
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from restsure.errors import DamagedRun, InvalidParameter
from restsure.policies import Game, Policy
from restsure.training.adapters import Judge
from restsure.training.meter import Meter
from restsure.training.stream import ArrayStream

_LONG = 400  # characters of a description beyond which its hash stands for it


def versions() -> dict[str, str]:
    """What a run was made with."""
    return {"restsure": _version(), "numpy": np.__version__, "python": platform.python_version()}


@cache
def _version() -> str:
    """A file is read for it; there is none where the sources lie on the path, or in a frozen program."""
    try:
        return version("restsure")
    except PackageNotFoundError:
        return "unknown"


def told(
    names: Sequence[str],
    candidates: Mapping[str, Any],
    judge: Judge | None,
    *,
    meter: Meter,
    costs: Any,
    policy: Policy,
    seed: int,
) -> dict[str, Any]:
    """The first record of a run."""
    return {
        "candidates": {name: describe(candidates[name]) for name in names},
        "budget": meter.total,
        "unit": meter.unit,
        "costs": costs,
        "policy": policy.to_dict(),
        "random_state": seed,
        "data": None if judge is None else _data(judge),
    }


def check_same(directory: Any, was: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """A run goes on only as what it was begun as; what differs is named."""
    for field in now:
        before, after = was.get(field), now[field]
        if before == after:
            continue
        if field == "candidates" and isinstance(before, Mapping) and list(before) == list(after):
            field = next(name for name in after if before[name] != after[name])
            before, after, field = before[field], after[field], f"candidates[{field!r}]"
        raise InvalidParameter(f"{field}={after!r}: must be {before!r}, as when the run in {directory} was begun")


def open_game(begin: Mapping[str, Any]) -> tuple[tuple[str, ...], Meter, Game]:
    """The candidates' names, the meter and a new game, from the first record of a run."""
    try:
        names, meter = tuple(begin["candidates"]), Meter(begin["budget"], begin["unit"])
        return (
            names,
            meter,
            meter.start(Policy.from_dict(begin["policy"]), len(names), begin["costs"], begin["random_state"]),
        )
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise DamagedRun(f"the run's first record is not what a run was told ({error})") from None


def describe(candidate: Any) -> str:
    """The kind and parameters of a candidate, as far as they can be told."""
    kind: Any = candidate if inspect.isroutine(candidate) else type(candidate)
    module = str(kind.__module__).replace("__mp_main__", "__main__")  # a script, in a process that it has started
    text = f"{module}.{getattr(candidate, '__qualname__', kind.__qualname__)}"
    if hasattr(candidate, "get_params"):
        parameters = candidate.get_params(deep=True)
        text += "(" + ", ".join(f"{name}={parameters[name]!r}" for name in sorted(parameters)) + ")"
    elif hasattr(candidate, "learn_one"):
        text += f" {candidate!r}"
    return _short(re.sub(r" at 0x[0-9a-f]+", "", text))


def _short(text: str) -> str:
    return text if len(text) <= _LONG else f"{text[:_LONG]}... (sha256 {hashlib.sha256(text.encode()).hexdigest()})"


def _data(judge: Judge) -> dict[str, Any]:
    """Sizes, and a hash of the targets and of the first batch: enough to notice other data, and quick."""
    stream = judge.stream
    x, y = stream.batch(0)
    entries: dict[str, Any] = {
        "loss": None if judge.loss is None else judge.loss.name,
        "batch_size": len(y),
        "classes": _short(repr(judge.labels.tolist())) if len(judge.labels) < _LONG else len(judge.labels),
        "first_batch": _hash_of(x, y),
    }
    if isinstance(stream, ArrayStream):
        entries |= {"rows": len(stream.y), "targets": _hash_of(stream.y)}
    if judge.validation is not None:
        entries |= {"validation": _hash_of(*judge.validation)}
    return entries


def _hash_of(*parts: Any) -> str:
    found = hashlib.sha256()
    for part in parts:
        for values in (part.data, part.indices, part.indptr) if hasattr(part, "tocsr") else (part,):
            array = np.asarray(values)
            found.update(repr((array.dtype.kind, array.shape)).encode())
            plain = array.dtype.kind not in "OUS"
            found.update(np.ascontiguousarray(array).tobytes() if plain else repr(array.tolist()).encode())
    return found.hexdigest()

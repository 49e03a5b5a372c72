"""What ``restsure run`` is told to train: a TOML file, or a function that gives the arguments of ``select``."""

import csv
import hashlib
import importlib
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from restsure import checks
from restsure.cli.columns import read_columns
from restsure.errors import DamagedRun, InvalidParameter, MissingExtra
from restsure.policies import Policy

_FIELDS = {"spec": str, "sha256": str, "folder": str, "budget": str, "seed": int}
_ARGUMENTS = ("candidates", "data", "budget", "batch_size", "loss", "validation", "classes", "policy", "random_state")


@dataclass(frozen=True)
class Source:
    """Where a run's arguments come from: a spec, and what the command line said beside it.

    It is written into the journal of the run, so that ``restsure resume`` finds it again.
    """

    spec: str
    sha256: str | None
    folder: str
    budget: str | None
    seed: int | None

    @classmethod
    def of(cls, spec: str, *, budget: str | None, seed: int | None) -> "Source":
        """From what was typed; a file is remembered by its whole path and its hash."""
        path = Path(spec)
        is_file = path.suffix == ".toml"
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if is_file and path.is_file() else None
        if seed is not None:
            checks.whole("seed", seed, at_least=0)
        return cls(str(path.resolve()) if is_file else spec, digest, str(Path.cwd()), budget, seed)

    @classmethod
    def from_dict(cls, entries: Any, directory: Path, spec: str | None) -> "Source":
        """From a journal. A spec names code that is run, so one that lies in the run directory itself is not trusted."""
        known = isinstance(entries, Mapping) and entries.keys() == _FIELDS.keys()
        if known and any(not isinstance(entries[name], (kind, type(None))) for name, kind in _FIELDS.items()):
            raise DamagedRun(f"{directory}: where its spec is, is not told as it must be")
        if spec is not None:
            beside = {"budget": entries["budget"], "seed": entries["seed"]} if known else {"budget": None, "seed": None}
            return cls.of(spec, **beside)
        if not known:
            raise InvalidParameter(
                f"dir={str(directory)!r}: was begun by select(run_dir=...); call that again, or give --spec"
            )
        source = cls(**entries)
        path = Path(source.spec)
        if source.sha256 is not None:
            if path.resolve().is_relative_to(directory.resolve()):
                raise InvalidParameter(
                    f"spec={source.spec!r}: lies in the run directory; say by --spec that you trust it"
                )
            if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() != source.sha256:
                raise InvalidParameter(f"spec={source.spec!r}: has changed since the run was begun; or give --spec")
        elif Path(source.folder).resolve() != Path.cwd():
            raise InvalidParameter(
                f"spec={source.spec!r}: is resumed in the run's folder, {source.folder}; or give --spec"
            )
        return source

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for the journal."""
        return asdict(self)

    def arguments(self) -> dict[str, Any]:
        """Of ``select``."""
        found = read_spec(self.spec)
        if self.budget is not None:
            found["budget"] = int(self.budget) if self.budget.isdigit() else self.budget
        if self.seed is not None:
            found["random_state"] = self.seed
        return found


def read_spec(source: str) -> dict[str, Any]:
    """The arguments of ``select``, from ``SPEC.toml`` or ``module:function``."""
    path = Path(source)
    if path.suffix == ".toml":
        return _from_toml(path)
    if ":" not in source:
        raise InvalidParameter(f"spec={source!r}: must be a file that ends in .toml, or module:function")
    found = _named("spec", source)()
    if not isinstance(found, Mapping):
        raise InvalidParameter(f"spec={source!r}: must return a dictionary, not {type(found).__name__}")
    return _checked(dict(found), source)


def _from_toml(path: Path) -> dict[str, Any]:
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidParameter(f"spec={str(path)!r}: must be a file that exists") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidParameter(f"spec={str(path)!r}: must be TOML ({error})") from None
    arguments = _checked(entries, str(path))
    arguments["candidates"] = {
        name: _made(f"candidates.{name}", entry) for name, entry in _table("candidates", entries["candidates"]).items()
    }
    for name in ("data", "validation"):
        if name in arguments and not (name == "validation" and isinstance(arguments[name], (int, float))):  # a share
            arguments[name] = _data(name, _table(name, arguments[name]), path.parent)
    if "policy" in arguments:
        arguments["policy"] = Policy.from_dict(_table("policy", arguments["policy"]))
    return arguments


def _checked(entries: dict[str, Any], source: str) -> dict[str, Any]:
    for name in entries.keys() - set(_ARGUMENTS):
        raise InvalidParameter(f"{name}: must be one of {', '.join(_ARGUMENTS)} in {source}")
    for name in ("candidates", "budget"):
        if name not in entries:
            raise InvalidParameter(f"{name}: must be in {source}")
    return entries


def _table(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InvalidParameter(f"{name}={value!r}: must be a table")
    return value


def _made(name: str, entry: Any) -> Any:
    """``make = "module:class"`` with its parameters, or ``steps``, a list of such tables, for a pipeline."""
    entry = dict(_table(name, entry))
    if "steps" in entry:
        from sklearn.pipeline import make_pipeline

        steps = entry.pop("steps")
        if entry or not isinstance(steps, list) or not steps:
            raise InvalidParameter(f"{name}.steps={steps!r}: must be a list of tables, and nothing beside it")
        return make_pipeline(*(_made(f"{name}.steps[{k}]", step) for k, step in enumerate(steps)))
    if "make" not in entry:
        raise InvalidParameter(f"{name}: must have make = 'module:class', or steps")
    make = _named(f"{name}.make", entry.pop("make"))
    try:
        return make(**entry)
    except TypeError as error:
        raise InvalidParameter(f"{name}: {error}") from None


def _data(name: str, entry: dict[str, Any], folder: Path) -> Any:
    """``make`` with its parameters, or ``file``: X and y of an .npz, or a .csv of numbers with a column ``target``."""
    if "file" not in entry:
        if "make" not in entry:
            raise InvalidParameter(f"{name}: must have make = 'module:function', or file")
        return _made(name, entry)
    unknown = entry.keys() - {"file", "target"}
    if unknown:
        raise InvalidParameter(f"{name}.{min(unknown)}: must be file or target")
    checks.instance(f"{name}.file", entry["file"], str)
    path = folder / entry["file"]
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                return arrays["X"], arrays["y"]
        if path.suffix == ".csv":
            return read_columns(name, path, entry.get("target"))
    except InvalidParameter:
        raise
    except (OSError, KeyError, ValueError, csv.Error) as error:
        raise InvalidParameter(f"{name}.file={str(path)!r}: {error}") from None
    raise InvalidParameter(f"{name}.file={str(path)!r}: must end in .npz or .csv")


def _named(field: str, where: Any) -> Any:
    """What ``module:name`` stands for; modules of the working directory are found."""
    checks.instance(field, where, str)
    module, _, name = where.partition(":")
    if not module or not name:
        raise InvalidParameter(f"{field}={where!r}: must be module:name")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name and not module.startswith(error.name):
            raise MissingExtra(f"{field}={where!r}: needs {error.name}, which is not installed") from None
        raise InvalidParameter(f"{field}={where!r}: no module {error.name}") from None
    except AttributeError:
        raise InvalidParameter(f"{field}={where!r}: the module has no {name}") from None

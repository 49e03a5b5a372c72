"""What a file may name: classes and functions that the candidate holds, and classes of the packages its parts come from."""

import copy
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from importlib import import_module
from operator import itemgetter
from statistics import NormalDist
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from restsure.training.saving.tree import Description, is_function, name_of

_KNOWN = ("river", "sklearn")  # whose modules may be imported because a file names them; others must be there already
_CLOSED = tuple(
    f"river.{part}" for part in ["api", "checks", "datasets", "evaluate", "stream"]
)  # read files, load pickles
UNCHECKED = {"catboost", "lightgbm", "xgboost"}  # whose compiled readers believe a file: it can crash them, or worse
_PLAIN = (bool, int, float, str, list, tuple, set, dict, Counter, OrderedDict, defaultdict, deque)
_CLASSES = {name_of(kind): kind for kind in (*_PLAIN, NormalDist, itemgetter, datetime, date, timedelta)}
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE
_FUNCTIONS = {name_of(copy.deepcopy): copy.deepcopy}  # river makes optimisers by it


class Untrusted(ValueError):
    """A file names what it has no business to name."""


class Trust:
    """Finds classes and functions by name, if ``like``, a candidate as its user built it, gives reason to trust them.

    Trusted are the classes it holds and all others of the packages that it and its estimators come from; and functions that
    it holds itself, or that are river's own. What a name leads to must have that very name: what a module imports has not.
    """

    def __init__(self, like: Any):
        described = Description(like, brief=True)
        self.classes = _CLASSES | described.classes
        self.functions = _FUNCTIONS | described.functions
        self._found_before = dict[str, Any]()
        kinds = [type(like), *(type(part) for part in described.held if _is_part(part))]
        bases = {_package(base) for kind in kinds for base in kind.__mro__} & {*_KNOWN}
        self.packages = {_package(kind) for kind in kinds} - sys.stdlib_module_names | bases
        self.caches = [vars(part).get("memory") for part in described.held if hasattr(part, "__dict__")]

    def find_class(self, name: str) -> type:
        """A class that objects may be made of, without its constructor being called."""
        found = self.classes.get(name) or self._found_before.get(name) or self._found(name, self.packages)
        if not isinstance(found, type) or any(_package(base) in UNCHECKED for base in found.__mro__):
            raise Untrusted(name)
        return found

    def find_function(self, name: str) -> Any:
        """A function that a model may call."""
        found = self.functions.get(name) or self._found(name, {"river"} & self.packages)
        if not isinstance(found, (FunctionType, BuiltinFunctionType)) and name not in self.functions:
            raise Untrusted(name)
        return found

    def find_maker(self, name: str) -> type:
        """A class that a model may call: one that it holds, or river's own."""
        if name not in self.classes and name.partition(".")[0] != "river":
            raise Untrusted(name)
        return self.find_class(name)

    def strangers(self, named: Iterable[tuple[str, str]]) -> list[str]:
        """Of names as :func:`names` gives them, those that are not trusted for what they are there for."""
        find = {"object": self.find_class, "class": self.find_maker, "function": self.find_function}
        strange = set[str]()
        for what, name in named:
            try:
                find[what](name)
            except Untrusted:
                strange.add(name)
        return sorted(strange)

    def holds(self, name: str) -> bool:
        """Whether the candidate itself has the function that is to be found by that name."""
        module, _, path = name.partition(":")
        found = vars(sys.modules[module]).get(path) if module in sys.modules else None
        return any(function is found for function in self.functions.values() if function is not None)

    def _found(self, name: str, packages: set[str]) -> Any:
        module, _, path = name.partition(":")
        package = module.partition(".")[0]
        if package not in packages or any(module == part or module.startswith(f"{part}.") for part in _CLOSED):
            raise Untrusted(name)
        try:
            found: Any = import_module(module) if package in _KNOWN else sys.modules[module]
            for part in path.split("."):
                found = vars(found)[part]
            found = getattr(found, "__func__", found)  # static methods
        except (ImportError, KeyError, TypeError):
            raise Untrusted(name) from None
        if name_of(found) != name:
            raise Untrusted(name)
        self._found_before[name] = found
        return found


def is_made_in_python(kind: type) -> bool:
    """Whether a class and all that it is based on come from class statements, but for Python's own containers.

    Objects of others, made without a constructor, may be in a state that their compiled code does not expect.
    """
    return all(base.__flags__ & _HEAP_TYPE or base is object or base in _PLAIN for base in kind.__mro__)


def _package(kind: type) -> str:
    return kind.__module__.partition(".")[0]


def _is_part(value: Any) -> bool:
    """Whether it is an estimator, a river model or one of their parts."""
    return hasattr(value, "get_params") or hasattr(value, "_get_params")


def settings(value: Any) -> Any:
    """What a model was made with, down to the parts that it was made with: classes and parameters, not what was learnt."""
    get = getattr(type(value), "get_params", None) or getattr(type(value), "_get_params", None)
    if get is not None and not isinstance(value, type):
        given = get(value, deep=False) if hasattr(type(value), "get_params") else get(value)
        return {"class": name_of(type(value)), **{name: settings(given[name]) for name in sorted(given)}}
    if isinstance(value, (list, tuple)):
        return [settings(item) for item in value]
    if isinstance(value, dict):
        return [[str(key), settings(item)] for key, item in value.items()]
    plain = value is None or isinstance(value, (bool, int, float, str, bytes, np.generic, np.ndarray, type))
    return Description(value).text() if plain or is_function(value) else name_of(type(value))

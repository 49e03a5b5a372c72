"""A model taken apart into plain values: what JSON can hold, whole and exact, with every object named by its class.

Two models of the same description are the same to the bit: types, signs of zeros, order of dictionaries and of arrays in
memory, states of random generators, and which parts are one and the same object. Only sets have no order.
"""

import copyreg
import json
import math
import sys
from base64 import b64encode
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Iterator
from functools import partial
from random import Random
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, MethodType, ModuleType
from typing import Any

import numpy as np

from restsure.errors import InvalidParameter
from restsure.training.saving.arrays import described, is_plain, layouts_of

DICTIONARIES: dict[str, Any] = {kind.__name__: kind for kind in (dict, OrderedDict, Counter, defaultdict)}
_ITERATOR: type = type(iter([]))
_NEW = copyreg.__newobj__  # type: ignore[attr-defined]
_DISPATCHER = type(np.sum)  # numpy's functions that are no ufuncs


class Description:
    """The parts of a model as numbered nodes, and the ``classes`` and ``functions`` it holds by name.

    Values that cannot change (numbers, text, tuples) are written where they stand. All others are a node each, referred to by
    number: what is shared stays shared, cycles are no matter, and nothing is nested deeply. ``held[n]`` is what node n is of.
    A brief one, which is for comparing, has sums of arrays in their place.
    """

    def __init__(self, model: Any, *, brief: bool = False):
        self.brief, self.nodes, self.held = brief, list[Any](), list[Any]()
        self.classes, self.functions = dict[str, Any](), dict[str, Any]()
        self._numbers = dict[int, int]()
        self.root = self._value(model)
        while len(self.nodes) < len(self.held):
            self.nodes.append(self._node(self.held[len(self.nodes)]))
        arrays = ((number, part) for number, part in enumerate(self.held) if type(part) is np.ndarray)
        self.layouts = layouts_of((number, array) for number, array in arrays if not array.dtype.hasobject)

    def text(self) -> str:
        """All of it in a line of text: two models with the same text are the same."""
        return json.dumps([self.root, [_unordered(node) for node in self.nodes], self.layouts], allow_nan=False)

    def difference(self, other: "Description") -> str:
        """Where they differ first, in words."""
        for mine, its in zip(self.nodes, other.nodes, strict=False):
            if json.dumps(_unordered(mine)) != json.dumps(_unordered(its)):
                parts = mine.get("attributes", {}), its.get("attributes", {})
                names = [name for name in parts[0] if json.dumps(parts[0][name]) != json.dumps(parts[1].get(name))]
                return ", ".join([str(mine.get("object", next(iter(mine)))), *names[:3]])
        return f"{len(self.nodes)} parts become {len(other.nodes)}"

    def _value(self, value: Any) -> Any:
        """``value`` as JSON; whatever can change is numbered, and described later."""
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if kind is bytes:
            return {"bytes": b64encode(value).decode()}
        if kind is tuple:
            return {"tuple": [self._value(item) for item in value]}
        if kind is frozenset:
            return {"frozenset": sorted((self._value(item) for item in value), key=json.dumps)}
        if kind is range:
            return {"range": [value.start, value.stop, value.step]}
        if isinstance(value, np.generic) and is_plain(value.dtype):
            return {"number": [value.dtype.str, value.tobytes().hex()]}
        if isinstance(value, type):
            return {"class": self._named(self.classes, value)}
        if isinstance(value, MethodType):
            self._named(self.functions, value.__func__)
            return {"method": value.__func__.__name__, "of": self._value(value.__self__)}
        if is_function(value):
            return {"function": self._named(self.functions, value)}
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self.held)
            self.held.append(value)  # and as long as it is held its id is not given to another
        return {"at": self._numbers[id(value)]}

    def _node(self, value: Any) -> Any:
        kind = type(value)
        if kind in (list, set):
            return {kind.__name__: [self._value(item) for item in value]}
        if kind is defaultdict:
            return {"defaultdict": self._pairs(value.items()), "factory": self._value(value.default_factory)}
        if kind in DICTIONARIES.values():
            return {kind.__name__: self._pairs(value.items())}
        if kind is deque:
            return {"deque": [self._value(item) for item in value], "maxlen": value.maxlen}
        if kind is np.ndarray and value.dtype.hasobject:
            return {"objects": [self._value(item) for item in value.ravel()], "shape": list(value.shape)}
        if kind is np.ndarray:
            return described(value, brief=self.brief)
        if kind is Random:
            version, words, gauss = value.getstate()
            return {"Random": _words(words), "version": version, "gauss": self._value(gauss)}
        if kind is np.random.RandomState and value.get_state(legacy=False)["bit_generator"] == "MT19937":
            _, words, place, has_gauss, gauss = value.get_state()
            return {"RandomState": _words((*words, place)), "has_gauss": has_gauss, "gauss": self._value(gauss)}
        if kind is partial:
            return {"partial": [self._value(part) for part in (value.func, value.args, value.keywords)]}
        if kind is _ITERATOR:
            _, (items,), *index = value.__reduce__()
            return {"iterator": self._value(items), "index": index[0] if index else 0}
        return self._object(value)

    def _pairs(self, pairs: Any) -> list[Any]:
        return [[self._value(key), self._value(item)] for key, item in pairs]

    def _object(self, value: Any) -> Any:
        """By what it would be pickled with: its class and state, or else something that is called to make it."""
        node: dict[str, Any] = {"object": self._named(self.classes, type(value))}
        try:
            reduced = value.__reduce_ex__(4)
            if isinstance(reduced, str):
                return {**node, "global": reduced}
            maker, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
        except Exception as error:
            raise InvalidParameter(f"{node['object']}: cannot be saved ({error})") from None
        if maker is not _NEW:
            node |= {"maker": self._value(maker), "new": self._value(tuple(arguments))}
        elif len(arguments) > 1:
            node["new"] = self._value(tuple(arguments[1:]))
        if maker is _NEW and type(state) is tuple and not _has_own_state(type(value)):
            state, slots = state
            node["slots"] = {name: self._value(item) for name, item in slots.items()}
        if type(state) is dict and all(type(name) is str for name in state):
            node["attributes"] = {name: self._value(item) for name, item in state.items()}
        elif state is not None:
            node["state"] = self._value(state)
        if items is not None:
            node["items"] = [self._value(item) for item in items]
        if pairs is not None:
            node["pairs"] = self._pairs(pairs)
        return node

    def _named(self, named: dict[str, Any], value: Any) -> str:
        """The name of a class or function; where two have the same one, it stands for neither."""
        name = name_of(value)
        if named.setdefault(name, value) is not value:
            named[name] = None
        return name


def names(root: Any, nodes: list[Any]) -> Iterator[tuple[str, str]]:
    """All classes and functions of a description: ("object", a class), ("class", one that may be called), ("function", ...)."""
    for node in nodes:
        if "object" in node:
            yield "object", str(node["object"])
    values = [root, *(value for node in nodes for value in _values(node))]
    while values:
        match values.pop():
            case {"tuple": list(items)} | {"frozenset": list(items)}:
                values += items
            case {"method": _, "of": owner}:
                values.append(owner)
            case {"class": name}:
                yield "class", str(name)
            case {"function": name}:
                yield "function", str(name)


def _values(node: dict[str, Any]) -> Iterator[Any]:
    for kind in ("list", "set", "deque", "objects", "partial", "items"):
        yield from node.get(kind, ())
    for kind in (*DICTIONARIES, "pairs"):
        yield from (value for pair in node.get(kind, ()) for value in pair)
    for kind in ("factory", "iterator", "new", "state"):
        yield node.get(kind)
    for kind in ("attributes", "slots"):
        yield from node.get(kind, {}).values()


def name_of(value: Any) -> str:
    """``module:name``; a function that cannot be found by its name has its line, too."""
    name = getattr(value, "__qualname__", value.__name__)
    line = f"@{value.__code__.co_firstlineno}" if "<" in name and isinstance(value, FunctionType) else ""
    module = getattr(value, "__module__", None) or getattr(value, "__objclass__", type(None)).__module__
    return f"{full_name(module)}:{name}{line}"


def full_name(module: str) -> str:
    """The name of a module that a class of it may call by its last part only: Cython's did, and are loaded by both names.

    So do the losses of scikit-learn before 1.9: ``_loss:CyHalfBinomialLoss`` is of ``sklearn._loss._loss``.
    """
    full: str = getattr(sys.modules.get(module), "__name__", module)
    return full if full.endswith(f".{module}") else module


def is_function(value: Any) -> bool:
    """Whether it is a function that has a name, written in Python or not."""
    if isinstance(value, BuiltinFunctionType):
        return value.__self__ is None or isinstance(value.__self__, ModuleType)
    compiled = type(value).__name__ == "cython_function_or_method"
    return compiled or isinstance(value, (FunctionType, MethodDescriptorType, np.ufunc, _DISPATCHER))


def _has_own_state(kind: Any) -> bool:
    return kind.__getstate__ is not object.__getstate__


def _words(words: Any) -> str:
    return b64encode(np.array(words, "<u4").tobytes()).decode()


def _unordered(node: Any) -> Any:
    """Text hashes to other numbers in every process: what order a set is in says nothing."""
    return {"set": sorted(node["set"], key=json.dumps)} if "set" in node else node

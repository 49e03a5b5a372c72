"""A model put together from its description, by rules that run no code of the file's choosing.

Objects are made by ``__new__`` of their class and given their state; no constructor is called but those of a few compiled
classes that keep numbers only. Classes and functions are those that :class:`Trust` finds.
"""

import copyreg
import re
from base64 import b64decode
from collections import OrderedDict, defaultdict, deque
from functools import partial
from math import prod
from random import Random
from types import FunctionType
from typing import Any

import numpy as np

from restsure.training.saving.arrays import Layout, checked_shape, from_described, is_plain, lay_out
from restsure.training.saving.sklearn_checks import check_parts
from restsure.training.saving.tree import DICTIONARIES, name_of, names
from restsure.training.saving.trust import Trust, Untrusted, is_made_in_python

_CALLED = re.compile(  # classes that are called, since they keep numbers and names only
    r"river\._river_rust\.vectordict:|operator:itemgetter$|datetime:|sklearn\._loss\._loss:|sklearn\.linear_model\._sgd_fast:"
)
_COMPILED: dict[str, tuple[Any, ...]] = {  # river's, by anything that they can be made of: their state replaces it
    "drift:AdaptiveWindowing": (0.002, 32, 5, 5, 10),
    "stats:RsEWMean": (0.5,),
    "stats:RsEWVar": (0.5,),
    "stats:RsIQR": (0.25, 0.75),
    "stats:RsKurtosis": (False,),
    "stats:RsPeakToPeak": (),
    "stats:RsQuantile": (0.5,),
    "stats:RsRollingIQR": (0.25, 0.75, 1),
    "stats:RsRollingPRAUC": (0, 1),
    "stats:RsRollingQuantile": (0.5, 1),
    "stats:RsRollingROCAUC": (0, 1),
    "stats:RsSkew": (False,),
}
_RUST = "river._river_rust."
_NOTHING, _OPEN = object(), object()


def build(root: Any, nodes: list[Any], layouts: list[Layout], trust: Trust) -> Any:
    """The model that was described so; raises ValueError, TypeError and the like where it is no description."""
    if strange := trust.strangers(names(root, nodes)):
        raise Untrusted(", ".join(strange))
    builder = _Builder(nodes, trust)
    model = builder.model(root)
    lay_out(builder.made, layouts)
    check_parts(builder.made)
    return model


class _Builder:
    """First everything is made empty, then filled: parts may refer to each other in any way."""

    def __init__(self, nodes: list[Any], trust: Trust):
        self.nodes, self.trust = nodes, trust
        self.made = [self._empty(node) for node in nodes]
        self.filled = [False] * len(nodes)

    def model(self, root: Any) -> Any:
        keyed = [_is_keyed_by_parts(node) for node in self.nodes]
        for late in (False, True):  # a key must be whole before it can be hashed
            for number in range(len(self.nodes)):
                if keyed[number] is late:
                    self._fill(number)
        return self._value(root)

    def _empty(self, node: Any) -> Any:
        """What is filled later; nothing where it takes parts to make it."""
        match node:
            case {"list": list()}:
                return []
            case {"set": list()}:
                return set()
            case {"deque": list(), "maxlen": None | int() as most}:
                return deque(maxlen=most)
            case {"defaultdict": list()}:
                return defaultdict(None)
            case {"dict": list()} | {"OrderedDict": list()} | {"Counter": list()}:
                return DICTIONARIES[next(iter(node))]()
            case {"objects": list(items), "shape": shape} if prod(checked_shape(shape)) == len(items):
                return np.empty(shape, object)
            case {"array": str()}:
                return from_described(node)
            case {"partial": [_, _, _]}:
                return partial(int)
            case {"Random": str(words), "version": version, "gauss": gauss}:
                made = Random()
                made.setstate((version, tuple(_words(words)), self._value(gauss)))
                return made
            case {"RandomState": str(words), "has_gauss": 0 | 1 as has_gauss, "gauss": float(gauss)}:
                return _random_state(_words(words), has_gauss, gauss)
            case {"object": str(name)} if "maker" not in node and "global" not in node:
                return _NOTHING if "new" in node and not _is_compiled(name) else self._new(name)
            case {"object": str(), "maker": _, "new": _} | {"iterator": _, "index": int()}:
                return _NOTHING
        raise ValueError(f"{str(node)[:60]} has no meaning")

    def _new(self, name: str, *arguments: Any) -> Any:
        kind = self.trust.find_class(name)
        if _is_compiled(name):
            arguments = _COMPILED[name.removeprefix(_RUST)]
        elif not is_made_in_python(kind) or (arguments and not issubclass(kind, tuple)):
            raise ValueError(f"an object of {name} cannot be made from a file")
        return kind.__new__(kind, *arguments)

    def _part(self, number: Any) -> Any:
        if type(number) is not int or not 0 <= number < len(self.nodes):
            raise ValueError(f"there is no part {number}")
        if self.made[number] is _OPEN:
            raise ValueError(f"part {number} is made of itself")
        if self.made[number] is _NOTHING:
            self.made[number] = _OPEN
            self.made[number] = self._made(self.nodes[number])
        return self.made[number]

    def _made(self, node: Any) -> Any:
        match node:
            case {"iterator": items, "index": index}:
                made: Any = list.__iter__(self._whole(items))
                made.__setstate__(index)
                return made
            case {"object": name, "maker": {"class": maker}} if maker == name and _CALLED.match(name):
                return self.trust.find_class(name)(*self._whole(node["new"]))
            case {"object": name, "new": arguments} if "maker" not in node:
                return self._new(name, *self._value(arguments))
        raise ValueError(f"an object of {node['object']} cannot be made from a file")

    def _value(self, value: Any) -> Any:
        match value:
            case None | bool() | int() | float() | str():
                return value
            case {"at": number}:
                return self._part(number)
            case {"float": "nan" | "inf" | "-inf" as text}:
                return float(text)
            case {"bytes": str(text)}:
                return b64decode(text, validate=True)
            case {"tuple": list(items)}:
                return tuple(self._value(item) for item in items)
            case {"frozenset": list(items)}:
                return frozenset(self._whole(item) for item in items)
            case {"range": [int(start), int(stop), int(step)]}:
                return range(start, stop, step)
            case {"number": [str(dtype), str(data)]} if is_plain(np.dtype(dtype)):
                [number] = np.frombuffer(bytes.fromhex(data), dtype)
                return number
            case {"class": str(name)}:
                return self.trust.find_maker(name)
            case {"function": str(name)}:
                return self.trust.find_function(name)
            case {"method": str(name), "of": owner}:
                return self._method(self._value(owner), name)
        raise ValueError(f"{str(value)[:60]} has no meaning")

    def _whole(self, value: Any) -> Any:
        """A value that is needed with all that is directly in it."""
        match value:
            case {"at": number}:
                self._part(number)
                self._fill(number)
            case {"tuple": list(items)}:
                return tuple(self._whole(item) for item in items)
        return self._value(value)

    def _method(self, owner: Any, name: str) -> Any:
        found = getattr(type(owner), name, None)
        if not isinstance(found, FunctionType) or self.trust.find_function(name_of(found)) is not found:
            raise Untrusted(f"{name_of(type(owner))}.{name}")
        return getattr(owner, name)

    def _fill(self, number: int) -> None:
        if self.filled[number]:
            return
        self.filled[number] = True
        part, node = self._part(number), self.nodes[number]
        match node:
            case {"list": items} | {"deque": items}:
                part.extend(self._value(item) for item in items)
            case {"set": items}:
                part.update([self._whole(item) for item in items])
            case {"objects": items}:
                flat = part.reshape(-1)
                for at, item in enumerate(items):
                    flat[at] = self._value(item)
            case {"partial": [function, arguments, keywords]}:
                part.__setstate__((self._value(function), self._value(arguments), self._whole(keywords), None))
            case {"defaultdict": pairs, "factory": factory}:
                part.default_factory = defaultdict(self._value(factory)).default_factory  # that looks whether it can be
                self._fill_pairs(part, pairs)
            case {"dict": pairs} | {"OrderedDict": pairs} | {"Counter": pairs}:
                self._fill_pairs(part, pairs)
            case {"object": _}:
                self._fill_object(part, node)

    def _fill_pairs(self, part: dict[Any, Any], pairs: Any) -> None:
        put = OrderedDict.__setitem__ if isinstance(part, OrderedDict) else dict.__setitem__
        for key, item in pairs:
            put(part, self._whole(key), self._value(item))

    def _fill_object(self, part: Any, node: Any) -> None:
        if "state" in node or ("attributes" in node and hasattr(part, "__setstate__")):
            state = self._whole(node["state"]) if "state" in node else self._named(node["attributes"])
            _set_state(part, state)
        elif "attributes" in node:
            vars(part).update(self._named(node["attributes"]))
        for name, value in self._named(node.get("slots", {})).items():
            if name not in copyreg._slotnames(type(part)):  # type: ignore[attr-defined]
                raise ValueError(f"{node['object']} has no slot {name!r}")
            object.__setattr__(part, name, value)
        if "items" in node:
            list.extend(part, [self._value(item) for item in node["items"]])
        if "pairs" in node:
            self._fill_pairs(part, node["pairs"])

    def _named(self, values: dict[str, Any]) -> dict[str, Any]:
        return {name: self._value(value) for name, value in values.items()}


def _is_compiled(name: str) -> bool:
    return name.removeprefix(_RUST) in _COMPILED


def _is_keyed_by_parts(node: Any) -> bool:
    kind = next((kind for kind in ("set", *DICTIONARIES, "pairs") if kind in node), None)
    keys = () if kind is None else node[kind] if kind == "set" else (key for key, _ in node[kind])
    return any(isinstance(key, dict) for key in keys)


def _words(text: str) -> list[int]:
    """The state of a Mersenne twister: 624 words, and the place where it is in them."""
    words: list[int] = np.frombuffer(b64decode(text, validate=True), "<u4").tolist()
    if len(words) != 625 or words[-1] > 624:
        raise ValueError("a state of random numbers is damaged")  # numpy would read beyond its end
    return words


def _random_state(words: list[int], has_gauss: int, gauss: float) -> np.random.RandomState:
    made = np.random.RandomState(0)
    made.set_state(("MT19937", np.array(words[:-1], np.uint32), words[-1], has_gauss, gauss))
    return made


def _set_state(part: Any, state: Any) -> None:
    try:
        part.__setstate__(state)
    except BaseException as error:
        if type(error).__name__ == "PanicException":  # what compiled classes of river raise is no Exception
            raise ValueError(f"{name_of(type(part))} cannot be in such a state ({error})") from None
        raise

"""scikit-learn models as skops files; what is in one is looked through before any of it is made.

skops asks that types be trusted by name. Here it is also asked what is done with them: objects are made of classes and get a
state, and nothing is called but what keeps plain numbers.
"""

import io
import json
import re
import warnings
from functools import cache
from math import prod
from typing import Any
from zipfile import ZIP_STORED, ZipFile

import numpy as np

from restsure.errors import InvalidParameter, MissingExtra
from restsure.training.saving.arrays import Layout, lay_out
from restsure.training.saving.files import parsed
from restsure.training.saving.sklearn_checks import check_parts
from restsure.training.saving.tree import Description, full_name
from restsure.training.saving.trust import Trust, Untrusted, is_made_in_python

_MEMBER = re.compile(r"(\d+\.npy|[0-9a-f-]{36}\.bin|schema\.json|layouts\.json)", re.ASCII)
_LOSSES = ("sklearn._loss._loss", "sklearn.linear_model._sgd_fast")
_NUMBERS = {f"numpy:{kind.__name__}" for kind in np.sctypeDict.values() if np.dtype(kind).kind in "?biufcSU"}
_KEYS = {f"builtins:{kind}" for kind in ("str", "int", "float", "bool")} | _NUMBERS
_ONE: dict[str, set[str]] = {  # loaders that make objects of one kind, or of a few
    "DictNode": {"builtins:dict", "collections:OrderedDict"},
    "ListNode": {"builtins:list"},
    "TupleNode": {"builtins:tuple"},
    "SetNode": {"builtins:set"},
    "BytesNode": {"builtins:bytes"},
    "SliceNode": {"builtins:slice"},
    "DTypeNode": {"numpy:dtype"},
    "NdArrayNode": {"numpy:ndarray", *_NUMBERS},
    "RandomStateNode": {"numpy.random.mtrand:RandomState"},
    "RandomGeneratorNode": {"numpy.random._generator:Generator"},
    "TreeNode": {"sklearn.tree._tree:Tree"},
}


def dump_skops(model: Any, layouts: list[Layout]) -> bytes:
    """The bytes of a skops file; ``layouts`` go with it, since skops lays arrays out anew."""
    skops = _skops()
    try:
        file = io.BytesIO(skops.dumps(model))
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise InvalidParameter(f"{type(model).__name__}: cannot be saved by skops ({reason})") from None
    with ZipFile(file, "a", ZIP_STORED) as archive:
        archive.writestr("layouts.json", json.dumps(layouts))
    return file.getvalue()


def load_skops(data: bytes, trust: Trust) -> Any:
    """The model in a skops file; raises an error of any kind, and makes nothing, where there is something wrong with it."""
    from sklearn.exceptions import InconsistentVersionWarning

    layouts, audit = _looked_through(data, trust)
    if audit.strange:
        raise Untrusted(", ".join(sorted(audit.strange)))
    with warnings.catch_warnings():
        warnings.simplefilter("error", InconsistentVersionWarning)  # it would go on otherwise
        model = _skops().loads(data, trusted=[name.replace(":", ".") for name in audit.names])
    parts = Description(model, brief=True).held
    check_parts(parts)
    kept = [vars(part).get("memory") for part in parts if hasattr(type(part), "get_params")]
    if strange := sorted(name for name in kept if isinstance(name, str) and name not in trust.caches):
        raise Untrusted(f"memory={strange[0]!r}")  # a directory of pickles
    lay_out(parts, layouts)
    return model


def types_in_skops(data: bytes) -> list[str]:
    """All classes and functions that a skops file names."""
    return sorted(_looked_through(data, None)[1].names)


def _skops() -> Any:
    try:
        import skops.io
    except ImportError:
        raise MissingExtra("scikit-learn models are saved by skops: pip install 'restsure[sklearn]'") from None
    return skops.io


def _looked_through(data: bytes, trust: Trust | None) -> tuple[list[Layout], "_Audit"]:
    with ZipFile(io.BytesIO(data)) as archive:
        infos = archive.infolist()
        names = [info.filename for info in infos]
        strange = [name for name in names if not _MEMBER.fullmatch(name)]
        if strange or len({*names}) < len(names):
            raise ValueError(f"it has members {strange or names} of strange names, or twice the same")
        if any(info.compress_type != ZIP_STORED or info.file_size != info.compress_size for info in infos):
            raise ValueError("it has compressed members, which were never written here")
        if sum(info.file_size for info in infos) > len(data):
            raise ValueError("its members lie on top of each other")
        arrays = {name: _array_shape(archive.read(name)) for name in names if name.endswith(".npy")}
        schema, layouts = (parsed(archive.read(f"{name}.json")) for name in ("schema", "layouts"))
    if schema["protocol"] != _protocol():
        raise ValueError(f"it is of skops protocol {schema['protocol']}, not {_protocol()}")
    audit = _Audit(trust, arrays)
    audit.weigh(schema)
    return layouts, audit


@cache
def _protocol() -> Any:
    with ZipFile(io.BytesIO(_skops().dumps(None))) as archive:
        return json.loads(archive.read("schema.json"))["protocol"]


def _array_shape(data: bytes) -> tuple[int, ...]:
    """The shape of an npy file that has as many bytes as it says, and no objects."""
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
    shape, _, dtype = read(file)
    if dtype.hasobject or prod(shape) * dtype.itemsize != len(data) - file.tell() or prod(shape) > len(data):
        raise ValueError(f"an array of dtype {dtype} and shape {shape} does not have {len(data) - file.tell()} bytes")
    return shape


class _Audit:
    """Goes through the nodes of a skops file, without making anything: which types they name, and which are not trusted.

    A number of a node that comes again stands for the node that had it first, which skops then takes: it must be the same.
    """

    def __init__(self, trust: Trust | None, arrays: dict[str, tuple[int, ...]]):
        self.trust, self.arrays = trust, arrays
        self.names, self.strange = set[str](), set[str]()
        self.first = dict[Any, Any]()
        self.weights = dict[Any, int]()

    def weigh(self, node: Any) -> int:
        """How many nodes there are below this one, itself included."""
        name, number = f"{node['__module__']}:{node['__class__']}", node["__id__"]
        first = self.first.setdefault(number, node)
        if any(first.get(key) != node.get(key) for key in ("__loader__", "__module__", "__class__", "file")):
            raise ValueError(f"two of its parts have the number {number}")
        if node["__loader__"] == "JsonNode" and node["content"] != first["content"]:
            raise ValueError(f"two of its parts have the number {number}")
        if first is not node and number not in self.weights:
            raise ValueError(f"part {number} is in itself")
        if node["__loader__"] != "JsonNode":
            self.names.add(name)
            if not self._is_trusted(node["__loader__"], name):
                self.strange.add(name)
        weight = 1 + sum(self.weigh(child) for child in self._children(node))
        if weight < self.weights.setdefault(number, weight):
            raise ValueError(f"part {number} stands for more than it holds")
        return weight

    def _is_trusted(self, loader: str, name: str) -> bool:
        if loader in _ONE:
            return name in _ONE[loader]
        if self.trust is None:
            return True
        try:
            match loader:
                case "ObjectNode":
                    return is_made_in_python(self.trust.find_class(name))
                case "LossNode":
                    module, _, kind = name.partition(":")
                    module = full_name(module)
                    return module in _LOSSES and isinstance(self.trust.find_class(f"{module}:{kind}"), type)
                case "TypeNode":
                    return name in _NUMBERS or isinstance(self.trust.find_maker(name), type)
                case "FunctionNode":
                    return self.trust.holds(name)
        except Untrusted:
            return False
        return False

    def _children(self, node: Any) -> list[Any]:
        match node["__loader__"], node.get("content"):
            case "JsonNode", str():
                return []
            case "DictNode", dict(content):
                return [self._keys(node["key_types"]), *content.values()]
            case "ListNode" | "TupleNode" | "SetNode", list(content):
                return content
            case "ObjectNode", content:
                return [] if content is None else [content]
            case "NdArrayNode", list(content) if node["type"] == "json":
                return [*content, node["shape"]]
            case "NdArrayNode", None if node["type"] == "numpy" and node["file"] in self.arrays:
                return []
            case "RandomStateNode" | "DTypeNode", dict(content):
                return [content]
            case "RandomGeneratorNode", {"bit_generator": bits, "seed_seq": seed}:
                return [bits, seed]
            case "LossNode" | "TreeNode" as loader, dict(content):
                if loader == "TreeNode":
                    self._check_tree(content)
                return [node["__reduce__"]["args"], content]
            case "TypeNode" | "FunctionNode" | "BytesNode" | "SliceNode", _:
                return []
        raise ValueError(f"a part of it is to be made by {str(node['__loader__'])[:40]}, which is not done here")

    def _keys(self, node: Any) -> Any:
        """Types that are called on the keys of a dictionary, which are text in a file."""
        if node["__loader__"] != "ListNode" or node["__id__"] in self.first:
            raise ValueError("keys of a dictionary are of no type")
        for kind in node["content"]:
            if kind["__loader__"] != "TypeNode" or f"{kind['__module__']}:{kind['__class__']}" not in _KEYS:
                raise ValueError(f"keys of a dictionary are of type {kind['__class__']}")
        return node

    def _check_tree(self, state: Any) -> None:
        """A tree says itself how many nodes it has, and believes it."""
        count, nodes = state["content"]["node_count"], self.arrays[state["content"]["nodes"]["file"]]
        if state["__id__"] in self.first or json.loads(count["content"]) != nodes[0]:
            raise ValueError(f"a tree of {nodes[0]} nodes says that it has {count['content']}")

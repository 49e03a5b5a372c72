"""skops files that were made to run code, to fill memory, or to lead compiled code astray: refused, and nothing has run."""

import io
import json
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn
import skops.io

from restsure.training.saving.model_file import types_in
from tests.security.forge import accepted, members_of, npy, put, refused, saved, zipped

NUMBERS = iter(range(10**9, 2 * 10**9))


def node(loader: str, name: str, **more: Any) -> dict[str, Any]:
    module, _, kind = name.rpartition(".")
    return {"__class__": kind, "__module__": module, "__loader__": loader, "__id__": next(NUMBERS), **more}


def plain(value: Any) -> dict[str, Any]:
    return node("JsonNode", "builtins.str", content=json.dumps(value), is_json=True)


def several(*items: Any, kind: str = "list") -> dict[str, Any]:
    return node(f"{kind.title()}Node", f"builtins.{kind}", content=list(items))


def types(count: int, name: str = "builtins.str") -> dict[str, Any]:
    return several(*[node("TypeNode", name) for _ in range(count)])


def dictionary(content: dict[str, Any], keys: Any = None) -> dict[str, Any]:
    return node("DictNode", "builtins.dict", content=content, key_types=types(len(content)) if keys is None else keys)


def thing(name: str, **attributes: Any) -> dict[str, Any]:
    return node("ObjectNode", name, content=dictionary(attributes))


def generator(kind: str) -> dict[str, Any]:
    """As skops itself writes it; its arrays go along."""
    data = skops.io.dumps(np.random.Generator(getattr(np.random, kind)(0)))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(members.pop("schema.json")) | {"members": members}


def laughs(depth: int) -> dict[str, Any]:
    """Each list holds the one before twice; the second time only by its number."""
    part = several()
    for _ in range(depth):
        part = several(part, several() | {"__id__": part["__id__"]})
    return part


def itself() -> dict[str, Any]:
    part = several()
    part["content"].append(several() | {"__id__": part["__id__"]})
    return part


SGD = "sklearn.linear_model._stochastic_gradient.SGDClassifier"
RUN = several(plain("mkdir ran"), kind="tuple")
STATE: dict[str, Any] = {"content": dictionary({}), "__reduce__": {"args": RUN}}


def parts() -> Iterator[tuple[str, Any, str]]:
    """What becomes an attribute of the model, and what is said about it."""
    for function in ("os.system", "posix.system", "builtins.eval", "numpy.load", "numpy.fromfile", "numpy.log1p"):
        yield f"function {function}", node("FunctionNode", function), f"not trusted: {function.replace('.', ':')}$"
    openml = "sklearn.datasets._openml.fetch_openml"
    yield "function of scikit-learn", node("FunctionNode", openml), "not trusted: .*fetch_openml$"
    for kind in (
        "subprocess.Popen",
        "builtins.type",
        "functools.partial",
        "operator.methodcaller",
        "sklearn.dummy.DummyClassifier",
    ):
        yield f"type {kind}", node("TypeNode", kind), f"not trusted: .*:{kind.rpartition('.')[2]}$"
    yield "object Popen", thing("subprocess.Popen", args=plain("mkdir ran")), "not trusted: subprocess:Popen"
    yield "object of another package", thing("joblib.memory.Memory"), "not trusted: joblib.memory:Memory"
    yield "object of a function", thing("sklearn.base.clone"), "not trusted: sklearn.base:clone"
    yield "object from elsewhere", thing("sklearn.pipeline.defaultdict"), "not trusted: sklearn.pipeline:defaultdict"
    yield "object of compiled code", thing("sklearn.neighbors._kd_tree.KDTree"), "not trusted: .*:KDTree"
    yield "object of no module", thing("sklearn.nothing.Nothing"), "not trusted: sklearn.nothing:Nothing"
    yield "called Popen", node("ConstructorFromReduceNode", "subprocess.Popen", content=RUN), "made by ConstructorFrom"
    yield "called estimator", node("ConstructorFromReduceNode", SGD, content=RUN), "made by ConstructorFromReduceNode"
    yield "list os.system", node("ListNode", "os.system", content=[plain("mkdir ran")]), "not trusted: os:system"
    yield "set eval", node("SetNode", "builtins.eval", content=[plain("1")]), "not trusted: builtins:eval"
    yield "tuple of a class", node("TupleNode", SGD, content=[plain(1)]), "not trusted: .*:SGDClassifier"
    yield (
        "dictionary os.getcwd",
        node("DictNode", "os.getcwd", content={}, key_types=types(0)),
        "not trusted: os:getcwd",
    )
    yield "keys os.system", dictionary({"mkdir ran": plain(1)}, types(1, "os.system")), "keys of .* type system"
    yield (
        "keys estimators",
        dictionary({"a": plain(1)}, types(1, SGD)),
        "keys of a dictionary are of type SGDClassifier",
    )
    yield "keys of no type", dictionary({"a": plain(1)}, several(plain(1))), "keys of a dictionary"
    yield (
        "number eval",
        node("NdArrayNode", "builtins.eval", type="json", content=[], shape=RUN),
        "not trusted: builtins:eval",
    )
    func = {"func": node("FunctionNode", "os.system"), "args": RUN, "kwds": dictionary({}), "namespace": plain(None)}
    yield "partial", node("PartialNode", "functools.partial", content=func), "made by PartialNode"
    yield "methodcaller", node("OperatorFuncNode", "operator.methodcaller", attrs=RUN), "made by OperatorFuncNode"
    yield "method", node("MethodNode", SGD, content={"func": "fit", "obj": thing(SGD)}), "made by MethodNode"
    yield "loss", node("LossNode", SGD, **STATE), "not trusted: .*:SGDClassifier"
    yield "tree", node("TreeNode", "os.system", **STATE), "damaged"
    yield "random state", node("RandomStateNode", "os.getcwd", content=dictionary({})), "not trusted: os:getcwd"
    seeds = {"bit_generator": dictionary({"bit_generator": plain("seed")}), "seed_seq": dictionary({})}
    yield (
        "generator",
        node("RandomGeneratorNode", "numpy.random._generator.Generator", content=seeds),
        "numpy.random.seed",
    )
    yield "generator with an index", generator("Philox"), "Generator: its random numbers"
    masked = {"data": plain(1), "mask": plain(1)}
    yield "masked array", node("MaskedArrayNode", "numpy.ma.MaskedArray", content=masked), "made by MaskedArrayNode"
    factory = {"main": dictionary({}), "default_factory": node("FunctionNode", "os.getcwd")}
    yield "default", node("DefaultDictNode", "collections.defaultdict", content=factory), "made by DefaultDictNode"
    sparse = node("SparseMatrixNode", "scipy.sparse._csr.csr_matrix", type="scipy", file="1.npy")
    yield "sparse matrix", sparse, "made by SparseMatrixNode"
    yield "node from before", node("CachedNode", "builtins.list"), "made by CachedNode"
    yield "unknown node", node("EvalNode", "builtins.eval", content="1"), "made by EvalNode"
    yield "no loader", {"__class__": "list", "__module__": "builtins", "__id__": 5}, "__loader__"
    yield "no node", [1, 2], "damaged"
    yield "no JSON", node("JsonNode", "builtins.str", content="{"), "JSONDecodeError"
    yield "no text", node("JsonNode", "builtins.str", content={"a": 1}), "made by JsonNode"
    yield "a number of 5,000 digits", node("JsonNode", "builtins.str", content="1" * 5000), "digits"
    yield "lists in each other", node("JsonNode", "builtins.str", content="[" * 100_000), "RecursionError"
    yield (
        "array of no file",
        node("NdArrayNode", "numpy.ndarray", type="numpy", file="../../etc/passwd"),
        "made by NdArrayNode",
    )
    yield "bytes of no file", node("BytesNode", "builtins.bytes", file="/etc/passwd"), "no item named '/etc/passwd'"
    version = plain(sklearn.__version__)
    cached = thing("sklearn.pipeline.Pipeline", memory=plain("ran"), steps=several(), _sklearn_version=version)
    yield "a directory of pickles", cached, "not trusted: memory='ran'"
    yield (
        "another version",
        thing(SGD, _sklearn_version=plain("0.1")),
        "unpickle estimator SGDClassifier from version 0.1",
    )
    yield "a billion laughs", laughs(64), "stands for more than it holds"
    yield "a list in itself", itself(), "is in itself"
    yield "a number twice", several(plain(1) | {"__id__": 5}, several() | {"__id__": 5}), "have the number 5"
    yield "a text twice", several(plain(1) | {"__id__": 5}, plain(2) | {"__id__": 5}), "have the number 5"


def edited(name: str, edit: Callable[[Any, dict[str, bytes]], None]) -> bytes:
    """An honest file with its schema and members changed."""
    members = members_of(name)
    schema = json.loads(members["schema.json"])
    edit(schema, members)
    return zipped(members | {"schema.json": json.dumps(schema).encode()})


def with_part(part: Any) -> Callable[[Any, dict[str, bytes]], None]:
    def edit(schema: Any, members: dict[str, bytes]) -> None:
        members |= part.pop("members", {}) if isinstance(part, dict) else {}
        schema["content"]["content"]["evil_"] = part
        schema["content"]["key_types"]["content"].append(node("TypeNode", "builtins.str"))

    return edit


@pytest.mark.parametrize(("part", "said"), [pytest.param(*rest, id=name) for name, *rest in parts()])
def test_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: Any, said: str) -> None:
    monkeypatch.chdir(tmp_path)
    put(tmp_path, saved("pipeline")[0], edited("pipeline", with_part(part)))
    refused(tmp_path, "pipeline", said)


@pytest.mark.parametrize(
    "part", [plain([1]), several(plain(1)), generator("PCG64"), thing(SGD, _sklearn_version=plain(sklearn.__version__))]
)
def test_harmless_parts_are_none_of_our_business(tmp_path: Path, part: Any) -> None:
    """Or else the tests above would show nothing."""
    put(tmp_path, saved("pipeline")[0], edited("pipeline", with_part(part)))
    accepted(tmp_path, "pipeline")


def test_strangers_are_listed_before_anything_is_loaded(tmp_path: Path) -> None:
    path = put(tmp_path, saved("pipeline")[0], edited("pipeline", with_part(node("FunctionNode", "os.system"))))
    assert "os:system" in types_in(path)


def schema_with(**changes: Any) -> Callable[[Any, dict[str, bytes]], None]:
    return lambda schema, members: schema.update(changes)


SCHEMAS: dict[str, tuple[Callable[[Any, dict[str, bytes]], None], str]] = {
    "an old protocol": (schema_with(protocol=0), "of skops protocol 0"),
    "a protocol to come": (schema_with(protocol=99), "of skops protocol 99"),
    "a protocol that is true": (schema_with(protocol=True), "of skops protocol True"),
    "another class": (
        schema_with(**thing("sklearn.dummy.DummyClassifier", _sklearn_version=plain(sklearn.__version__))),
        "not of a",
    ),
    "no model": (schema_with(**several(), key_types=None), "it is of a builtins:list"),
    "other parameters": (lambda schema, _: sgd_of(schema).update(alpha=plain(7.0)), "with other parameters"),
    "steps left out": (
        lambda schema, _: schema["content"]["content"]["steps"]["content"].pop(0),
        "Pipeline with other parameters",
    ),
}


def sgd_of(schema: Any) -> Any:
    return schema["content"]["content"]["steps"]["content"][1]["content"][1]["content"]["content"]


@pytest.mark.parametrize(("edit", "said"), SCHEMAS.values(), ids=SCHEMAS)
def test_schemas(tmp_path: Path, edit: Any, said: str) -> None:
    put(tmp_path, saved("pipeline")[0], edited("pipeline", edit))
    refused(tmp_path, "pipeline", said)


def archives() -> Iterator[tuple[str, bytes, str]]:
    """Zip files that are something else than they seem."""
    members, honest = members_of("pipeline"), saved("pipeline")[1]
    first = next(name for name in members if name.endswith(".npy"))
    for name in ("../evil.npy", "/tmp/evil.npy", "a/b.npy", "..\\evil.npy", "C:evil.npy", "\uff11.npy", "evil.so"):
        yield f"named {name!r}", zipped(members | {name: b"x"}), "strange names"
    twice = zipped(members | {"schema-json": members["schema.json"]}).replace(b"schema-json", b"schema.json")
    yield "the schema twice", twice, "twice the same"
    yield "a bomb", zipped(members | {"9.npy": bytes(10**7)}, compression=zipfile.ZIP_DEFLATED), "compressed members"
    yield "a bomb of text", zipped(members | {"schema.json": b" " * 10**7}, compression=zipfile.ZIP_LZMA), "compressed"
    yield "members over each other", overlapping(honest), "on top of each other|damaged"
    lying = honest.replace(struct.pack("<L", len(members["schema.json"])), struct.pack("<L", 2**31 - 1))
    yield "sizes that are not", lying, "damaged"
    yield "encrypted", encrypted(honest), "damaged"
    yield "no schema", zipped({name: data for name, data in members.items() if name != "schema.json"}), "schema.json"
    yield "no layouts", zipped({name: data for name, data in members.items() if name != "layouts.json"}), "layouts.json"
    for what, text in {
        "no JSON": b"{",
        "NaN": b'{"protocol": NaN}',
        "a list": b"[]",
        "bytes": b"\xff\xfe",
        "null": b"null",
    }.items():
        yield f"a schema of {what}", zipped(members | {"schema.json": text}), "damaged"
    yield "a schema in itself", zipped(members | {"schema.json": b'{"content":' * 50_000}), "RecursionError"
    yield "an array of pickles", zipped(members | {first: npy(np.array([{1}, None], object))}), "dtype object"
    for shape in ("(10000000000000,)", "(-1,)", "(1.5,)", "(True,)", "(9, 9)", "()", "('x',)", "(" + "1," * 100 + ")"):
        header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
        data = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + bytes(64)
        yield f"an array of shape {shape[:20]}", zipped(members | {first: data}), "damaged"
    for what, data in {
        "nothing": b"",
        "text": b"hello",
        "a long header": b"\x93NUMPY\x02\x00\xff\xff\xff\x7f" + bytes(99),
    }.items():
        yield f"an array of {what}", zipped(members | {first: data}), "damaged"
    yield "cut short", honest[: len(honest) // 2], "damaged"
    yield "without an end", honest[:-30], "damaged"
    yield "two bytes", b"PK", "damaged"
    at = honest.index(members[first]) + 130
    yield "a bit flipped", honest[:at] + bytes([honest[at] ^ 1]) + honest[at + 1 :], "CRC"


def overlapping(honest: bytes) -> bytes:
    """Two entries of the directory for the same bytes, so that more comes out than is in."""
    with zipfile.ZipFile(io.BytesIO(honest)) as archive:
        start, count = archive.start_dir, len(archive.infolist())
        largest = max(archive.infolist(), key=lambda info: info.file_size)
    end = honest.index(b"PK\x05\x06")
    directory = honest[start:end]
    at = directory.index(largest.filename.encode()) - 46
    entry = directory[at : at + 46 + len(largest.filename)]
    copies = b"".join(entry[:46] + f"{k}".rjust(len(largest.filename) - 4, "0").encode() + b".npy" for k in range(99))
    more = directory + copies
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count + 99, count + 99, len(more), start, 0)
    return honest[:start] + more + tail


def encrypted(honest: bytes) -> bytes:
    changed = bytearray(honest)
    at = -1
    while (at := changed.find(b"PK\x01\x02", at + 1)) >= 0:
        changed[at + 8] |= 1
    return bytes(changed)


@pytest.mark.parametrize(("model", "said"), [pytest.param(*rest, id=name) for name, *rest in archives()])
def test_archives(tmp_path: Path, model: bytes, said: str) -> None:
    put(tmp_path, saved("pipeline")[0], model)
    refused(tmp_path, "pipeline", said)

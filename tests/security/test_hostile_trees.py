"""Models of river as JSON, changed by somebody: names that lead elsewhere, parts that do not fit, texts without end."""

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from restsure.training.saving.model_file import types_in
from tests.security.forge import accepted, put, refused, saved


def edited(name: str, edit: Callable[[Any], Any]) -> bytes:
    tree = json.loads(saved(name)[1])
    made = edit(tree)
    return json.dumps(tree if made is None else made).encode()


def with_value(value: Any, *nodes: Any) -> Callable[[Any], None]:
    """The value becomes an attribute of the model; it may refer to the last of more nodes."""

    def edit(tree: Any) -> None:
        last = {"at": len(tree["nodes"]) + len(nodes) - 1}
        given, *more = json.loads(json.dumps([value, *nodes]).replace(json.dumps(LAST), json.dumps(last)))
        tree["nodes"] += more
        tree["nodes"][0]["attributes"]["evil"] = given

    return edit


LAST = {"at": -1}


def values() -> Iterator[tuple[str, Any, str]]:
    """Values that are written where they stand."""
    for name in (
        "os:system",
        "posix:system",
        "builtins:eval",
        "builtins:exec",
        "builtins:__import__",
        "numpy:load",
        "pickle:loads",
        "_pickle:loads",
        "river.stream.iter_csv:iter_csv",
        "river.stream.cache:pickle.loads",
        "river.datasets.base:request.urlopen",
        "river.base.base:inspect.getsource",
        "river.nothing:nothing",
        "river.utils.math:<lambda>",
        "tests.security.forge:put",
        "",
        ":",
        "os",
    ):
        yield f"function {name}", {"function": name}, "not trusted: "
    for name in (
        "subprocess:Popen",
        "builtins:type",
        "builtins:object",
        "functools:partial",
        "operator:methodcaller",
        "river.stream.cache:Cache",
        "river.datasets.phishing:Phishing",
        "river.utils.math:math",
        "river.base.base:inspect.Signature",
        "sklearn.pipeline:Pipeline",
        "tests.training.zoo:BatchLearner",
        "numpy:ndarray",
    ):
        yield f"class {name}", {"class": name}, "not trusted: "
    yield "a method of text", {"method": "format", "of": "x"}, "not trusted: builtins:str.format"
    yield "a method that is none", {"method": "steps", "of": {"at": 0}}, "not trusted: .*Pipeline.steps"
    yield "a method of nothing", {"method": "learn_one", "of": None}, "not trusted: .*NoneType.learn_one"
    yield "no such part", {"at": 10**6}, "there is no part 1000000"
    yield "a part below zero", {"at": -(10**6)}, "there is no part -1000000"
    yield "a part that is true", {"at": True}, "there is no part True"
    yield "half a part", {"at": 0.5}, "there is no part 0.5"
    yield "no kind", {"eval": "1"}, "has no meaning"
    yield "a list", [1, 2], "has no meaning"
    yield "bytes that are none", {"bytes": "%%%"}, "damaged"
    yield "a number that is text", {"float": "1e999; import os"}, "has no meaning"
    yield "a number of objects", {"number": ["|O", "0000000000000000"]}, "has no meaning"
    yield "a number of fields", {"number": ["i4,i4", "0000000000000000"]}, "has no meaning"
    yield "two numbers", {"number": ["<f8", "00" * 16]}, "damaged"
    yield "half a number", {"number": ["<f8", "00"]}, "damaged"
    yield "a set of lists", {"frozenset": [{"at": 1}]}, "damaged"
    yield "a range of text", {"range": ["a", "b", "c"]}, "has no meaning"


def parts() -> Iterator[tuple[str, Any, str]]:
    """Nodes of their own."""
    for name in (
        "subprocess:Popen",
        "builtins:eval",
        "river.stream.cache:Cache",
        "sklearn.pipeline:Pipeline",
        "os:system",
    ):
        yield f"object {name}", {"object": name, "attributes": {"args": "mkdir ran"}}, f"not trusted: {name}"
    yield "maker os.system", maker("builtins:list", {"function": "os:system"}), "object of builtins:list cannot be made"
    yield "maker itself", maker("river.optim.sgd:SGD", {"class": "river.optim.sgd:SGD"}), "SGD cannot be made"
    yield (
        "maker of partial",
        maker("functools:partial", {"class": "functools:partial"}),
        "not trusted: functools:partial",
    )
    yield (
        "maker methodcaller",
        maker("operator:methodcaller", {"class": "operator:methodcaller"}),
        "not trusted: operator:me",
    )
    yield "global", {"object": "river.optim.sgd:SGD", "global": "os.system"}, "has no meaning"
    yield (
        "partial of os.system",
        {"partial": [{"function": "os:system"}, {"tuple": ["mkdir ran"]}, LAST]},
        "not trusted: os",
    )
    yield "partial of a number", {"partial": [1, {"tuple": []}, {"at": 0}]}, "damaged"
    yield "factory eval", {"defaultdict": [], "factory": {"function": "builtins:eval"}}, "not trusted: builtins:eval"
    yield "factory a number", {"defaultdict": [], "factory": 1}, "damaged"
    yield "a tuple with arguments", {"object": "builtins:int", "new": {"tuple": ["9" * 99]}}, "cannot be made"
    yield "a slot of no name", {"object": "river.optim.sgd:SGD", "slots": {"__class__": 1}}, "has no slot '__class__'"
    yield "a state for none", {"object": "river.optim.sgd:SGD", "state": 5}, "damaged"
    yield "items for none", {"object": "river.optim.sgd:SGD", "items": [1]}, "damaged"
    yield "pairs for none", {"object": "river.optim.sgd:SGD", "pairs": [[1, 1]]}, "damaged"
    yield "pairs that are none", {"dict": [[1, 2, 3]]}, "damaged"
    yield "keys that cannot be", {"dict": [[LAST, 1]]}, "unhashable"
    yield "made of itself", {"object": "collections:deque", "new": {"tuple": [LAST]}}, "damaged"
    yield "an iterator of itself", {"iterator": LAST, "index": 0}, "made of itself"
    yield "an iterator of text", {"iterator": "abc", "index": 1}, "damaged"
    yield "a short queue", {"deque": [], "maxlen": -1}, "maxlen"
    yield "an array of objects", array(dtype="|O"), "dtype object"
    yield "an array of pickles", array(dtype="V8"), "damaged"
    yield "an array of no end", array(shape=[2**62]), "has not 8 bytes"
    yield "an array of no end in each direction", array(shape=[2**31, 2**31, 0]), "has not 8 bytes"
    yield "an array below zero", array(shape=[-1]), "is not a shape"
    yield "an array of halves", array(shape=[1.0]), "is not a shape"
    yield "an array of trues", array(shape=[True]), "is not a shape"
    yield "an array of many dimensions", array(shape=[1] * 99), "is not a shape"
    yield "an array of no order", array(order="Q"), "damaged"
    yield "an array of no bytes", array(array="***"), "damaged"
    yield "objects of no end", {"objects": [], "shape": [2**40]}, "has no meaning"
    yield "few random words", {"Random": "AAAA", "version": 3, "gauss": None}, "damaged"
    words = b64encode(bytes(4 * 624) + (10**6).to_bytes(4, "little")).decode()
    yield "a place far off", {"Random": words, "version": 3, "gauss": None}, "random numbers is damaged"
    yield (
        "a place far off in numpy's",
        {"RandomState": words, "has_gauss": 0, "gauss": 0.0},
        "random numbers is damaged",
    )
    yield "no node", [1], "damaged"
    yield "a number as node", 7, "damaged"
    window = "river._river_rust.stats:RsRollingQuantile"
    yield (
        "a window without end",
        {"object": window, "new": {"tuple": [0.5, 2**40]}, "state": {"bytes": "AAAA"}},
        "such a state",
    )


def maker(name: str, made_by: Any) -> Any:
    return {"object": name, "maker": made_by, "new": {"tuple": ["mkdir ran"]}}


def array(**changes: Any) -> Any:
    return {"array": "AAAAAAAAAAA=", "dtype": "<f8", "shape": [1], "order": "C"} | changes


@pytest.mark.parametrize(("value", "said"), [pytest.param(*rest, id=name) for name, *rest in values()])
def test_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: Any, said: str) -> None:
    monkeypatch.chdir(tmp_path)
    put(tmp_path, saved("river")[0], edited("river", with_value(value)))
    refused(tmp_path, "river", said)


@pytest.mark.parametrize(("part", "said"), [pytest.param(*rest, id=name) for name, *rest in parts()])
def test_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: Any, said: str) -> None:
    monkeypatch.chdir(tmp_path)
    put(tmp_path, saved("river")[0], edited("river", with_value(LAST, part)))
    refused(tmp_path, "river", said)


@pytest.mark.parametrize("value", [1, {"tuple": [1, {"float": "nan"}]}, {"class": "builtins:float"}, {"at": 0}])
def test_harmless_values_are_none_of_our_business(tmp_path: Path, value: Any) -> None:
    put(tmp_path, saved("river")[0], edited("river", with_value(value)))
    accepted(tmp_path, "river")


def test_strangers_are_listed_before_anything_is_loaded(tmp_path: Path) -> None:
    path = put(tmp_path, saved("river")[0], edited("river", with_value({"tuple": [{"function": "os:system"}]})))
    assert "os:system" in types_in(path)


def texts() -> Iterator[tuple[str, bytes, str]]:
    honest = saved("river")[1]
    tree = json.loads(honest)
    for name, changes, said in (
        ("another format", {"restsure": 2}, "of format 2"),
        ("another version", {"versions": {"river": "0.1"}}, "saved with river 0.1, and this is"),
        ("versions that are none", {"versions": 5}, "damaged"),
        ("no model", {"root": 5}, "it is of a builtins:int"),
        ("a part for a model", {"root": {"at": 2}}, "it is of a .*, not of a river.compose.pipeline:Pipeline"),
        ("no nodes", {"nodes": []}, "there is no part 0"),
        ("nodes that are none", {"nodes": {"0": tree["nodes"][0]}}, "damaged"),
        ("layouts that are none", {"layouts": [5]}, "damaged"),
        ("memory without end", {"layouts": [{"size": 2**50, "arrays": []}]}, "damaged"),
    ):
        yield name, json.dumps(tree | changes).encode(), said
    yield "NaN", honest.replace(b'"restsure": 1', b'"restsure": NaN'), "NaN is no number"
    yield "Infinity", honest.replace(b'"restsure": 1', b'"restsure": -Infinity'), "-Infinity is no number"
    yield "a number of 5,000 digits", honest.replace(b'"restsure": 1', b'"restsure": ' + b"1" * 5000), "digits"
    yield "lists in each other", b"[" * 100_000, "RecursionError"
    deep = honest.replace(b'"root": ', b'"root": ' + b'{"tuple": [' * 900, 1).replace(
        b', "nodes"', b"]}" * 900 + b', "nodes"', 1
    )
    yield "tuples in each other", deep, "RecursionError|it is of a builtins:tuple"
    yield "cut short", honest[:-1], "damaged"
    yield "nothing", b"", "damaged"
    yield "a list", b"[]", "damaged"
    yield "null", b"null", "damaged"
    yield "bytes", b"\xff\xfe\x00", "damaged"
    yield "a pickle in letters", b"cos\nsystem\n(S'mkdir ran'\ntR.", "damaged"
    yield "a script", b"import os; os.mkdir('ran')", "damaged"


@pytest.mark.parametrize(("model", "said"), [pytest.param(*rest, id=name) for name, *rest in texts()])
def test_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: bytes, said: str) -> None:
    monkeypatch.chdir(tmp_path)
    put(tmp_path, saved("river")[0], model)
    refused(tmp_path, "river", said)

"""One model in one file, to the bit, and without pickle: scikit-learn models by skops, all others as JSON.

A file is read only if it is of a model like the one that it is read for. Whatever is wrong with it is said in one line, no
code in it is run, and what it takes of memory is in proportion to its size.
"""

import json
import pickle
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from restsure.errors import InvalidParameter, MissingExtra, RestSureError
from restsure.training.saving.build import build
from restsure.training.saving.files import parsed, read_whole, write_whole
from restsure.training.saving.skops_file import dump_skops, load_skops, types_in_skops
from restsure.training.saving.tree import Description, name_of, names
from restsure.training.saving.trust import UNCHECKED, Trust, Untrusted, settings

LARGEST = 2**31  # bytes of a file
_FORMAT = 1
_VERSIONED = ("river", "sklearn")
_ELSEWHERE = {  # river's parts that depend on addresses in memory, or on hashes, which are others in every process
    "river.anomaly.lof:LocalOutlierFactor",
    "river.feature_extraction.kernel_approx:RandomTreesEmbedding",
    "river.neighbors.ann.nn_vertex:Vertex",
    "river.neighbors.ann.swinn:SWINN",
    "river.rules.amrules:AMRules",
    "river.sketch.counter:Counter",
    "river.sketch.set:Set",
}


def write_model(path: Path, model: Any, *, like: Any = None, pickled: bool = False) -> None:
    """Save ``model`` to ``path``, if it comes back as it is; as it would be read for ``like``, the model itself if None.

    ``pickled`` says that it is to be pickled, which can hold what other files cannot, and is not checked.
    """
    write_whole(path, model_bytes(model, like=like, pickled=pickled))


def read_model(path: Path, like: Any, *, pickled: bool = False) -> Any:
    """The model in a file, which must be one like ``like``, a candidate as its user built it.

    Only with ``pickled`` is a pickled file loaded: it can run any code.
    """
    return model_from(read_whole(path, at_most=LARGEST), path, like, pickled=pickled)


def types_in(path: Path) -> list[str]:
    """The classes and functions that a file names, ``module:name``; a pickled one is refused, since one cannot know."""
    data = read_whole(path, at_most=LARGEST)
    if _is_pickle(data):
        raise InvalidParameter(f"{path}: is pickled: what is in it can be known only by running it")
    try:
        if _is_skops(data):
            return types_in_skops(data)
        root, nodes, _ = _tree(data)
        return sorted({name for _, name in names(root, nodes)})
    except MissingExtra:
        raise
    except Exception as error:
        raise _damaged(path, error) from None


def suffix_of(data: bytes) -> str:
    """What a file of these bytes is called."""
    return "skops" if _is_skops(data) else "pickle" if _is_pickle(data) else "json"


def model_bytes(model: Any, *, like: Any = None, pickled: bool = False) -> bytes:
    """What :func:`write_model` writes."""
    if pickled:
        return pickle.dumps(model, protocol=5)
    kind, trust = type(model).__name__, Trust(model if like is None else like)
    described = Description(model, brief=_is_sklearn(model))
    if bound := sorted(_ELSEWHERE & described.classes.keys()):
        raise InvalidParameter(f"{kind}: cannot be saved, since {bound[0]} depends on addresses in memory")
    if sparse := sorted(name for name in described.classes if name.startswith("scipy.sparse")):
        raise InvalidParameter(f"{kind}: cannot be saved, since it has learnt a sparse matrix, {sparse[0]}")
    if libraries := sorted(UNCHECKED & {name.partition(".")[0] for name in described.classes}):
        raise InvalidParameter(
            f"{kind}: cannot be saved without pickle, since {libraries[0]} believes what it reads; Checkpoints(pickle=True)"
        )
    data = dump_skops(model, described.layouts) if _is_sklearn(model) else _dump_tree(described)
    if len(data) > LARGEST:
        raise InvalidParameter(f"{kind}: cannot be saved, since it takes {len(data)} bytes, more than {LARGEST}")
    try:
        back = Description(_load(data, trust, model if like is None else like), brief=_is_sklearn(model))
    except RestSureError:
        raise
    except Exception as error:
        raise InvalidParameter(f"{kind}: cannot be saved, since it would not be read again ({_said(error)})") from None
    if back.text() != described.text():
        raise InvalidParameter(f"{kind}: cannot be saved to the bit ({described.difference(back)})")
    return data


def model_from(data: bytes, path: Path, like: Any, *, pickled: bool = False) -> Any:
    """What :func:`read_model` reads from a file of these bytes; ``path`` is for what is said about it."""
    if _is_pickle(data) and not pickled:
        raise InvalidParameter(f"{path}: is pickled, and can run any code: it is loaded only with pickled=True")
    try:
        return _checked(pickle.loads(data), like) if _is_pickle(data) else _load(data, Trust(like), like)
    except MissingExtra:
        raise
    except Exception as error:
        raise _damaged(path, error) from None


def _load(data: bytes, trust: Trust, like: Any) -> Any:
    if _is_sklearn(like) is not _is_skops(data):
        raise ValueError(f"it is not of a {type(like).__name__}")
    model = _checked(load_skops(data, trust) if _is_skops(data) else _load_tree(data, trust), like)
    if _is_sklearn(like) and settings(model) != settings(like):
        raise ValueError(f"it is of a {type(like).__name__} with other parameters")
    return model


def _checked(model: Any, like: Any) -> Any:
    if type(model) is not type(like):
        raise ValueError(f"it is of a {name_of(type(model))}, not of a {name_of(type(like))}")
    return model


def _dump_tree(described: Description) -> bytes:
    tree = {"restsure": _FORMAT, "versions": _versions(described.classes), "root": described.root}
    tree |= {"nodes": described.nodes, "layouts": described.layouts}
    return json.dumps(tree, allow_nan=False).encode()


def _load_tree(data: bytes, trust: Trust) -> Any:
    root, nodes, layouts = _tree(data)
    return build(root, nodes, layouts, trust)


def _tree(data: bytes) -> tuple[Any, list[Any], list[Any]]:
    tree = parsed(data)
    if tree["restsure"] != _FORMAT:
        raise ValueError(f"it is of format {tree['restsure']}, not {_FORMAT}")
    for package, version in tree["versions"].items():
        if package in _VERSIONED and version != (here := _versions([f"{package}:"]).get(package)):
            raise ValueError(f"it was saved with {package} {version}, and this is {here}")
    return tree["root"], tree["nodes"], tree["layouts"]


def _versions(named: Iterable[str]) -> dict[str, str]:
    """Of the packages that classes of these names are from: with another version a model goes on otherwise."""
    packages = {name.partition(":")[0].partition(".")[0] for name in named} & {*_VERSIONED}
    return {package: str(import_module(package).__version__) for package in sorted(packages)}


def _is_sklearn(model: Any) -> bool:
    return hasattr(type(model), "get_params")


def _is_skops(data: bytes) -> bool:
    return data.startswith(b"PK")


def _is_pickle(data: bytes) -> bool:
    return data.startswith(b"\x80")


def _damaged(path: Path, error: Exception) -> InvalidParameter:
    if isinstance(error, Untrusted):
        return InvalidParameter(f"{path}: names types that are not trusted: {error}")
    return InvalidParameter(f"{path}: is not a file that was saved here, or is damaged ({_said(error)})")


def _said(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]

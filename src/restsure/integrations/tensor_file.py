"""Dictionaries of tensors and plain values in one safetensors file: tensors as such, all else as JSON, nothing pickled."""

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

from restsure.errors import InvalidParameter, MissingExtra, WrongType
from restsure.training.saving.files import replacing

try:
    import torch
    from safetensors import SafetensorError, safe_open
    from safetensors.torch import save_file
except ImportError:
    raise MissingExtra("TorchLearner needs PyTorch and safetensors: pip install 'restsure[torch]'") from None

_KEY = "restsure"  # the entry of the file's own metadata that holds the JSON


def write_tensors(path: Path, tree: Any) -> None:
    """Write ``tree`` to ``path``, all of it or nothing."""
    tensors = dict[str, torch.Tensor]()
    text = json.dumps(_plain(tree, "", tensors), allow_nan=False)
    with replacing(path) as temporary:
        save_file(tensors, temporary, metadata={_KEY: text})


def read_tensors(path: Path) -> Any:
    """What :func:`write_tensors` wrote; anything else is refused, and nothing in it is ever run."""
    if not path.is_file():
        raise InvalidParameter(f"{path}: there is no such file")
    try:
        with safe_open(path, framework="pt") as file:
            text = (file.metadata() or {})[_KEY]
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return _value(json.loads(text), tensors)
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidParameter(f"{path}: is not a file that was saved here, or is damaged ({error})") from None


def _plain(value: Any, name: str, tensors: dict[str, torch.Tensor]) -> Any:
    """``value`` as JSON; its tensors go to ``tensors``, each under the path that leads to it."""
    if isinstance(value, torch.Tensor):
        while name in tensors:
            name += "'"
        tensors[name] = value.detach().to("cpu", copy=True, memory_format=torch.contiguous_format)
        return {"tensor": name}
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(float(value))}
    if isinstance(value, (list, tuple)):
        items = [_plain(item, f"{name}.{at}", tensors) for at, item in enumerate(value)]
        return {"tuple": items} if isinstance(value, tuple) else items
    if isinstance(value, dict):
        pairs = [
            [_plain_key(key, name), _plain(item, f"{name}.{key}" if name else str(key), tensors)]
            for key, item in value.items()
        ]
        return {"counter" if isinstance(value, Counter) else "dict": pairs}
    raise WrongType(
        f"{name}: must be made of tensors, numbers, text, lists and dictionaries, not {type(value).__name__}"
    )


def _plain_key(key: Any, name: str) -> Any:
    if key is None or isinstance(key, (bool, int, str)):
        return key
    raise WrongType(f"{name}: keys must be text or whole numbers, but one is {type(key).__name__}")


def _value(plain: Any, tensors: dict[str, torch.Tensor]) -> Any:
    """The other way round."""
    match plain:
        case None | bool() | int() | float() | str():
            return plain
        case list():
            return [_value(item, tensors) for item in plain]
        case {"tensor": str(name)}:
            return tensors[name].clone()  # the file is mapped into memory: a copy outlives it
        case {"float": str(text)}:
            return float(text)
        case {"tuple": list(items)}:
            return tuple(_value(item, tensors) for item in items)
        case {"dict": list(pairs)}:
            return {_plain_key(key, "file"): _value(item, tensors) for key, item in pairs}
        case {"counter": list(pairs)}:
            return Counter({_plain_key(key, "file"): _value(item, tensors) for key, item in pairs})
    raise ValueError(f"{str(plain)[:40]} has no meaning")

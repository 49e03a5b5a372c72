"""Arrays as plain values, exact to the bit: dtype, shape, and where each entry lies in memory.

Where entries lie is part of a model: sums over the same numbers in another order end in other last bits, and what is written
into one array changes another that shares its memory.
"""

from base64 import b64decode, b64encode
from collections.abc import Iterable
from hashlib import sha256
from math import prod
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

_PLAIN = "?biufcSUmM"  # kinds of entries that are nothing but their bytes
_GAPS = 1000  # memory that arrays may lie scattered in, for each byte of theirs

# Of arrays that share memory, or have gaps: {"size": bytes, "arrays": [[number, offset, strides], ...]}
Layout = dict[str, Any]


def is_plain(dtype: np.dtype[Any]) -> bool:
    """Whether entries are numbers, text or dates of a fixed length, and nothing more."""
    return dtype.kind in _PLAIN and dtype.itemsize > 0


def described(array: NDArray[Any], *, brief: bool = False) -> dict[str, Any]:
    """An array as JSON, or its sum only; of a structured one each field, since there is rubbish between fields."""
    if array.dtype.names is not None:
        fields = {name: np.ascontiguousarray(array[name]) for name in array.dtype.names}
        return {"fields": {name: described(field, brief=brief) for name, field in fields.items()}}
    order: Literal["C", "F"] = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    data = array.tobytes(order)
    text = sha256(data).hexdigest() if brief else b64encode(data).decode()
    return {"array": text, "dtype": array.dtype.str, "shape": list(array.shape), "order": order}


def from_described(node: dict[str, Any]) -> NDArray[Any]:
    """The other way round; raises ValueError or TypeError where parts do not fit each other."""
    dtype, shape = np.dtype(str(node["dtype"])), checked_shape(node["shape"])
    data = b64decode(node["array"], validate=True)
    if not is_plain(dtype) or prod(shape) * dtype.itemsize != len(data) or node["order"] not in ("C", "F"):
        raise ValueError(f"an array of dtype {dtype} and shape {shape} has not {len(data)} bytes")
    return np.frombuffer(bytearray(data), dtype).reshape(shape, order=node["order"])


def checked_shape(shape: Any) -> tuple[int, ...]:
    """A short list of whole numbers that are not negative."""
    if not isinstance(shape, list) or len(shape) > 32 or any(type(size) is not int or size < 0 for size in shape):
        raise ValueError(f"{str(shape)[:40]} is not a shape")
    return tuple(shape)


def layouts_of(arrays: Iterable[tuple[int, NDArray[Any]]]) -> list[Layout]:
    """How numbered arrays lie in memory, of all that are not one block of their own."""
    spans = sorted((*_span(array), number, array) for number, array in arrays if array.size)
    groups = list[list[Any]]()
    reached = 0
    for span in spans:
        if span[0] < reached:
            groups[-1].append(span)
        else:
            groups.append([span])
        reached = max(reached, span[1])
    found = [_layout(group) for group in groups if len(group) > 1 or not group[0][3].flags.forc]
    return sorted(found, key=lambda layout: layout["arrays"][0][0])  # not by addresses


def _span(array: NDArray[Any]) -> tuple[int, int]:
    steps = [(size - 1) * stride for size, stride in zip(array.shape, array.strides, strict=True)]
    before, after = (sum(step for step in steps if (step > 0) is up) for up in (False, True))
    return _address(array) + before, _address(array) + after + array.itemsize


def _address(array: NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


def _layout(group: list[tuple[int, int, int, NDArray[Any]]]) -> Layout:
    start, end = min(span[0] for span in group), max(span[1] for span in group)
    places = [[number, _address(array) - start, list(array.strides)] for _, _, number, array in group]
    return {"size": end - start, "arrays": sorted(places)}


def lay_out(parts: list[Any], layouts: list[Layout]) -> None:
    """Put arrays where they lay in memory: ``parts`` are all of a model by number, arrays attributes of them or in lists."""
    for layout in layouts:
        for old, new in _laid_out(layout, parts):
            for part in parts:
                if type(part) is list:
                    part[:] = [new if item is old else item for item in part]
                elif hasattr(part, "__dict__"):
                    vars(part).update({name: new for name, item in vars(part).items() if item is old})


def _laid_out(layout: Layout, parts: list[Any]) -> list[tuple[Any, NDArray[Any]]]:
    """The arrays of a layout, each with one of the same entries that lies where it should."""
    olds = [parts[number] for number, _, _ in layout["arrays"]]
    if layout["size"] > _GAPS * sum(old.nbytes for old in olds) or any(old.dtype.hasobject for old in olds):
        raise ValueError(f"{layout['size']} bytes of memory are no place for the arrays in them")
    memory = np.zeros(layout["size"], np.uint8)
    news = list[NDArray[Any]]()
    for old, (_, offset, strides) in zip(olds, layout["arrays"], strict=True):
        news.append(np.ndarray(old.shape, old.dtype, memory, offset, tuple(strides)))
        news[-1][...] = old
    return list(zip(olds, news, strict=True))

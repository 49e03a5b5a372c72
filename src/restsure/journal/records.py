"""Records and their chain: each holds a hash of itself and of all before it, so that no change goes unseen."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from restsure.errors import DamagedRun

START = b""
"""What the chain begins with."""


class Record(NamedTuple):
    """The ``number``-th thing that happened, counted from 1: what ``kind`` of thing, written when and by which writer."""

    number: int
    epoch: int
    kind: str
    at_s: float
    body: dict[str, Any]


def encoded(body: dict[str, Any]) -> str:
    """The body as text; floats survive to the last bit."""
    return json.dumps(body, allow_nan=False, separators=(",", ":"))


def link(before: bytes, number: int, epoch: int, kind: str, at_s: float, body: str) -> bytes:
    """The hash of a record and, through ``before``, of all records before it."""
    text = json.dumps([number, epoch, kind, at_s, body], allow_nan=False)
    return hashlib.sha256(before + text.encode()).digest()


def checked(
    rows: Iterable[tuple[Any, ...]], head: tuple[int, bytes], after: tuple[int, bytes] = (0, START)
) -> Iterator[Record]:
    """The records of database rows; the first that is not as it was written is named.

    ``head``: the number and hash of the last one; ``after``: those of the one before the first row.
    """
    count, chain = after
    for number, epoch, kind, at_s, body, found in rows:
        count += 1
        try:
            chain = link(chain, number, epoch, kind, at_s, body)
            content = json.loads(body, parse_constant=_refuse)
        except (TypeError, ValueError, RecursionError) as error:
            raise DamagedRun(f"record {count} is damaged ({error})") from None
        if number != count or found != chain or not isinstance(content, dict):
            raise DamagedRun(f"record {count} is damaged: its hash does not fit")
        yield Record(number, epoch, kind, at_s, content)
    if (count, chain) != head:
        raise DamagedRun(f"{head[0]} records were written, but {count} are there")


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number")

"""Files that are whole or not there: written under another name, flushed and renamed; read only if they are plain files."""

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from restsure.errors import InvalidParameter

_LARGEST_TEXT = 2**28  # bytes of JSON, which take some ten times as many of memory
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Where to write what ``path`` is to hold: whoever reads sees the file before or the file after, also after a crash."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    temporary.unlink(missing_ok=True)
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    if os.name == "posix":  # elsewhere a directory cannot be flushed
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def write_whole(path: Path, data: bytes) -> None:
    """A file of these bytes, all of them or none."""
    with replacing(path) as temporary, temporary.open("xb") as file:
        file.write(data)


def read_whole(path: Path, *, at_most: int) -> bytes:
    """The bytes of a plain file; a link, a pipe, or a file of more than ``at_most`` bytes is refused."""
    if path.is_symlink():
        raise InvalidParameter(f"{path}: must be a plain file, not a link")
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | _NO_LINKS), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise InvalidParameter(f"{path}: must be a plain file")
            if status.st_size > at_most:
                raise InvalidParameter(f"{path}: must be of {at_most} bytes at the most, but has {status.st_size}")
            return file.read(at_most)
    except FileNotFoundError:
        raise InvalidParameter(f"{path}: there is no such file") from None
    except OSError as error:
        raise InvalidParameter(f"{path}: cannot be read ({error.strerror})") from None


def parsed(data: bytes) -> Any:
    """What is in a text of JSON, of numbers that are numbers."""
    if len(data) > _LARGEST_TEXT:
        raise ValueError(f"a text of {len(data)} bytes is too long")
    return json.loads(data, parse_constant=_no_number)


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no number")

"""The one way from a name to a path in a run directory."""

import re
from pathlib import Path

from restsure.errors import InvalidParameter

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+=@-]{0,254}")
_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{k}" for port in ("com", "lpt") for k in range(1, 10))}
_RULE = "must begin with a letter, a digit or _ and go on with these and . + = @ -, 255 at the most, and be no link"


def inside(root: Path, *names: str) -> Path:
    """``root/names[0]/...``, where every name is plain and none is a link, so that the path cannot lead elsewhere.

    >>> inside(Path("run"), "checkpoints", "model.skops").as_posix()
    'run/checkpoints/model.skops'
    >>> inside(Path("run"), "..")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    restsure.errors.InvalidParameter: name='..': must begin with a letter, a digit or _ ... and be no link
    """
    path = root
    for name in names:
        plain = isinstance(name, str) and _NAME.fullmatch(name) and not name.endswith(".")
        if not plain or name.split(".")[0].lower() in _DEVICES or (path := path / name).is_symlink():
            shown = f"{name[:60]}..." if isinstance(name, str) and len(name) > 60 else name
            raise InvalidParameter(f"name={shown!r}: {_RULE}")
    return path

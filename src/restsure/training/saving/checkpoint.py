"""A learner in a directory: ``learner.json`` says what it is and names the file of its model.

The model is written first, under a name of its own; whoever reads sees the learner before or the learner after, whole.
"""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from restsure.errors import InvalidParameter
from restsure.training.saving.files import parsed, read_whole, write_whole
from restsure.training.saving.model_file import LARGEST, suffix_of

_NAME = "learner.json"
_LARGEST = 10**6  # bytes of it
_MODEL = re.compile(r"model-[0-9a-f]{16}\.(skops|json|pickle)", re.ASCII)


def write_checkpoint(directory: Path, facts: dict[str, Any], model: bytes) -> None:
    """Write both files; a model that is there from before is removed."""
    digest = hashlib.sha256(model).hexdigest()
    name = f"model-{digest[:16]}.{suffix_of(model)}"
    write_whole(directory / name, model)
    learner = facts | {"file": name, "sha256": digest}
    write_whole(directory / _NAME, json.dumps({"learner": learner, "sha256": _digest(learner)}).encode())
    for other in directory.iterdir():
        if _MODEL.fullmatch(other.name) and other.name != name:
            other.unlink(missing_ok=True)


def read_checkpoint(directory: Path) -> tuple[dict[str, Any], bytes, Path]:
    """The facts and the model as they were written, and where the model is; anything else is refused."""
    path = directory / _NAME
    try:
        whole = parsed(read_whole(path, at_most=_LARGEST))
        learner, digest = whole["learner"], whole["sha256"]
        if not isinstance(learner, dict) or _digest(learner) != digest or not _MODEL.fullmatch(learner["file"]):
            raise ValueError("it does not have the sum that it says")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        if isinstance(error, InvalidParameter):
            raise
        what = " ".join(f"{type(error).__name__}: {error}".split())
        raise InvalidParameter(f"{path}: is not a file that was saved here, or is damaged ({what})") from None
    file = directory / learner["file"]
    model = read_whole(file, at_most=LARGEST)
    if hashlib.sha256(model).hexdigest() != learner["sha256"]:
        raise InvalidParameter(f"{file}: is damaged, since it is not the file that {_NAME} was written for")
    return learner, model, file


def _digest(learner: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(learner, sort_keys=True).encode()).hexdigest()

"""States of learners on disk: a directory each, named by the hash of what is in it."""

import hashlib
import json
import re
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from restsure.errors import DamagedRun, InvalidParameter
from restsure.journal.files import Files, plain_errors
from restsure.journal.paths import inside

FOLDER = "checkpoints"
_DRAFT = "draft"
_HASH = re.compile("[0-9a-f]{64}")
_PIECE = 1 << 20  # bytes read at a time


@dataclass(frozen=True, slots=True)
class State:
    """What a record says of a saved state: a hash over ``files``, each with its size and its own hash."""

    digest: str
    files: dict[str, tuple[int, str]]

    @property
    def size(self) -> int:
        """Bytes in all."""
        return sum(size for size, _ in self.files.values())

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for a record."""
        return {"hash": self.digest, "files": {name: list(entry) for name, entry in self.files.items()}}

    @classmethod
    def from_dict(cls, entries: dict[str, Any]) -> "State":
        """What :meth:`to_dict` gave; a hash that is none, or does not fit, is refused."""
        try:
            files = {str(name): (int(size), str(digest)) for name, (size, digest) in entries["files"].items()}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DamagedRun(f"a checkpoint is not described as it must be ({error!r})") from None
        if entries.get("hash") != _digest(files):
            raise DamagedRun(f"the checkpoint {entries.get('hash')!r} is not described as it must be")
        return cls(_digest(files), files)


class States:
    """The saved states of a run directory."""

    def __init__(self, directory: Path, files: Files):
        self.directory, self.files = directory, files

    @property
    def folder(self) -> Path:
        """Where they are; never through a link."""
        return inside(self.directory, FOLDER)

    def save(self, write: Callable[[Path], None]) -> State:
        """Have ``write`` fill an empty directory, and keep it under its hash, flushed; a record can then refer to it."""
        draft = self.folder / _DRAFT
        with plain_errors(self.directory):
            self.files.remove(draft)
            self.files.make_folder(draft)
        write(draft)
        with plain_errors(self.directory):
            state = _state_of(draft)
            target = inside(self.folder, state.digest)
            if target.exists():
                self.files.remove(draft)  # the same content is there already
            else:
                for path in [*(draft / name for name in state.files), *_folders(draft)]:
                    self.files.flush(path)
                self.files.rename(draft, target)
                self.files.flush(self.folder)
        return state

    def find(self, state: State) -> Path:
        """The directory of a saved state, checked: every file is as it was written, and there is no other."""
        path = inside(self.folder, state.digest)
        if path.is_symlink() or not path.is_dir():
            raise DamagedRun(f"{self.directory}: the checkpoint {state.digest[:12]} is missing")
        try:
            with plain_errors(self.directory):
                found = _state_of(path, {name: size for name, (size, _) in state.files.items()})
        except InvalidParameter as error:
            raise DamagedRun(f"{path}: {error}") from None
        if found != state:
            changed = [
                name for name in state.files.keys() | found.files if state.files.get(name) != found.files.get(name)
            ]
            raise DamagedRun(
                f"{self.directory}: the checkpoint {state.digest[:12]} is damaged: {min(changed)!r} was changed"
            )
        return path

    def keep_only(self, digests: Iterable[str]) -> None:
        """Remove all others, and what a crash left behind."""
        with plain_errors(self.directory):
            for path in self.others(digests):
                self.files.remove(path)

    def others(self, digests: Iterable[str]) -> list[Path]:
        """What is there beside the states with these hashes."""
        wanted = set(digests)
        present = sorted(self.folder.iterdir()) if self.folder.is_dir() else []
        return [path for path in present if path.name not in wanted]

    def strangers(self, digests: Iterable[str]) -> list[Path]:
        """Those of the others that no crash can have left behind, as it can a draft, or a state before its record."""
        return [path for path in self.others(digests) if not (path.name == _DRAFT or _HASH.fullmatch(path.name))]


def _digest(files: dict[str, tuple[int, str]]) -> str:
    text = json.dumps(sorted((name, size, digest) for name, (size, digest) in files.items()))
    return hashlib.sha256(text.encode()).hexdigest()


def _folders(root: Path) -> list[Path]:
    """It and the directories below, the deepest first."""
    return [*sorted((path for path in root.rglob("*") if path.is_dir()), reverse=True), root]


def _state_of(root: Path, sizes: dict[str, int] | None = None) -> State:
    """What is in a directory: plain files only, and, where ``sizes`` are known, none is read that has another."""
    files = dict[str, tuple[int, str]]()
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        inside(root, *name.split("/"))
        about = path.lstat()
        if stat.S_ISDIR(about.st_mode):
            continue
        if not stat.S_ISREG(about.st_mode):
            raise DamagedRun(f"{root}: {name!r} must be a plain file")
        as_told = sizes is None or sizes.get(name) == about.st_size
        files[name] = about.st_size, _hash_of(path) if as_told else "not read: its size is another"
    return State(_digest(files), files)


def _hash_of(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            found.update(piece)
    return found.hexdigest()

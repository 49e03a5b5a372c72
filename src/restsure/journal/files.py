"""Every file call of a run directory: one small object, so that tests can make each of them fail."""

import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from restsure.errors import DamagedRun, RunInUse, WriteFailed

_FULL, _BUSY = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN"), ("SQLITE_BUSY", "SQLITE_LOCKED")

_HALF_MADE = "SQLITE_READONLY_ROLLBACK"


class Files:
    """The calls themselves; a subclass may look at, or refuse, each one in :meth:`about_to`."""

    def about_to(self, call: str, path: Path) -> None:
        """Called before each call that writes: ``call`` is its name, or the first word of an SQL statement."""

    def make_folder(self, path: Path) -> None:
        """Make a directory, with those above it; fine if it is there."""
        self.about_to("make_folder", path)
        path.mkdir(parents=True, exist_ok=True)

    def flush(self, path: Path) -> None:
        """What was written to a file, or which names a directory has, is on the disk when this returns."""
        self.about_to("flush", path)
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def rename(self, old: Path, new: Path) -> None:
        """At once: whoever looks sees the one or the other."""
        self.about_to("rename", new)
        os.rename(old, new)

    def remove(self, path: Path) -> None:
        """Remove a file or a directory with all in it; fine if it is not there."""
        self.about_to("remove", path)
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def connect(self, path: Path, *, timeout_s: float) -> sqlite3.Connection:
        """Open a database for writing; transactions are begun and ended by hand."""
        self.about_to("connect", path)
        return sqlite3.connect(path, timeout=timeout_s, isolation_level=None)

    def execute(self, database: sqlite3.Connection, path: Path, statement: str, values: Sequence[Any] = ()) -> Any:
        """One SQL statement."""
        self.about_to(statement.partition(" ")[0], path)
        return database.execute(statement, values)


FILES = Files()


@contextmanager
def plain_errors(directory: Path) -> Iterator[None]:
    """What a database or the disk says, in one line that names the run directory."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "")
        if name.startswith(_BUSY):
            raise RunInUse(f"{directory}: another process is writing to this run") from None
        if name == _HALF_MADE:
            raise DamagedRun(
                f"{directory}: a crash has left a change half made, which cannot be undone by reading; resume the run"
            ) from None
        if name.startswith(_FULL):
            raise WriteFailed(
                f"{directory}: cannot be written ({error}); what was recorded stays, resume later"
            ) from None
        raise DamagedRun(f"{directory}: the journal is damaged ({error})") from None
    except OSError as error:
        if isinstance(error, WriteFailed):
            raise
        why = error.strerror or str(error)
        raise WriteFailed(f"{directory}: cannot be written ({why}); what was recorded stays, resume later") from None

"""The truth of a run: one SQLite file, written by one process at a time, readable by all meanwhile."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from restsure.errors import DamagedRun, InvalidParameter, RunInUse
from restsure.journal.files import FILES, Files, plain_errors
from restsure.journal.records import START, Record, checked, encoded, link

FORMAT = 1
"""Which tables and records a journal has; one that differs is refused by name."""

JOURNAL, OWNER = "journal.sqlite", "owner.lock"
_APPLICATION = 0x72737431  # "rst1": tells a journal from other databases
_PATIENCE_S = 2.0  # for whoever only looks at the lock
_AHEAD = "PRAGMA journal_mode = WAL"
_BESIDE = ("-journal", "-wal", "-shm")  # files that SQLite has beside a database
_TABLES = (
    "CREATE TABLE record (number INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, kind TEXT NOT NULL, at_s REAL NOT NULL, "
    "body TEXT NOT NULL, chain BLOB NOT NULL)",
    "CREATE TABLE head (one INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, number INTEGER NOT NULL, chain BLOB NOT NULL)",
)


class Journal:
    """A run directory, opened for writing.

    A second writer is kept out by a lock that the system frees when its owner dies, and, where locks fail, by the epoch:
    each writer begins a new one, and what an older one still tries to write is refused.
    """

    def __init__(self, directory: Path | str, *, files: Files | None = None, now: Callable[[], float] = time.time):
        self.directory, self.files, self._now = Path(directory), files or FILES, now
        self.path = self.directory / JOURNAL
        if self.directory.exists() and not self.directory.is_dir():
            raise InvalidParameter(f"run_dir={str(self.directory)!r}: must be a directory")
        self._database: sqlite3.Connection | None = None
        self.epoch, self._number, self._chain = 0, 0, START
        with plain_errors(self.directory):
            self.files.make_folder(self.directory)
            self._owner: sqlite3.Connection | None = _lock(self.directory, self.files)
        try:
            self._undo()
            self.records = self._records() if self.path.exists() else []
            if self.records:
                self._open()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def begin(self, body: dict[str, Any]) -> None:
        """The first record, of kind ``begin``, in a new file that takes its name when it is whole."""
        draft = self.path.with_suffix(".draft")
        with plain_errors(self.directory):
            for suffix in ("", *_BESIDE):
                self.files.remove(_beside(draft, suffix))
            database = self.files.connect(draft, timeout_s=0)
            try:
                self._run(database, f"PRAGMA application_id = {_APPLICATION}", f"PRAGMA user_version = {FORMAT}")
                self._run(database, "BEGIN", *_TABLES)
                self._execute(database, "INSERT INTO head VALUES (1, 0, 0, ?)", [START])
                self._insert(database, 0, (0, START), "begin", body)
                # before it has its name: a crash in the middle of that leaves what only somebody who may write can undo
                self._run(database, "COMMIT", _AHEAD)
            finally:
                database.close()
            self.files.flush(draft)
            self.files.rename(draft, self.path)
            self.files.flush(self.directory)
        self.records = self._records()
        self._open()

    def append(self, kind: str, body: dict[str, Any]) -> None:
        """One more record: when this returns, it is on the disk."""
        assert self._database is not None, "a journal is written only after it has begun"
        database, head = self._database, (self._number, self._chain)
        with plain_errors(self.directory):
            self._run(database, "BEGIN IMMEDIATE")
            try:
                self._number, self._chain = self._insert(database, self.epoch, head, kind, body)
                self._run(database, "COMMIT")
            except BaseException:
                self._number, self._chain = head
                if database.in_transaction:
                    database.rollback()
                raise

    def close(self) -> None:
        """Let go of the run; safe to call again."""
        for database in (self._database, self._owner):
            if database is not None:
                database.close()
        self._database = self._owner = None

    def _open(self) -> None:
        """A new epoch: from now on, what an older writer still has in hand is refused."""
        with plain_errors(self.directory):
            self._database = database = self.files.connect(self.path, timeout_s=_PATIENCE_S)
            self._run(database, _AHEAD, "PRAGMA synchronous = FULL")
            self._execute(database, "UPDATE head SET epoch = epoch + 1")
            [(self.epoch, self._number, self._chain)] = database.execute("SELECT epoch, number, chain FROM head")

    def _undo(self) -> None:
        """Where the file system knows no write-ahead log, a crash may leave a change half made: SQLite undoes it, if it may."""
        if _beside(self.path, "-journal").exists() and self.path.exists():
            with plain_errors(self.directory):
                database = self.files.connect(self.path, timeout_s=_PATIENCE_S)
                try:
                    self._run(database, "SELECT count(*) FROM sqlite_master")
                finally:
                    database.close()

    def _records(self) -> list[Record]:
        return read_records(self.directory)

    def _insert(
        self, database: sqlite3.Connection, epoch: int, head: tuple[int, bytes], kind: str, body: dict[str, Any]
    ) -> tuple[int, bytes]:
        number, before = head
        text, at_s = encoded(body), self._now()
        chain = link(before, number + 1, epoch, kind, at_s, text)
        row = [number + 1, epoch, kind, at_s, text, chain]
        moved = self._execute(
            database,
            "UPDATE head SET number = ?, chain = ? WHERE epoch = ? AND number = ?",
            [number + 1, chain, epoch, number],
        )
        if moved.rowcount != 1:
            raise RunInUse(f"{self.directory}: another process has taken over this run")
        self._execute(database, "INSERT INTO record VALUES (?, ?, ?, ?, ?, ?)", row)
        return number + 1, chain

    def _run(self, database: sqlite3.Connection, *statements: str) -> None:
        for statement in statements:
            self._execute(database, statement)

    def _execute(self, database: sqlite3.Connection, statement: str, values: Any = ()) -> Any:
        return self.files.execute(database, self.path, statement, values)


def read_records(directory: Path | str) -> list[Record]:
    """All records of a run, checked, whether or not it is being written."""
    folder = Path(directory)
    with looking_at(folder) as (database, head):
        [(sound,)] = database.execute("PRAGMA integrity_check(1)")
        if sound != "ok":
            raise DamagedRun(f"{folder}: the journal is damaged ({' '.join(str(sound).split())})")
        rows = database.execute("SELECT number, epoch, kind, at_s, body, chain FROM record ORDER BY number")
        records = list(checked(rows, head))
    if not records or records[0].kind != "begin":
        raise DamagedRun(f"{folder}: the journal does not begin with what the run was told")
    return records


@contextmanager
def looking_at(folder: Path) -> Iterator[tuple[sqlite3.Connection, tuple[int, bytes]]]:
    """A journal opened for reading, and the number and hash of its last record: one view, whatever is written meanwhile.

    Whoever writes neither waits for it nor notices.
    """
    path = folder / JOURNAL
    if path.is_symlink() or not path.is_file():
        raise InvalidParameter(f"dir={str(folder)!r}: must be a run directory, with a {JOURNAL}")
    with plain_errors(folder):
        database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_PATIENCE_S)
        try:
            _check_format(folder, database)
            database.execute("BEGIN")
            heads = database.execute("SELECT number, chain FROM head").fetchall()
            if len(heads) != 1:
                raise DamagedRun(f"{folder}: the journal is damaged: it must have one head, not {len(heads)}")
            yield database, heads[0]
        except DamagedRun as error:
            raise DamagedRun(str(error) if str(folder) in str(error) else f"{folder}: {error}") from None
        except (UnicodeDecodeError, OverflowError, MemoryError) as error:
            raise DamagedRun(f"{folder}: the journal is damaged ({error})") from None
        finally:
            database.close()


def in_use(directory: Path | str) -> bool:
    """Whether a process is writing to this run."""
    path = Path(directory) / OWNER
    if not path.is_file():
        return False
    database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=0)
    try:
        database.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.DatabaseError as error:
        return getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY")
    finally:
        database.close()
    return False


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _check_format(folder: Path, database: sqlite3.Connection) -> None:
    [(application,)] = database.execute("PRAGMA application_id")
    [(found,)] = database.execute("PRAGMA user_version")
    if application != _APPLICATION:
        raise DamagedRun(f"{folder}: {JOURNAL} is not a journal of restsure")
    if found != FORMAT:
        raise DamagedRun(f"{folder}: the journal is of format {found}; this version of restsure reads format {FORMAT}")
    made = [statement for (statement,) in database.execute("SELECT sql FROM sqlite_master")]
    if sorted(map(str, made)) != sorted(_TABLES):  # views and triggers could do anything
        raise DamagedRun(f"{folder}: the journal is damaged: its tables are not those of a journal")


def _lock(directory: Path, files: Files) -> sqlite3.Connection:
    """A database that is kept locked: SQLite's locks are freed by the system the moment that their owner dies."""
    owner = files.connect(directory / OWNER, timeout_s=_PATIENCE_S)
    try:
        files.execute(owner, directory / OWNER, "PRAGMA journal_mode = OFF")  # it never holds anything to roll back
        files.execute(owner, directory / OWNER, "BEGIN EXCLUSIVE")
    except BaseException:
        owner.close()
        raise
    return owner

"""A disk that is full, read-only or failing, at every call: one clear line, what was recorded stays, and it can be resumed."""

import errno
import os
import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

import restsure as rs
from restsure.errors import WriteFailed
from restsure.journal import Files, Journal, journal, read_records
from tests.faults import MORE
from tests.faults.runs import outcome, train
from tests.faults.sqlite_calls import as_before, before_each_write

SQLITE = {
    errno.ENOSPC: ("database or disk is full", sqlite3.SQLITE_FULL, "SQLITE_FULL"),
    errno.EIO: ("disk I/O error", sqlite3.SQLITE_IOERR_WRITE, "SQLITE_IOERR_WRITE"),
    errno.EROFS: ("attempt to write a readonly database", sqlite3.SQLITE_READONLY, "SQLITE_READONLY"),
}


class Failing(Files):
    """Fails at the n-th call, as the system or SQLite would, and from then on, if the disk does not recover."""

    def __init__(self, at: int, number: int):
        self.at, self.number, self.calls = at, number, list[str]()

    def about_to(self, call: str, path: Path) -> None:
        self.calls.append(call)
        if len(self.calls) < self.at:
            return
        if call[0].islower():
            raise OSError(self.number, os.strerror(self.number), str(path))
        text, code, name = SQLITE[self.number]
        error = sqlite3.OperationalError(text)
        error.sqlite_errorcode, error.sqlite_errorname = code, name
        raise error


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What a whole run does."""
    files = Failing(10**9, errno.EIO)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(journal, "FILES", files)
        train("plain", tmp_path_factory.mktemp("whole") / "run")
    assert {
        "make_folder",
        "flush",
        "rename",
        "remove",
        "connect",
        "PRAGMA",
        "BEGIN",
        "INSERT",
        "UPDATE",
        "COMMIT",
    } <= set(files.calls)
    return files.calls


@pytest.mark.parametrize("number", SQLITE, ids=errno.errorcode.get)
def test_a_failure_at_every_call(
    number: int, calls: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first call, the second, and so on to the last."""
    whole, tried, said, unclear = outcome(train("plain", None)), 0, list[str](), 0
    for at in range(1, len(calls) + 1):
        run = tmp_path / str(at)
        with monkeypatch.context() as patch:
            patch.setattr(journal, "FILES", Failing(at, number))
            try:
                train("plain", run)
            except WriteFailed as error:
                said.append(str(error))
                unclear += str(run) not in said[-1] or "\n" in said[-1] or "resume later" not in said[-1]
        tried += 1
        before = [record.body for record in read_records(run)] if (run / "journal.sqlite").exists() else []
        assert outcome(train("plain", run)) == whole
        after = [record.body for record in read_records(run)]
        assert after[: len(before)] == before  # what was acknowledged stays
    print(errno.errorcode[number], "tried", tried, "stopped", len(said))
    assert not unclear
    assert (
        len(said) > 0.8 * tried
    )  # how often states are saved, and so how many calls there are, depends on the time it takes


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO], ids=errno.errorcode.get)
def test_a_failure_at_every_write_of_sqlite(number: int, tmp_path: Path) -> None:
    """In the middle of a statement, too; once, and from then on."""
    whole, said = outcome(train("plain", None)), list[str]()
    for at in range(1, 10**6, max(1, 3 // MORE)):
        run, writes = tmp_path / str(at), count(1)

        def fails(at: int = at, writes: Iterator[int] = writes) -> int:
            now = next(writes)
            return number if now == at or (now > at and at % 2) else 0

        before_each_write(fails)
        try:
            train("plain", run)
        except WriteFailed as error:
            said.append(str(error))
        finally:
            as_before()
        assert outcome(train("plain", run)) == whole
        if next(writes) <= at:  # it was over before
            break
    assert len(said) > 60
    assert all("resume later" in each for each in said)


def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    """A limit of the system on the size of files: SQLite's own writes fail."""
    code = (
        "import resource, signal, sys\n"
        "from tests.faults.runs import train\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "train('plain', None)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))\n"
        "train('plain', sys.argv[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "run"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "WriteFailed" in done.stderr.splitlines()[-1]
    records = read_records(tmp_path / "run")
    assert len(records) > 5
    assert outcome(train("plain", tmp_path / "run")) == outcome(train("plain", None))
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 60_000
    assert signal.getsignal(signal.SIGXFSZ) is not None


def test_a_database_that_has_no_room(tmp_path: Path) -> None:
    """SQLite's own limit of pages: the record that does not fit is refused whole, and there is room again later."""
    with Journal(tmp_path) as book:
        book.begin({})
        assert book._database is not None
        [(pages,)] = book._database.execute("PRAGMA page_count")
        book._database.execute(f"PRAGMA max_page_count = {pages + 2}")
        block = {"losses": [0.25] * 100}
        fit = 0
        with suppress(WriteFailed):
            for fit in range(1_000):  # noqa: B007 - how many fit is what it is about
                book.append("block", block)
        kept = len(read_records(tmp_path))
        assert kept == 1 + fit < 100
        with pytest.raises(WriteFailed, match="cannot be written .*full"):
            book.append("block", block)
        book._database.execute("PRAGMA max_page_count = 1000000")
        book.append("block", {"losses": []})
    assert len(read_records(tmp_path)) == kept + 1


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises((WriteFailed, rs.InvalidParameter)):
        train("plain", tmp_path / "file" / "run")


def test_a_learner_whose_save_meets_a_full_disk_stops_the_run(tmp_path: Path) -> None:
    class Full:
        def __init__(self) -> None:
            self.s = 0

        def train(self, times: int) -> list[float]:
            self.s += times
            return [1 / (self.s - times + k + 1) for k in range(times)]

        def save(self, directory: Path) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        def load(self, directory: Path) -> None:
            raise AssertionError("nothing was saved")

    with pytest.raises(WriteFailed, match="No space left on device"):
        rs.select({"full": Full(), "other": Full()}, budget=20, run_dir=tmp_path, progress=False)
    assert rs.read_run(tmp_path).progress.game.spent == 20

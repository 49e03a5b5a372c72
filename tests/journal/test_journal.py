"""The journal by itself: what is written is read, one writer at a time, and nothing else passes for a journal."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import restsure as rs
from restsure.errors import DamagedRun, RunInUse
from restsure.journal import FORMAT, JOURNAL, Files, Journal, in_use, read_records
from restsure.journal.journal import OWNER

GOLDEN = Path(__file__).parent / "golden"


def test_what_is_written_is_read(tmp_path: Path) -> None:
    with Journal(tmp_path / "run") as journal:
        assert journal.records == []
        journal.begin({"candidates": {"ü": "x"}})
        journal.append("block", {"losses": [0.1, 1e-300, 2.0**-1074, 1 / 3]})
        seen = read_records(tmp_path / "run")  # while it is open for writing
        assert in_use(tmp_path / "run")
    assert not in_use(tmp_path / "run")
    assert seen == read_records(tmp_path / "run")
    assert [(record.number, record.kind) for record in seen] == [(1, "begin"), (2, "block")]
    assert seen[0].body == {"candidates": {"ü": "x"}}
    assert seen[1].body["losses"] == [0.1, 1e-300, 2.0**-1074, 1 / 3]


def test_every_writer_begins_an_epoch_and_an_older_one_is_refused(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.begin({})
        first = journal.epoch
    with Journal(tmp_path) as journal:
        assert journal.epoch == first + 1
        journal.append("block", {})
        other = sqlite3.connect(tmp_path / JOURNAL)  # as if the lock had failed: another writer begins its epoch
        other.execute("UPDATE head SET epoch = epoch + 1")
        other.commit()
        other.close()
        with pytest.raises(RunInUse, match="another process has taken over this run"):
            journal.append("block", {"late": True})
    assert [record.kind for record in read_records(tmp_path)] == ["begin", "block"]


def test_a_second_writer_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.begin({})
        with pytest.raises(RunInUse, match="another process is writing to this run"):
            Journal(tmp_path)
        journal.append("block", {})
    with Journal(tmp_path) as journal:
        assert len(journal.records) == 2


def test_a_dead_owners_lock_is_free_at_once(tmp_path: Path) -> None:
    code = (
        "import os, sys; from restsure.journal import Journal\n"
        "journal = Journal(sys.argv[1]); journal.begin({'by': 'child'}); print('ready', flush=True); sys.stdin.read()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        with pytest.raises(RunInUse):
            Journal(tmp_path)
        child.kill()
        child.wait()
        with Journal(tmp_path) as journal:
            assert journal.records[0].body == {"by": "child"}


def test_a_journal_takes_its_name_when_nothing_of_it_is_elsewhere(tmp_path: Path) -> None:
    """It is in the mode that it stays in: to change that takes a change of the file, which a crash could cut off."""
    looked = list[str]()

    class Looking(Files):
        def rename(self, old: Path, new: Path) -> None:
            looked.extend(path.name for path in tmp_path.iterdir() if path.name != OWNER)
            assert old.read_bytes()[18:20] == b"\2\2"  # write-ahead log, for writers and readers
            super().rename(old, new)

    with Journal(tmp_path, files=Looking()) as journal:
        journal.begin({})
    assert looked == ["journal.draft"]


def test_a_change_cut_off_by_a_crash_is_undone_by_the_next_writer(tmp_path: Path) -> None:
    """As can be where there is no write-ahead log: the file is half changed, and beside it stands what it was."""
    with Journal(tmp_path) as journal:
        journal.begin({})
        for _ in range(30):
            journal.append("block", {"losses": [1 / 3] * 500})
    code = (  # more than it may keep in memory, so that the file is written to before the change is complete
        "import os, signal, sqlite3, sys\n"
        "database = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "for pragma in ('journal_mode = DELETE', 'cache_size = 2'): database.execute('PRAGMA ' + pragma)\n"
        "for statement in ('BEGIN', \"UPDATE record SET body = ''\"): database.execute(statement)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / JOURNAL], check=False)
    assert (tmp_path / f"{JOURNAL}-journal").exists()
    with pytest.raises(DamagedRun, match="a crash has left a change half made"):
        read_records(tmp_path)
    with Journal(tmp_path) as journal:
        assert [record.kind for record in journal.records] == ["begin", *["block"] * 30]
        journal.append("block", {})
    assert len(read_records(tmp_path)) == 32


def test_a_body_that_is_no_json_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.begin({})
        with pytest.raises(ValueError, match="not JSON compliant"):
            journal.append("block", {"losses": [float("nan")]})
        journal.append("block", {"losses": [0.5]})
    assert len(read_records(tmp_path)) == 2


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0", b"\x80\x04K\x01.", b"x" * 5_000, None])
def test_what_is_no_journal_is_refused(tmp_path: Path, content: bytes | None) -> None:
    if content is None:  # a database of something else
        database = sqlite3.connect(tmp_path / JOURNAL)
        database.execute("CREATE TABLE record (number, epoch, kind, at_s, body, chain)")
        database.close()
    else:
        (tmp_path / JOURNAL).write_bytes(content)
    for look in (read_records, Journal):
        with pytest.raises(DamagedRun, match="journal"):
            look(tmp_path)


def test_another_format_is_refused_by_name(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.begin({})
    database = sqlite3.connect(tmp_path / JOURNAL)
    database.execute(f"PRAGMA user_version = {FORMAT + 1}")
    database.close()
    with pytest.raises(DamagedRun, match=f"is of format {FORMAT + 1}; this version of restsure reads format {FORMAT}"):
        read_records(tmp_path)


def test_a_directory_must_be_one(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(rs.InvalidParameter, match="must be a directory"):
        Journal(tmp_path / "file")
    with pytest.raises(rs.InvalidParameter, match="must be a run directory"):
        read_records(tmp_path / "nowhere")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / JOURNAL).symlink_to(os.devnull)
    with pytest.raises(rs.InvalidParameter, match="must be a run directory"):
        read_records(tmp_path / "linked")


@pytest.mark.parametrize("number", range(1, FORMAT + 1))
def test_a_kept_journal_of_every_format_is_read(number: int, tmp_path: Path) -> None:
    (tmp_path / JOURNAL).write_bytes((GOLDEN / f"format{number}.sqlite").read_bytes())
    run = rs.read_run(tmp_path)
    assert run.state == "stopped"
    assert run.result is not None
    assert run.result.pulls == {"quick": 33, "slow": 13, "broken": 0}
    assert run.result.name == "slow"
    assert run.result.failures == {"broken": "losses: must be finite, but one of arm 2 is nan"}

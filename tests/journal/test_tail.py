"""Following a journal: each record once, in order, checked; and another run in the same place is noticed."""

import shutil
import sqlite3

import pytest

from restsure.errors import DamagedRun, InvalidParameter
from restsure.journal import JOURNAL, Journal, Tail, in_use, peek, read_records


@pytest.fixture
def journal(tmp_path):
    with Journal(tmp_path / "run") as journal:
        journal.begin({"candidates": {"a": "x", "b": "y"}, "budget": 10, "unit": "training steps"})
        yield journal


def test_every_record_is_read_once_while_the_run_is_written(journal) -> None:
    tail, seen = Tail(journal.directory), []
    for k in range(20):
        journal.append("note", {"text": f"{k}"})
        if k % 3 == 0:
            seen += tail.read()
    seen += tail.read()
    assert seen == read_records(journal.directory)
    assert tail.read() == []
    assert (tail.number, tail.generation) == (21, 0)


def test_long_journals_come_in_pieces(journal) -> None:
    for k in range(30):
        journal.append("note", {"text": f"{k}" * 1_000})
    tail, pieces = Tail(journal.directory), []
    while piece := tail.read(most_bytes=5_000):
        pieces.append(piece)
    assert len(pieces) > 4
    assert [record for piece in pieces for record in piece] == read_records(journal.directory)


def test_another_run_in_the_same_place_begins_again(journal, tmp_path) -> None:
    journal.append("note", {"text": "old"})
    tail = Tail(journal.directory)
    assert len(tail.read()) == 2
    journal.close()
    shutil.rmtree(journal.directory)
    with pytest.raises(InvalidParameter, match="must be a run directory"):
        tail.read()
    with Journal(tmp_path / "run") as other:
        other.begin({"candidates": {}, "budget": 1, "unit": "samples"})
        other.append("note", {"text": "new"})
        other.append("note", {"text": "newer"})
        assert [record.body.get("text") for record in tail.read()] == [None, "new", "newer"]
    assert tail.generation == 1


@pytest.mark.parametrize("change", ["body = '{}'", "kind = 'end'", "at_s = 1", "chain = x'00'"])
def test_a_changed_record_is_refused(journal, change: str) -> None:
    tail = Tail(journal.directory)
    tail.read()
    for k in range(3):
        journal.append("note", {"text": f"{k}"})
    journal.close()
    database = sqlite3.connect(journal.path)
    database.execute(f"UPDATE record SET {change} WHERE number = 3")
    database.commit()
    database.close()
    with pytest.raises(DamagedRun, match="record 3 is damaged"):
        tail.read()


def test_a_lost_record_is_noticed(journal) -> None:
    tail = Tail(journal.directory)
    for k in range(3):
        journal.append("note", {"text": f"{k}"})
    journal.close()
    database = sqlite3.connect(journal.path)
    database.execute("DELETE FROM record WHERE number = 4")
    database.commit()
    database.close()
    with pytest.raises(DamagedRun, match="4 records were written, but 3 are there"):
        tail.read()


def test_reading_holds_up_nobody(journal) -> None:
    """The writer's own patience is not needed: it writes at once, in the middle of a reading."""
    journal._database.execute("PRAGMA busy_timeout = 0")
    journal.append("note", {"text": "one"})
    reader = sqlite3.connect(f"file:{journal.path}?mode=ro", uri=True)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM record").fetchone() == (2,)
    for k in range(50):
        journal.append("note", {"text": f"{k}"})
    assert reader.execute("SELECT count(*) FROM record").fetchone() == (2,)
    reader.close()
    assert len(Tail(journal.directory).read()) == 52


def test_a_glance_tells_how_a_run_stands(journal) -> None:
    assert (peek(journal.directory).state, peek(journal.directory).candidates) == ("running", 2)
    journal.append("note", {"text": "more"})
    assert peek(journal.directory).records == 2
    journal.close()
    assert peek(journal.directory).state == "stopped"
    assert not in_use(journal.directory)


def test_a_glance_at_what_is_no_run_is_refused(tmp_path) -> None:
    with pytest.raises(InvalidParameter, match="must be a run directory"):
        peek(tmp_path)
    (tmp_path / JOURNAL).write_bytes(b"no database at all" * 100)
    with pytest.raises(DamagedRun):
        peek(tmp_path)

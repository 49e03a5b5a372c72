"""Run directories made by somebody who means harm: every hash fits, and what they say is refused all the same.

Nothing is run, nothing outside is read or written, and memory and time stay small.
"""

import os
import pickle
import resource
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import restsure as rs
from restsure.cli import main
from restsure.errors import RestSureError
from restsure.journal import JOURNAL, Journal, read_records
from restsure.journal.records import START, link
from restsure.training import findings
from tests.faults.runs import Walk, plain_models

HONEST: dict[str, Any] = {
    "candidates": {"a": "x", "b": "y"},
    "budget": 20,
    "unit": "training steps",
    "costs": None,
    "policy": rs.HorizonLCB().to_dict(),
    "random_state": 0,
    "data": None,
    "source": None,
}
ASK = {"asked": [[0, 2]], "arm": 0, "losses": [0.5, 0.4], "cost": None, "seconds": 0.1}
DEEP: Any = "x"
for _ in range(500):
    DEEP = [DEEP]

BEGINNINGS: list[dict[str, Any]] = [
    {},
    {**HONEST, "policy": None},
    {**HONEST, "policy": {"kind": "Gaussian", "sigma": 1.0}},
    {**HONEST, "policy": {"kind": "os.system", "command": "true"}},
    {**HONEST, "policy": {"kind": "HorizonLCB", "curve": {"kind": "RoundRobin"}}},
    {**HONEST, "policy": {"kind": "HorizonLCB", "__class__": "x"}},
    {**HONEST, "policy": {"kind": "HorizonLCB", "patience": 1e400}},
    {**HONEST, "policy": {"kind": "HorizonLCB", "curve": DEEP}},
    {**HONEST, "policy": {"kind": "FixedExploration", "fraction": -1}},
    {**HONEST, "budget": -1},
    {**HONEST, "budget": 0},
    {**HONEST, "budget": 10**30},
    {**HONEST, "budget": 1e308},
    {**HONEST, "budget": "many"},
    {**HONEST, "budget": None},
    {**HONEST, "budget": [20]},
    {**HONEST, "unit": "furlongs"},
    {**HONEST, "unit": 3},
    {**HONEST, "unit": "seconds", "costs": "stolen"},
    {**HONEST, "costs": [1.0]},
    {**HONEST, "costs": [-1.0, 1.0]},
    {**HONEST, "costs": ["a", "b"]},
    {**HONEST, "costs": {"a": 1}},
    {**HONEST, "candidates": {}},
    {**HONEST, "candidates": None},
    {**HONEST, "candidates": 10**9},
    {**HONEST, "random_state": -1},
    {**HONEST, "random_state": "x"},
    {**HONEST, "random_state": 0.5},
]
RECORDS: list[tuple[str, dict[str, Any]]] = [
    ("block", {}),
    ("block", {**ASK, "asked": [[5, 2]]}),
    ("block", {**ASK, "asked": [[-1, 2]]}),
    ("block", {**ASK, "asked": [[0, 10**9]]}),
    ("block", {**ASK, "asked": [[0, -2]]}),
    ("block", {**ASK, "asked": "0,2"}),
    ("block", {**ASK, "asked": [[0]]}),
    ("block", {**ASK, "asked": {"0": 2}}),
    ("block", {**ASK, "asked": [None]}),
    ("block", {**ASK, "arm": 1}),
    ("block", {**ASK, "arm": 99}),
    ("block", {**ASK, "arm": -1}),
    ("block", {**ASK, "arm": "0"}),
    ("block", {**ASK, "arm": True}),
    ("block", {**ASK, "losses": []}),
    ("block", {**ASK, "losses": [0.5] * 10_000}),
    ("block", {**ASK, "losses": ["a", "b"]}),
    ("block", {**ASK, "losses": "ab"}),
    ("block", {**ASK, "losses": [10**400, 1]}),
    ("block", {**ASK, "losses": DEEP}),
    ("block", {**ASK, "cost": 5.0}),
    ("block", {**ASK, "cost": "x"}),
    ("block", {**ASK, "seconds": "x"}),
    ("block", {**ASK, "asked": []}),
    ("fail", {}),
    ("fail", {"arm": 7, "reason": "x", "cost": None}),
    ("fail", {"arm": 0, "reason": 3, "cost": None}),
    ("fail", {"arm": 0, "reason": "x", "cost": -1}),
    ("checkpoint", {"arm": 0, "pulls": 2, "hash": "../../etc", "files": {"passwd": [1, "x"]}}),
    ("checkpoint", {"arm": 0, "pulls": 2}),
    ("checkpoint", {"arm": 0, "pulls": 2, "hash": "x", "files": {"../../x": [1, "x"]}}),
    ("drop", {"arms": [5]}),
    ("drop", {"arms": 5}),
    ("note", {}),
]


def make(directory: Path, begin: dict[str, Any], records: list[tuple[str, dict[str, Any]]]) -> None:
    with Journal(directory) as journal:
        journal.begin(begin)
        for kind, body in records:
            journal.append(kind, body)


def refused(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the library and by every verb, in one line, without much memory."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(RestSureError) as error:
        rs.read_run(directory)
    assert "\n" not in str(error.value)
    assert len(findings(directory)) == 1
    for verb in ("show", "verify", "resume"):
        with pytest.raises(SystemExit) as stopped:
            main([verb, str(directory)])
        assert stopped.value.code in (1, 2)
        assert len("".join(capsys.readouterr()).splitlines()) == 1
    with pytest.raises(RestSureError):
        rs.select({"a": Walk(1, 0, 0), "b": Walk(1, 0, 1)}, budget=20, run_dir=directory, progress=False)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB


@pytest.mark.parametrize("k", range(len(BEGINNINGS)))
def test_a_first_record_that_no_run_was_told(k: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    begin = BEGINNINGS[k]
    if "policy" in begin and isinstance(begin["policy"], dict) and begin["policy"].get("patience") == float("inf"):
        begin = {**begin, "policy": {"kind": "HorizonLCB", "patience": -1e308}}
    make(tmp_path / "run", begin, [])
    refused(tmp_path / "run", capsys)


@pytest.mark.parametrize("k", range(len(RECORDS)))
def test_records_that_no_run_has_written(k: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(tmp_path / "run", HONEST, [RECORDS[k]])
    refused(tmp_path / "run", capsys)


@pytest.mark.parametrize(
    "body",
    [
        '{"losses": [NaN]}',
        '{"a": Infinity}',
        "[" * 100_000,
        "{" + '"a":{' * 50_000,
        "1" * 10_000,
        "null",
        "[]",
        "",
        "{",
        "\0",
        "é",
    ],
)
def test_bodies_that_are_no_json_objects(body: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(tmp_path / "run", HONEST, [])
    [first] = read_records(tmp_path / "run")
    database = sqlite3.connect(tmp_path / "run" / JOURNAL)
    [(chain,)] = database.execute("SELECT chain FROM record")
    assert chain != START
    row = (2, 1, "block", first.at_s, body)
    database.execute("INSERT INTO record VALUES (?, ?, ?, ?, ?, ?)", (*row, link(chain, *row)))
    database.execute("UPDATE head SET number = 2, chain = ?", [link(chain, *row)])
    database.commit()
    database.close()
    refused(tmp_path / "run", capsys)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE other (a)",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TRIGGER t AFTER INSERT ON record BEGIN DELETE FROM record; END",
        "CREATE TRIGGER t AFTER UPDATE ON head BEGIN UPDATE head SET epoch = 0; END",
        "CREATE INDEX i ON record (body)",
        "DROP TABLE head",
        "ALTER TABLE record ADD COLUMN more",
        "DELETE FROM head",
        "INSERT INTO head VALUES (2, 9, 9, x'00')",
        "UPDATE head SET number = 'x'",
        "UPDATE record SET number = 9",
        "UPDATE record SET at_s = 'now'",
        "UPDATE record SET chain = NULL WHERE 0; PRAGMA user_version = 99",
    ],
)
def test_databases_that_are_not_a_journals(statement: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make(tmp_path / "run", HONEST, [])
    database = sqlite3.connect(tmp_path / "run" / JOURNAL)
    database.executescript(statement)
    database.commit()
    database.close()
    refused(tmp_path / "run", capsys)


class Bomb:
    """Were it unpickled, it would leave a file behind."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def test_a_pickle_in_the_place_of_every_file_is_never_loaded(tmp_path: Path) -> None:
    """All hashes fit: whoever made them made the journal, too."""
    run, bomb = tmp_path / "run", pickle.dumps(Bomb(tmp_path / "exploded"))

    class Plain(Walk):
        def save(self, directory: Path) -> None:
            super().save(directory)
            for name in ("model.pkl", "model.pickle", "learner.joblib", "model.skops", "learner.safetensors", "x.npy"):
                (directory / name).write_bytes(bomb)

    make_walks = {name: Plain(model.alpha, model.beta, 0) for name, model in plain_models().items()}
    rs.select(make_walks, budget=40, run_dir=run, progress=False, checkpoints=rs.Checkpoints(share=1.0, keep_all=True))
    for name in (JOURNAL, "owner.lock"):
        shutil.copytree(run, tmp_path / name)
        (tmp_path / name / name).write_bytes(bomb)
        with pytest.raises(RestSureError):
            rs.select(plain_models(), budget=40, run_dir=tmp_path / name, progress=False)
    again = {name: Plain(model.alpha, model.beta, 0) for name, model in plain_models().items()}
    rs.select(again, budget=40, run_dir=run, progress=False)
    assert findings(run) == []
    assert not (tmp_path / "exploded").exists()
    pickle.loads(bomb)
    assert (tmp_path / "exploded").exists()  # it would have


def test_a_run_directory_full_of_links_reads_and_writes_nothing_elsewhere(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("keep me")
    run = tmp_path / "run"
    run.mkdir()
    (run / "checkpoints").symlink_to(outside)
    walks = {"a": Walk(1.0, 0.0, 0), "b": Walk(0.0, 1.0, 1)}
    with pytest.raises(RestSureError, match="link"):
        rs.select(walks, budget=40, run_dir=run, progress=False, checkpoints=rs.Checkpoints(share=1.0))
    assert [path.name for path in outside.iterdir()] == ["precious"]
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / JOURNAL).symlink_to(outside / "precious")
    with pytest.raises(RestSureError):
        rs.select(plain_models(), budget=40, run_dir=linked, progress=False)
    assert (outside / "precious").read_text() == "keep me"


def test_a_checkpoint_directory_that_is_a_link_when_states_are_removed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("keep me")
    run = tmp_path / "run"
    rs.select(plain_models(), budget=40, run_dir=run, progress=False)
    (run / "checkpoints" / "stray").symlink_to(outside)  # is removed as a link, not what it points to
    assert any("no record speaks of it" in line for line in findings(run))
    rs.select(plain_models(), budget=40, run_dir=run, progress=False)
    assert (outside / "precious").exists()

"""Cut and flipped files: opened with what is whole, or refused by name; never a wrong answer."""

import random
import shutil
import sqlite3
import warnings
from pathlib import Path

import pytest

import restsure as rs
from restsure.errors import RunError
from restsure.journal import JOURNAL, Journal, read_records
from restsure.training import checkpoints, findings
from tests.faults import MORE
from tests.faults.runs import outcome, train

CUTS, FLIPS, BLANKS = 200 * MORE, 1_000 * MORE, 100 * MORE


class Killed(BaseException):
    """Ends a run where it stands, without the run's taking notice."""


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was ended in its middle: as a kill leaves it, with records in the write-ahead log."""
    folder = tmp_path_factory.mktemp("crashed")

    def kill(moment: object) -> None:
        if not moment.over and sum(moment.game.pulls) >= 70:  # type: ignore[attr-defined]
            shutil.copytree(folder / "run", folder / "left")
            raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints, "_FIRST_S", 0.0)  # or else it depends on the machine how many states there are
        with pytest.raises(Killed):
            train("sklearn", folder / "run", share=1.0, callbacks=[kill])
    left = folder / "left"
    assert (left / f"{JOURNAL}-wal").stat().st_size > 100_000
    assert (left / "checkpoints").is_dir()
    return left


@pytest.fixture(scope="module")
def closed(crashed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run, let go of in good order: all is in the database."""
    left = tmp_path_factory.mktemp("closed") / "left"
    shutil.copytree(crashed, left)
    with Journal(left) as journal:
        journal.append("stop", {"why": "a test"})
    assert not (left / f"{JOURNAL}-wal").exists()
    return left


@pytest.fixture(scope="module")
def whole() -> str:
    return outcome(train("sklearn", None))


def test_what_a_kill_leaves_goes_on_as_if_nothing_had_been(crashed: Path, whole: str, tmp_path: Path) -> None:
    shutil.copytree(crashed, tmp_path / "run")
    assert findings(tmp_path / "run") == []
    assert outcome(train("sklearn", tmp_path / "run")) == whole
    assert findings(tmp_path / "run") == []


def bodies(directory: Path) -> list[object]:
    return [(record.kind, record.body) for record in read_records(directory)]


@pytest.mark.parametrize("harm", ["cut", "flip", "blank"])
@pytest.mark.parametrize(
    ("state", "name", "share"),
    [
        ("crashed", JOURNAL, 0.1),
        ("crashed", f"{JOURNAL}-wal", 0.4),
        ("crashed", f"{JOURNAL}-shm", 0.1),
        ("closed", JOURNAL, 0.4),
    ],
)
def test_a_journal_is_read_as_far_as_it_is_whole_or_refused(
    state: str, name: str, share: float, harm: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """200 cuts of database and log, 1,000 flipped bits, 100 pages that never reached the disk."""
    source: Path = request.getfixturevalue(state)
    rng, full, content = random.Random(f"{state} {name} {harm}"), bodies(source), (source / name).read_bytes()
    found, unclear = {"whole": 0, "shorter": 0, "refused": 0}, 0
    tries = int({"cut": CUTS, "flip": FLIPS, "blank": BLANKS}[harm] * share)
    run = tmp_path / "run"
    for _ in range(tries):
        shutil.copytree(source, run, ignore=shutil.ignore_patterns("checkpoints"))
        place = rng.randrange(len(content))
        page = place // 4096 * 4096
        if harm == "cut":
            changed = content[:place]
        elif harm == "flip":
            changed = flipped(content, place, rng)
        else:
            changed = content[:page] + bytes(len(content[page : page + 4096])) + content[page + 4096 :]
        (run / name).write_bytes(changed)
        try:
            read = bodies(run)
        except RunError as error:
            told = str(error)
            found["refused"] += 1
            unclear += str(run) not in told or "\n" in told
        else:
            assert read
            assert read == full[: len(read)]
            found["whole" if len(read) == len(full) else "shorter"] += 1
            with Journal(run) as journal:  # and it can be written again
                journal.append("block", {})
        shutil.rmtree(run)
    print(state, name, harm, found)
    assert sum(found.values()) == tries
    assert not unclear
    if state == "closed":
        assert found["shorter"] == 0  # nothing that was written is lost without a word
        assert found["refused"] > 0.3 * tries


def flipped(content: bytes, place: int, rng: random.Random) -> bytes:
    return content[:place] + bytes([content[place] ^ (1 << rng.randrange(8))]) + content[place + 1 :]


def test_a_run_that_lost_its_last_records_still_ends_the_same(crashed: Path, whole: str, tmp_path: Path) -> None:
    """A cut log loses records; what they held is trained again, and comes out the same."""
    log = (crashed / f"{JOURNAL}-wal").read_bytes()
    for k, part in enumerate((0.9, 0.5, 0.1)):
        run = tmp_path / str(k)
        shutil.copytree(crashed, run)
        (run / f"{JOURNAL}-wal").write_bytes(log[: int(part * len(log))])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # states that older records speak of are gone
            assert outcome(train("sklearn", run)) == whole


def test_a_flipped_bit_in_a_checkpoint_is_named_and_its_training_made_again(
    crashed: Path, whole: str, tmp_path: Path
) -> None:
    rng, found = random.Random(0), 0
    states = sorted(path.name for path in (crashed / "checkpoints").iterdir())
    assert len(states) >= 3
    files = sorted(path.relative_to(crashed) for path in (crashed / "checkpoints").rglob("*") if path.is_file())
    run = tmp_path / "run"
    shutil.copytree(crashed, run)
    for _ in range(FLIPS // 10):
        path = run / rng.choice(files)
        content = path.read_bytes()
        path.write_bytes(flipped(content, rng.randrange(len(content)), rng))
        found += len(findings(run)) == 1
        path.write_bytes(content)
    assert found == FLIPS // 10
    for name in states:  # all of them damaged at once
        path = next(path for path in (run / "checkpoints" / name).rglob("*") if path.is_file())
        path.write_bytes(b"\0" + path.read_bytes()[1:])
    with pytest.warns(RuntimeWarning, match="its checkpoint was refused .*is damaged"):
        result = train("sklearn", run)
    assert outcome(result) == whole
    assert any("its checkpoint was refused" in note for note in result.notes)


def test_a_record_that_is_missing_in_the_middle_is_noticed(crashed: Path, tmp_path: Path) -> None:
    for number, harm in (
        (3, "DELETE FROM record WHERE number = 3"),
        (9, "UPDATE record SET body = '{}' WHERE number = 9"),
    ):
        run = tmp_path / str(number)
        shutil.copytree(crashed, run)
        database = sqlite3.connect(run / JOURNAL)
        database.execute(harm)
        database.commit()
        database.close()
        with pytest.raises(rs.DamagedRun, match=f"record {number} is damaged: its hash does not fit"):
            read_records(run)

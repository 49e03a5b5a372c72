"""kill -9 at any moment: the resumed run is the run that was never interrupted, to the bit."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults import MORE


def kills(kind: str, count: int, folder: Path) -> int:
    """So many kills at random times; of minus so many, one at each so many-th file call."""
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "error::RuntimeWarning",
            "-m",
            "tests.faults.kills",
            kind,
            str(count),
            str(MORE),
            folder,
        ],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    print(done.stdout)
    return int(json.loads(done.stdout)["kills"])


@pytest.mark.parametrize(("kind", "count"), [("sklearn", 50), ("river", 50), ("torch", 20), ("processes", 30)])
def test_killed_at_random_times_again_and_again(kind: str, count: int, tmp_path: Path) -> None:
    assert kills(kind, count * MORE, tmp_path) >= count * MORE


def test_killed_while_a_journal_begins(tmp_path: Path) -> None:
    assert kills("beginnings", 100 * MORE, tmp_path) == 100 * MORE


def test_killed_at_every_write_of_sqlite(tmp_path: Path) -> None:
    """In the middle of a statement, too, where a change of the file is half made."""
    assert kills("within SQLite", -1, tmp_path) >= 100


@pytest.mark.parametrize(("kind", "every"), [("sklearn", 23), ("river", 23), ("torch", 29), ("processes", 29)])
def test_killed_at_every_kind_of_file_call(kind: str, every: int, tmp_path: Path) -> None:
    assert (
        kills(kind, -max(1, every // MORE), tmp_path) >= 8
    )  # how many calls there are depends on how often states are saved

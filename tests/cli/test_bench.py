"""``restsure bench`` as a user types it."""

import csv
import json
from pathlib import Path

import pytest

from tests.cli.test_cli import run


def test_table_csv_plot_and_json_agree(tmp_path: Path) -> None:
    options = (
        "bench",
        "rising",
        "--rows",
        "sigma 0.1, T = 200",
        "--policies",
        "round-robin,r-sr",
        "--replicates",
        "20",
    )
    done = run(*options, "--csv", "scores.csv", "--plot", "scores.png", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for heading in ("regret", "± se", "p90", "within 1", "wrong arm", "winner's pulls", "seconds"):
        assert heading in done.stdout
    with (tmp_path / "scores.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["row"], row["policy"]) for row in rows] == [
        *(("T = 200", "round-robin"), ("T = 200", "r-sr")) * 2,
    ]
    assert rows[0]["command"].startswith("restsure bench rising --policies 'round-robin,r-sr'")
    assert rows[0]["seed"] == "0"
    assert (tmp_path / "scores.png").read_bytes().startswith(b"\x89PNG")
    scores = json.loads(run(*options, "--json", cwd=tmp_path).stdout)
    assert [f"{score['regret']:.6g}" for score in scores] == [row["regret"] for row in rows]


def test_in_model_needs_no_data(tmp_path: Path) -> None:
    done = run("bench", "in-model", "--rows", "gap 0.08, T = 1,000", "--replicates", "5", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)) == 13


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("fast",), "suite='fast': must be one of 'in-model', 'rising', 'shapes', 'curves'"),
        (("rising", "--policies", "best"), "policies='best': must be one of"),
        (("rising", "--rows", "nowhere"), "rows='nowhere': must be part of the name of a row"),
        (("rising", "--replicates", "0"), "replicates=0: must be at least 1"),
        (("rising", "--seed", "-2"), "seed=-2: must be at least 0"),
        (("rising", "--jobs", "0"), "jobs=0: must be at least 1"),
        (("curves", "--data", "no/where"), "data='no/where': must be a directory"),
        ((), "Missing argument"),
    ],
)
def test_bad_input(arguments: tuple[str, ...], line: str) -> None:
    done = run("bench", *arguments)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert line in done.stderr

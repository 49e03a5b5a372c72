"""The command line as a user types it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import restsure as rs

RESTSURE = str(Path(sys.executable).with_name("restsure"))


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"COLUMNS": "200"}
    return subprocess.run([RESTSURE, *arguments], capture_output=True, text=True, cwd=cwd, env=environment, check=False)


def test_demo_trains_ten_classifiers(tmp_path: Path) -> None:
    done = run("demo", "--budget", "60", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "60 training steps over 10 candidates" in done.stdout
    for text in ("successive halving", "round robin", "error on a test set", "network, 256", "not certified"):
        assert text in done.stdout
    assert (tmp_path / "restsure-demo.png").read_bytes().startswith(b"\x89PNG")


def test_demo_json_is_repeatable(tmp_path: Path) -> None:
    options = ("demo", "--budget", "40", "--seed", "3", "--json", "--picture", "p.png")
    first, second = run(*options, cwd=tmp_path), run(*options, cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    assert (first.stdout, first.stderr) == (second.stdout, "")
    outcome = json.loads(first.stdout)
    assert sum(outcome["pulls"].values()) == 40
    assert [row["rule"] for row in outcome["rows"]] == ["restsure", "successive halving", "round robin"]


def test_paper_plays_and_draws(tmp_path: Path) -> None:
    done = run("paper", "--horizon", "600", "--runs", "5", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Example 1" in done.stdout
    assert "Eight crossing arms" in done.stdout
    assert "REST-SURE as published" in done.stdout
    picture = tmp_path / "restsure-paper.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 50_000


def test_paper_json_is_json_alone_and_repeatable(tmp_path: Path) -> None:
    options = ("paper", "--horizon", "400", "--runs", "4", "--seed", "7", "--json", "--picture", "p.png")
    first, second = run(*options, cwd=tmp_path), run(*options, cwd=tmp_path)
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    rows = json.loads(first.stdout)["rows"]
    assert len(rows) == 10
    assert {"instance", "algorithm", "regret", "standard_error", "wrong", "winners_pulls"} == set(rows[0])
    assert first.stderr == ""


def test_theory_side_by_side() -> None:
    done = run("theory", "--alpha", "0.5", "--gap", "0.02", "--horizon", "10000", "--json")
    assert done.returncode == 0, done.stderr
    rows = {row["statement"]: row for row in json.loads(done.stdout)}
    assert list(rows) == [
        "Theorem 2",
        "Theorem 1, as printed",
        "Theorem 1, as proved",
        "Corollary 1",
        "Theorem 3",
        "Theorem 4",
        "Corollary 2",
    ]
    assert rows["Theorem 1, as printed"]["value"] == pytest.approx(1.2e-4, rel=0.01)
    assert rows["Theorem 1, as printed"]["explored"] == 461
    table = run("theory", "--n-arms", "5", "--rho", "0.3")
    assert "REST-SURE (5 arms)" in table.stdout
    assert "Corollary" not in table.stdout


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("theory", "--rho", "1"), "rho=1"),
        (("theory", "--rho", "x"), "'--rho'"),
        (("theory", "--rho", "x"), "'x'"),
        (("theory", "--rho=abc"), "abc"),
        (("theory", "--gap", "0"), "gap=0.0: must be above 0"),
        (("theory", "--gap", "nan"), "gap=nan: must be above 0"),
        (("theory", "--alpha", "-1"), "alpha=-1.0: must be at least 0"),
        (("theory", "--horizon", "1"), "horizon=1: must be at least 2"),
        (("theory", "--horizon", "1.5"), "1.5"),
        (("theory", "--sigma", "0"), "sigma=0.0: must be above 0"),
        (("theory", "--n-arms", "1"), "n_arms=1: must be at least 2"),
        (("theory", "--alpha-max", "-2"), "alpha_max=-2.0: must be at least 0"),
        (("paper", "--horizon", "7"), "horizon=7: must be at least 8"),
        (("paper", "--runs", "0"), "runs=0: must be at least 1"),
        (("paper", "--seed", "-1"), "seed=-1: must be at least 0"),
        (("demo", "--seed", "-1"), "seed=-1: must be at least 0"),
        (("demo", "--budget", "9"), "budget=9: must be at least 10, one training step for each candidate"),
        (("demo", "--budget", "ten"), "ten"),
        (("demo", "--speed", "9"), "--speed"),
        (("fly",), "fly"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments: tuple[str, ...], line: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("restsure: ")
    assert line in done.stderr


def test_a_picture_that_cannot_be_written_is_exit_code_1(tmp_path: Path) -> None:
    done = run("paper", "--horizon", "50", "--runs", "1", "--picture", str(tmp_path / "no" / "where.png"))
    assert done.returncode == 1
    assert "where.png" in done.stderr
    assert "Traceback" not in done.stderr


def test_version_and_help() -> None:
    import restsure

    assert run("--version").stdout.strip() == restsure.__version__
    assert "theory" in run("--help").stdout


def test_names_that_the_terminal_cannot_write(tmp_path: Path) -> None:
    """Half a character, or any that is not ASCII where only that can be written."""
    losses = {"half \ud800": lambda: 0.1, "grün": lambda: 0.3}
    rs.select(losses, budget=12, run_dir=tmp_path / "run", progress=False)
    for encoding in ("utf-8", "ascii"):
        environment = {**os.environ, "PYTHONIOENCODING": encoding}
        shown = subprocess.run(
            [RESTSURE, "show", str(tmp_path / "run")], capture_output=True, env=environment, check=False
        )
        assert shown.returncode == 0, shown.stderr
        assert rb"half \ud800" in shown.stdout
        assert ("grün".encode() if encoding == "utf-8" else rb"gr\xfcn") in shown.stdout

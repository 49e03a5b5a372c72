"""``restsure run`` and ``restsure show``, from files and functions."""

import csv
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from restsure.cli import main

SPEC = """
budget = 120
batch_size = 32
random_state = 0

[data]
make = "sklearn.datasets:load_digits"
return_X_y = true

[candidates.bayes]
make = "sklearn.naive_bayes:BernoulliNB"
alpha = 0.5

[candidates.scaled]
steps = [
    { make = "sklearn.preprocessing:StandardScaler" },
    { make = "sklearn.linear_model:SGDClassifier", loss = "log_loss", random_state = 0 },
]

[policy]
kind = "HorizonLCB"
patience = 1.5
"""

MODULE = """
def setup():
    def loop(alpha, beta):
        s = 0
        while True:
            s += 1
            yield alpha / s**0.5 + beta

    return {"candidates": {"slow [x]": loop(1.0, 0.05), "quick": loop(0.2, 0.3), "<b>ends</b>": iter([0.5])}, "budget": 100}


def number():
    return 3
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.toml").write_text(SPEC)
    (tmp_path / "training_setup.py").write_text(MODULE)
    return tmp_path


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    return int(stopped.value.code or 0)


def test_a_toml_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("run", "spec.toml", "--dir", "out", "--picture", "out.png", "--pickle", "model.pkl") == 0
    told = capsys.readouterr()
    assert "120 of 120 training steps over 2 candidates" in told.out
    assert told.err == ""  # no live table where there is no terminal
    assert (here / "out.png").stat().st_size > 10_000
    model = pickle.loads((here / "model.pkl").read_bytes())
    assert model.predict(np.zeros((1, 64))).shape == (1,)
    assert call("show", "out", "--csv", "history.csv") == 0
    shown = capsys.readouterr().out
    assert shown.startswith(told.out)
    assert "1 saved states" in shown
    with (here / "history.csv").open() as file:
        assert sum(int(row["times"]) for row in csv.DictReader(file)) == 120
    assert call("show", "out", "--json") == 0
    outcome = json.loads(capsys.readouterr().out)
    assert outcome["state"] == "over"
    assert call("show", "out", "--types") == 0
    assert "scaled is saved as " in (told_types := capsys.readouterr().out)
    assert "sklearn.preprocessing._data:StandardScaler" in told_types
    assert sum(candidate["pulls"] for candidate in outcome["candidates"]) == 120
    assert outcome["policy"]["patience"] == 1.5


def test_a_function(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("run", "training_setup:setup", "--budget", "80") == 0
    out = capsys.readouterr().out
    assert "80 of 80 training steps" in out
    assert "slow [x]: loss" in out  # names are text, not markup
    assert "<b>ends</b>" in out
    assert call("show", "restsure-run", "--json") == 0
    states = {each["name"]: each["failure"] for each in json.loads(capsys.readouterr().out)["candidates"]}
    assert "ended before the budget was spent" in states["<b>ends</b>"]


def test_the_same_seed_gives_the_same_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = list[str]()
    for name in ("one", "two", "other"):
        assert call("run", "spec.toml", "--dir", name, "--seed", "7" if name == "other" else "3", "--json") == 0
        told.append(capsys.readouterr().out)
    one, two, other = told
    assert one == two != other


def test_data_files(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3))
    y = (x[:, 0] > 0).astype(int)
    np.savez(here / "data.npz", X=x, y=y)
    np.savetxt(here / "data.csv", np.c_[x, y], delimiter=",", header="a,b,c,label", comments="")
    for data in ('file = "data.npz"', 'file = "data.csv"\ntarget = "label"'):
        text = SPEC.replace('make = "sklearn.datasets:load_digits"\nreturn_X_y = true', data)
        (here / "own.toml").write_text(text)
        assert call("run", "own.toml", "--dir", f"out-{len(data)}", "--json") == 0
        assert json.loads(capsys.readouterr().out)["loss"] < 0.3


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("budget = 120", "bugdet = 120", "bugdet: must be one of candidates"),
        ("budget = 120", "", "budget: must be in "),
        ("budget = 120", "budget = 'soon'", "budget='soon': must be a whole number"),
        ("budget = 120", "budget = ", "must be TOML"),
        ("alpha = 0.5", "alhpa = 0.5", "candidates.bayes: "),
        ("naive_bayes:BernoulliNB", "naive_bayes:Bayes", "the module has no Bayes"),
        ("sklearn.naive_bayes:BernoulliNB", "nosuch.module:Bayes", "no module nosuch"),
        ("sklearn.naive_bayes:BernoulliNB", "Bayes", "candidates.bayes.make='Bayes': must be module:name"),
        ('make = "sklearn.datasets:load_digits"\nreturn_X_y = true', 'file = "none.npz"', "data.file="),
        ('make = "sklearn.datasets:load_digits"\nreturn_X_y = true', 'file = "data.txt"', "must end in .npz or .csv"),
        (
            'make = "sklearn.datasets:load_digits"\nreturn_X_y = true',
            'name = "digits"',
            "data: must have make = 'module:f",
        ),
        ("patience = 1.5", "patience = -1", "patience=-1: must be at least 0"),
        ('kind = "HorizonLCB"', 'kind = "Best"', "kind='Best': must be one of"),
        ("[data]", "[date]", "date: must be one of"),
    ],
)
def test_bad_specs(here: Path, old: str, new: str, complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert old in SPEC
    (here / "spec.toml").write_text(SPEC.replace(old, new))
    assert call("run", "spec.toml") == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert error.count("\n") == 1
    assert not (here / "restsure-run").exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("run", "none.toml"), "must be a file that exists"),
        (("run", "spec"), "must be a file that ends in .toml, or module:function"),
        (("run", "training_setup:none"), "the module has no none"),
        (("run", "training_setup:number"), "must return a dictionary, not int"),
        (("run", "training_setup:setup", "--dir", "spec.toml"), "must be a directory"),
        (("show", "nowhere"), "must be a run directory, with a journal.sqlite"),
        (("verify", "nowhere"), "must be a run directory"),
        (("resume", "nowhere"), "must be a run directory"),
        (("run", "spec.toml", "--memory-limit", "2GB"), "memory-limit='2GB': must come with --workers"),
        (("run", "spec.toml", "--seed", "-1"), "seed=-1: must be at least 0"),
    ],
)
def test_bad_calls(arguments: tuple[str, ...], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(*arguments) == 2
    assert complaint in capsys.readouterr().err


def test_a_run_is_not_written_over_but_resumed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("run", "training_setup:setup") == 0
    first = capsys.readouterr().out
    assert call("run", "training_setup:setup") == 2
    assert "must be a directory without a run yet; or restsure resume" in capsys.readouterr().err
    assert call("resume", "restsure-run") == 0  # of a run that is over, it tells the outcome again
    assert capsys.readouterr().out == first
    assert call("verify", "restsure-run") == 0
    assert "nothing is wrong" in capsys.readouterr().out


def test_a_damaged_run_is_named_and_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("run", "spec.toml", "--dir", "out") == 0
    journal, [state] = here / "out" / "journal.sqlite", list((here / "out" / "checkpoints").iterdir())
    model = next(state.glob("*.skops"))
    model.write_bytes(model.read_bytes()[:-1] + b"x")
    capsys.readouterr()
    assert call("verify", "out") == 1
    assert f"is damaged: {model.name!r} was changed" in capsys.readouterr().out
    journal.write_bytes(journal.read_bytes().replace(b'"losses":[0.', b'"losses":[1.', 1))
    assert call("verify", "out") == 1
    assert "is damaged: its hash does not fit" in capsys.readouterr().out
    for verb in ("show", "resume"):
        assert call(verb, "out") == 1
        error = capsys.readouterr().err
        assert "is damaged: its hash does not fit" in error
        assert error.count("\n") == 1


def test_a_spec_that_moved_or_changed_is_not_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("run", "spec.toml", "--dir", "out") == 0
    assert call("run", "training_setup:setup", "--dir", "called") == 0
    (here / "spec.toml").write_text(SPEC + "\n")
    capsys.readouterr()
    assert call("resume", "out") == 2
    assert "has changed since the run was begun" in capsys.readouterr().err
    assert call("resume", "out", "--spec", "spec.toml") == 0
    (here / "spec.toml").write_text(SPEC.replace("alpha = 0.5", "alpha = 0.25"))
    capsys.readouterr()
    assert call("resume", "out", "--spec", "spec.toml") == 2
    assert "candidates['bayes']=" in capsys.readouterr().err


def test_a_spec_in_the_run_directory_is_not_trusted(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "out").mkdir()
    (here / "out" / "spec.toml").write_text(SPEC)
    assert call("run", "out/spec.toml", "--dir", "out") == 0
    capsys.readouterr()
    assert call("resume", "out") == 2
    assert "lies in the run directory" in capsys.readouterr().err
    assert call("resume", "out", "--spec", "out/spec.toml") == 0


def test_a_function_is_resumed_where_its_run_was_begun(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("run", "training_setup:setup") == 0
    (here / "elsewhere").mkdir()
    monkeypatch.chdir(here / "elsewhere")
    capsys.readouterr()
    assert call("resume", "../restsure-run") == 2
    assert "is resumed in the run's folder" in capsys.readouterr().err


def test_a_share_of_the_data_may_be_held_back(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    notes = dict[str, list[str]]()
    for share in ("0.2", ""):
        text = f"validation = {share}\n{SPEC}" if share else SPEC
        (here / "held.toml").write_text(text.replace("budget = 120", "budget = 240"))
        assert call("run", "held.toml", "--dir", f"out{share}", "--json") == 0
        notes[share] = json.loads(capsys.readouterr().out)["notes"]
    assert notes["0.2"] == []
    assert "validation=0.1 holds a tenth back" in notes[""][0]
    for share, rule in (("3", "validation=3: must be above 0 and below 1"), ('"a fifth"', "must be a table")):
        (here / "held.toml").write_text(f"validation = {share}\n{SPEC}")
        assert call("run", "held.toml", "--dir", "none") == 2
        assert rule in capsys.readouterr().err

"""Directories that are not what a learner has saved: files missing, linked, swapped, pickled, endless, or damaged."""

import json
import os
import pickle
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from river import linear_model, preprocessing
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import restsure as rs
from restsure.training.saving.model_file import read_model
from tests.security.forge import CANDIDATES, accepted, fresh, members_of, put, refused, saved, seal, zipped
from tests.training.zoo import learner


class Bomb:
    def __reduce__(self) -> Any:
        return os.mkdir, ("ran",)


def model_file(directory: Path) -> Path:
    [file] = directory.glob("model-*")
    return file


def linked(name: str) -> Callable[[Path], None]:
    def spoil(directory: Path) -> None:
        [file] = directory.glob(name)
        file.rename(directory / "elsewhere")
        file.symlink_to(directory / "elsewhere")

    return spoil


def endless(name: str) -> Callable[[Path], None]:
    """A file of ten terabytes that takes no place on the disk."""

    def spoil(directory: Path) -> None:
        [file] = directory.glob(name)
        os.truncate(file, 10**13)

    return spoil


def replaced(name: str, make: Callable[[Path], Any]) -> Callable[[Path], None]:
    def spoil(directory: Path) -> None:
        [file] = directory.glob(name)
        file.unlink()
        make(file)

    return spoil


def facts(**changes: Any) -> Callable[[Path], None]:
    def spoil(directory: Path) -> None:
        known = json.loads((directory / "learner.json").read_text())["learner"]
        seal(directory, {name: value for name, value in (known | changes).items() if value is not ...})

    return spoil


def cases() -> Iterator[tuple[str, Callable[[Path], Any], str]]:
    yield "no learner.json", replaced("learner.json", lambda file: None), "learner.json: there is no such file"
    yield "no model", replaced("model-*", lambda file: None), "model-.*: there is no such file"
    yield "a link to learner.json", linked("learner.json"), "learner.json: must be a plain file, not a link"
    yield "a link to the model", linked("model-*"), "model-.*: must be a plain file, not a link"
    yield "a directory for learner.json", replaced("learner.json", Path.mkdir), "learner.json: "
    yield "a directory for the model", replaced("model-*", Path.mkdir), "model-.*: "
    yield "a pipe for learner.json", replaced("learner.json", os.mkfifo), "learner.json: must be a plain file"
    yield "a pipe for the model", replaced("model-*", os.mkfifo), "model-.*: must be a plain file"
    yield "an endless learner.json", endless("learner.json"), "at the most, but has 10000000000000"
    yield "an endless model", endless("model-*"), "at the most, but has 10000000000000"
    for what, text in {
        "nothing": "",
        "no JSON": "{",
        "a list": "[]",
        "text": '"x"',
        "NaN": '{"learner": NaN, "sha256": ""}',
        "no learner": '{"sha256": ""}',
        "a learner that is none": '{"learner": 5, "sha256": ""}',
        "another sum": '{"learner": {"file": "model-0000000000000000.skops"}, "sha256": "00"}',
        "lists in each other": "[" * 50_000,
        "a number of 5,000 digits": "1" * 5000,
        "a pickle": "cos\nmkdir\n(S'ran'\ntR.",
    }.items():
        spoil = replaced("learner.json", lambda file, text=text: file.write_text(text))
        yield f"learner.json: {what}", spoil, "learner.json: is not a file that was saved here, or is damaged"
    for name in ("../model-0000000000000000.skops", "/etc/passwd", "learner.json", "model-0.skops", "", 5, None, ["x"]):
        yield f"a model named {name!r}", facts(file=name), "learner.json: is not a file that was saved here"
    yield "no name", facts(file=...), "learner.json: is not a file that was saved here"
    yield "another model", facts(sha256="0" * 64), "is not the file that learner.json was written for"
    yield "another kind", facts(kind="WarmStartLearner"), "of kind 'WarmStartLearner', not 'PartialFitLearner'"
    yield "no kind", facts(kind=...), "of kind None, not 'PartialFitLearner'"
    yield "another candidate", facts(model="os:system"), "of model 'os:system'"
    yield "other parameters", facts(parameters="0" * 64), "of parameters '0000"
    for value in (-1, 1.5, "3", True, None, ..., [1], float("inf")):
        yield f"pulls {value!r}", facts(pulls=value), "pulls=|is damaged"
        yield f"samples {value!r}", facts(samples=value), "samples=|is damaged"
    words = [0] * 624
    for value in (
        [],
        "none",
        [words, 625, 0, 0.0],
        [words, -1, 0, 0.0],
        [[2**32] * 624, 0, 0, 0.0],
        [words[1:], 0, 0, 0.0],
    ):
        yield f"chance {str(value)[:30]} {len(str(value))}", facts(chance=value), "chance: must be 624 words"
    for value in (None, ..., [True], "yes", {}):
        yield f"unseeded {value!r}", facts(unseeded=value), "unseeded="


@pytest.mark.parametrize(("spoil", "said"), [pytest.param(*rest, id=name) for name, *rest in cases()])
def test_directories(tmp_path: Path, spoil: Callable[[Path], Any], said: str) -> None:
    put(tmp_path, *saved("pipeline"))
    accepted(tmp_path, "pipeline")
    spoil(tmp_path)
    refused(tmp_path, "pipeline", said)


@pytest.mark.parametrize("name", ["pipeline", "river"])
@pytest.mark.parametrize("protocol", range(6))
def test_pickles_in_the_place_of_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, protocol: int
) -> None:
    """By whatever name: without the user's word they are not loaded."""
    monkeypatch.chdir(tmp_path)
    put(tmp_path, saved(name)[0], pickle.dumps(Bomb(), protocol=protocol))
    refused(tmp_path, name, "is pickled, and can run any code" if protocol > 1 else "damaged")
    model_file(tmp_path).unlink()
    put(tmp_path, saved(name)[0] | {"file": "x.pickle"}, pickle.dumps(Bomb(), protocol=protocol))
    refused(tmp_path, name, "is pickled, and can run any code" if protocol > 1 else "damaged")


def test_no_such_directory(tmp_path: Path) -> None:
    with pytest.raises(rs.InvalidParameter, match="nowhere/learner.json: there is no such file"):
        fresh("pipeline").load(tmp_path / "nowhere")


@pytest.mark.parametrize("kind", sorted(CANDIDATES))
def test_checkpoints_of_other_candidates(tmp_path: Path, kind: str) -> None:
    """Every kind for every other; those that would fit each other's classes have other parameters."""
    put(tmp_path, *saved(kind))
    for name in CANDIDATES:
        if name != kind:
            refused(tmp_path, name, "is of another learner, of (kind|model|parameters)")
    accepted(tmp_path, kind)


def test_the_same_model_with_other_parameters(tmp_path: Path) -> None:
    for one, other, data in (
        (SGDClassifier(alpha=1e-4), SGDClassifier(alpha=1e-3), "digits"),
        (SGDClassifier(), Perceptron(), "digits"),
        (
            make_pipeline(StandardScaler(), SGDClassifier()),
            make_pipeline(StandardScaler(with_std=False), SGDClassifier()),
            "digits",
        ),
        (linear_model.LogisticRegression(l2=0.0), linear_model.LogisticRegression(l2=0.1), "phishing"),
        (
            preprocessing.StandardScaler() | linear_model.LogisticRegression(),
            preprocessing.MinMaxScaler() | linear_model.LogisticRegression(),
            "phishing",
        ),
    ):
        learner(one, data).save(tmp_path)
        with pytest.raises(rs.InvalidParameter, match="is of another learner, of (model|parameters)"):
            learner(other, data).load(tmp_path)
        learner(one, data).load(tmp_path)


def test_every_flipped_bit_is_found(tmp_path: Path) -> None:
    """In either file of a checkpoint, whose sums are then wrong."""
    chance = random.Random(0)
    for name in ("pipeline", "river"):
        for pattern in ("learner.json", "model-*"):
            put(tmp_path, *saved(name))
            [file] = tmp_path.glob(pattern)
            honest = file.read_bytes()
            one = fresh(name)
            for _ in range(100):
                spoilt = bytearray(honest)
                spoilt[chance.randrange(len(spoilt))] ^= 1 << chance.randrange(8)
                file.write_bytes(spoilt)
                with pytest.raises(rs.InvalidParameter):
                    one.load(tmp_path)
            file.write_bytes(honest)
            one.load(tmp_path)
            file.unlink()


@pytest.mark.parametrize("name", ["pipeline", "forest", "river", "river forest", "river statistic"])
def test_whatever_comes_is_a_model_or_one_clear_error(tmp_path: Path, name: str) -> None:
    """Random changes to what is in a model file, which its own sums do not find: never anything else."""
    chance, refusals = random.Random(1), list[str]()
    candidate, honest = fresh(name).like(2), saved(name)[1]
    is_zip = honest.startswith(b"PK")
    for _ in range(120):
        spoilt = bytearray(members_of(name)["schema.json"] if is_zip else honest)
        for _ in range(chance.randrange(1, 4)):
            spoil(spoilt, chance)
        data = zipped(members_of(name) | {"schema.json": bytes(spoilt)}) if is_zip else bytes(spoilt)
        (tmp_path / "model").write_bytes(data)
        try:
            read_model(tmp_path / "model", candidate)
        except rs.InvalidParameter as error:
            refusals.append(str(error))
    assert len(refusals) > 50
    assert all(said.startswith(str(tmp_path / "model")) and "\n" not in said for said in refusals)


def spoil(text: bytearray, chance: random.Random) -> None:
    at, begin = chance.randrange(len(text)), chance.randrange(len(text))
    match chance.randrange(4):
        case 0:
            text[at] = chance.choice(b'0123456789-.eE"[]{}:,abcxyz')
        case 1:
            del text[at : at + chance.randrange(1, 9)]
        case 2:
            text[at:at] = chance.choice([b"0", b"null", b"-1", b"1e400", b"true", b'"at"', b"[", b"9" * 30])
        case 3:
            text[at:at] = text[begin : begin + 60]

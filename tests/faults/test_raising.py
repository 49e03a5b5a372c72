"""Learners that raise, and losses that are none: they fail their own arm, by name, and the run goes on."""

import decimal
import fractions
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import restsure as rs
from restsure.training import Checkpoints
from tests.faults.runs import Walk, plain_models

STEPS = 60


class Raising(Walk):
    """The best of all, until it raises at a certain pull; so many times."""

    def __init__(self, at: int, error: BaseException, times: int = 10**9):
        super().__init__(1.0, 0.0, 3)
        self.at, self.error, self.left = at, error, times

    def train(self, times: int) -> list[float]:
        if self.pulls < self.at <= self.pulls + times and self.left:
            self.left -= 1
            self.pulls += 1  # what a failure leaves behind is anything
            raise self.error
        return super().train(times)


class Awkward(Exception):
    def __str__(self) -> str:
        raise RuntimeError("even its text fails")


ERRORS = [
    ValueError("by design"),
    RuntimeError("two\nlines\x00 and \ud800"),
    MemoryError(),
    RecursionError("deep"),
    StopIteration(),
    GeneratorExit(),
    SystemExit(3),
    AssertionError(),
    OSError(5, "Input/output error"),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
    ZeroDivisionError("x" * 100_000),
    Awkward(),
    rs.InvalidLoss("its own"),
    rs.WriteFailed("pretends"),
]


def select(candidates: dict[str, Any], run_dir: Path | None, **options: Any) -> rs.Result:
    return rs.select(candidates, budget=STEPS, run_dir=run_dir, progress=False, random_state=0, **options)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_learner_that_raises_fails_alone_with_its_traceback_in_the_journal(
    error: BaseException, tmp_path: Path
) -> None:
    result = select({**plain_models(), "bad": Raising(4, error)}, tmp_path)
    assert result.name != "bad"
    assert result.spent == STEPS
    assert result.failures["bad"].startswith(type(error).__name__)
    assert len(result.failures["bad"]) < 1_200
    run = rs.read_run(tmp_path)
    assert run.result is not None
    assert run.result.to_dict() == result.to_dict()
    [failed] = [record.body for record in run.records if record.kind == "fail"]
    assert type(error).__name__ in failed["traceback"]


def test_at_every_pull_index(tmp_path: Path) -> None:
    """Whenever it raises, the others get its share, and the run resumes to the same end."""
    for at in range(1, STEPS + 1):
        for error in (ValueError("by design"), KeyError("x"), SystemExit(1))[: 1 if at % 10 else 3]:
            folder = tmp_path / f"{at} {type(error).__name__}"
            result = select({**plain_models(), "bad": Raising(at, error)}, folder)
            reached = result.pulls["bad"] >= at or "bad" in result.failures
            assert ("bad" in result.failures) == (reached and result.name != "bad")
            assert result.spent == STEPS
            again = select({**plain_models(), "bad": Raising(at, error)}, folder)
            assert again.to_dict() == result.to_dict()


def test_all_fail(tmp_path: Path) -> None:
    bad = {name: Raising(at, ValueError(name)) for at, name in enumerate(("a", "b", "c"), start=2)}
    with pytest.raises(rs.NoArmLeft, match="all 3 candidates have failed: .*a: ValueError: a"):
        select(bad, tmp_path)
    run = rs.read_run(tmp_path)
    assert run.state == "over"
    assert len(run.progress.game.failures) == 3
    with pytest.raises(rs.NoArmLeft, match="all 3 candidates have failed"):
        select({name: Raising(9, ValueError(name)) for name in bad}, tmp_path)


@pytest.mark.parametrize("at", [1, 2, 3, 7, 20])
def test_with_retries_a_candidate_comes_back_exactly(at: int, tmp_path: Path) -> None:
    expected = select({**plain_models(), "bad": Walk(1.0, 0.0, 3)}, None)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = select({**plain_models(), "bad": Raising(at, ValueError("at times"), times=2)}, tmp_path, retries=2)
    assert [str(each.message) for each in said] == list(result.notes)
    assert "bad: ValueError: at times; try 2 of 3" in result.notes
    assert result.failures == {}
    assert list(result.history) == list(expected.history)
    assert any("try 3 of 3" in note for note in result.notes)


def test_retries_end(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = select({**plain_models(), "bad": Raising(5, ValueError("always"))}, tmp_path, retries=2)
    assert result.failures == {"bad": "ValueError: always"}
    assert len([note for note in result.notes if "try" in note]) == 2


def test_a_failed_candidate_keeps_its_last_good_state(tmp_path: Path) -> None:
    class Slow(Raising):
        def train(self, times: int) -> list[float]:
            time.sleep(0.03)  # long enough to be worth saving
            return super().train(times)

    result = select(
        {**plain_models(), "bad": Slow(30, ValueError("late"))}, tmp_path, checkpoints=Checkpoints(share=1.0)
    )
    assert "bad" in result.failures
    run = rs.read_run(tmp_path)
    kept = {run.progress.names[arm] for arm in run.progress.states}
    assert kept == {"bad", result.name}


class Odd:
    """Is no number, whatever is done with it."""


BAD: list[Any] = [
    *(
        None,
        True,
        False,
        "0.5",
        "",
        b"x",
        "nan",
        object(),
        Odd(),
        Odd,
        [],
        {},
        set(),
        ...,
        NotImplemented,
        print,
        1j,
        0.5 + 0j,
    ),
    *(float("nan"), float("inf"), -float("inf"), np.nan, np.inf, np.float32("nan"), np.float16("inf"), 10**400),
    *(decimal.Decimal("0.5"), np.array([0.5]), np.array([0.5, 0.6]), np.array(0.5), np.array("x"), np.bool_(True)),
    *(np.datetime64("2020-01-01"), np.timedelta64(5, "s"), np.complex128(0.5), [0.5], (0.5,), {"loss": 0.5}, range(3)),
    *(memoryview(b"abc"), bytearray(b"1"), slice(1), Exception("loss"), ValueError, lambda: 0.5, iter([0.5]), "0x1p-1"),
]
BAD_ANSWERS: list[Any] = [
    *(
        None,
        0.5,
        "ab",
        b"ab",
        {},
        {0.5, 0.6, 0.7},
        [],
        [0.5] * 99,
        ((0.5,),),
        object(),
        True,
        3,
        np.array(0.5),
        np.ones((2, 2)),
    ),
    *("nan", {"a": 1, "b": 2}, [[0.5]], iter([]), Odd(), (x for x in "ab")),
]


class Answers:
    """Gives one thing as every loss, or one thing as the answer, after good beginnings."""

    def __init__(self, loss: Any = 0.0, answer: Any = ...):
        self.pulls, self.loss, self.answer = 0, loss, answer

    def train(self, times: int) -> Any:
        self.pulls += times
        if self.pulls <= 4:
            return [0.1] * times
        return [self.loss] * times if self.answer is ... else self.answer


def test_sixty_kinds_of_losses_that_are_none() -> None:
    assert len(BAD) + len(BAD_ANSWERS) >= 60


@pytest.mark.parametrize("k", range(len(BAD) + len(BAD_ANSWERS)))
def test_a_loss_that_is_none_fails_its_arm_and_never_wins(k: int, tmp_path: Path) -> None:
    bad = Answers(loss=BAD[k]) if k < len(BAD) else Answers(answer=BAD_ANSWERS[k - len(BAD)])
    result = select({**plain_models(), "bad": bad}, tmp_path)
    assert "bad" in result.failures
    assert result.name != "bad"
    assert "\n" not in result.failures["bad"]
    assert all(isinstance(loss, float) and np.isfinite(loss) for block in result.history for loss in block.losses)
    run = rs.read_run(tmp_path)
    assert run.result is not None
    assert run.result.to_dict() == result.to_dict()


@pytest.mark.parametrize(
    "loss", [0, 1, -3, 0.5, np.float32(0.5), np.float64(0.25), np.int8(3), fractions.Fraction(1, 3), 1e300]
)
def test_numbers_of_all_kinds_are_losses(loss: Any, tmp_path: Path) -> None:
    result = select({**plain_models(), "good": Answers(loss=loss)}, tmp_path)
    assert result.failures == {}


def test_losses_as_an_array_or_any_sequence(tmp_path: Path) -> None:
    class Arrays(Walk):
        def train(self, times: int) -> Any:
            return np.array(super().train(times), dtype=np.float32)

    result = select({**plain_models(), "array": Arrays(1.0, 0.0, 0)}, tmp_path)
    assert result.failures == {}
    assert result.name == "array"
    assert rs.read_run(tmp_path).result.history.losses("array") == result.history.losses("array")  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["", " ", "\n", None, 3, b"x", ("a",), 0.5, True])
def test_names_that_are_none(name: Any) -> None:
    with pytest.raises(rs.InvalidParameter, match="names must be text that is not empty"):
        select({name: Walk(1.0, 0.0, 0)}, None)


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd",
        "a\0b",
        "<script>alert(1)</script>",
        "\u202eabc",
        "x" * 5_000,
        "\ud800",
        "CON",
        "[bold]",
        "arm 1",
        "'\"`",
    ],
)
def test_names_of_any_kind_are_only_text(name: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    result = select({name: Walk(1.0, 0.0, 0), "other": Walk(0.0, 0.9, 1)}, run, checkpoints=Checkpoints(share=1.0))
    assert result.name == name
    assert rs.read_run(run).progress.names == (name, "other")
    assert select({name: Walk(1.0, 0.0, 0), "other": Walk(0.0, 0.9, 1)}, run).to_dict() == result.to_dict()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]

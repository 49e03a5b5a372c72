"""A learner whose place is lost is brought back in another one, a bounded number of times, whenever that happens."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import restsure as rs
from restsure.errors import LearnerLost
from restsure.training import Checkpoints, findings
from restsure.training.adapters import Learner
from restsure.training.executors import Executor, Outcome
from restsure.training.executors.in_process import InProcessCrew
from restsure.training.meter import Meter
from tests.faults.runs import Walk, outcome
from tests.training.test_run_dir import Stopped, stop_at

pytestmark = pytest.mark.filterwarnings("ignore:.*lightning:RuntimeWarning")
WHY = "struck by lightning"


@dataclass(frozen=True)
class Exposed(Executor):
    """Places that are lost at some uses, of all that are counted: ``strikes``, each ``every``-th, or all of one arm."""

    strikes: tuple[int, ...] = ()
    every: int = 0
    arm: int | None = None
    max_restarts: int = 100

    def open(self, learners: Sequence[Learner], meter: Meter) -> "ExposedCrew":
        return ExposedCrew(self, learners, meter)


class ExposedCrew(InProcessCrew):
    """Learners are copies, as elsewhere; what is lost stays lost until it is renewed."""

    def __init__(self, executor: Exposed, learners: Sequence[Any], meter: Meter):
        super().__init__([copied(learner) for learner in learners], meter)
        self.executor, self.given, self.uses, self.lost = executor, learners, 0, set[int]()

    def struck(self, arm: int) -> bool:
        self.uses += 1
        executor = self.executor
        if self.uses in executor.strikes or arm == executor.arm or (executor.every and self.uses % executor.every == 0):
            self.lost.add(arm)
        return arm in self.lost

    def collect(self, arm: int | None = None) -> Outcome:
        found = super().collect(arm)
        return Outcome(found.arm, None, found.cost, 0.0, WHY, lost=True) if self.struck(found.arm) else found

    def save(self, arm: int, directory: Path) -> None:
        if self.struck(arm):
            raise LearnerLost(WHY)
        super().save(arm, directory)

    def load(self, arm: int, directory: Path) -> None:
        if self.struck(arm):
            raise LearnerLost(WHY)
        super().load(arm, directory)

    def learner(self, arm: int) -> Learner:
        if self.struck(arm):
            raise LearnerLost(WHY)
        return super().learner(arm)

    def renew(self, arm: int) -> bool:
        self.lost.discard(arm)
        self.learners[arm] = copied(self.given[arm])
        return True


def copied(learner: Any) -> Walk:
    new = Walk(learner.alpha, learner.beta, 0)
    new.rng.bit_generator.state = learner.rng.bit_generator.state
    return new


def models() -> dict[str, Any]:
    return {"quick": Walk(0.2, 0.3, 0), "slow": Walk(1.0, 0.05, 1), "flat": Walk(0.0, 0.5, 2)}


def run(executor: Executor | None, folder: Path | None = None, **options: Any) -> rs.Result:
    return rs.select(
        models(),
        budget=40,
        run_dir=folder,
        executor=executor,
        checkpoints=Checkpoints(share=1.0),
        progress=False,
        random_state=0,
        **options,
    )


@pytest.fixture
def expected() -> str:
    return outcome(run(None))


@pytest.mark.parametrize("recorded", [True, False], ids=["with a journal", "without"])
def test_lost_at_any_use(recorded: bool, expected: str, tmp_path: Path) -> None:
    """While it trains, is saved, loaded or brought back: every use of a place (with a journal every other), to the last."""
    for use in range(1, 1_000, 1 + recorded):
        folder = tmp_path / str(use) if recorded else None
        result = run(Exposed(strikes=(use,)), folder)
        assert outcome(result) == expected, use
        assert folder is None or findings(folder) == []
        if not result.notes:
            break
        assert result.notes == (f"{result.notes[0].split(':')[0]}: {WHY}; restart 1 of 100",)
    assert use > 20


@pytest.mark.parametrize("every", [3, 4, 7])
def test_lost_again_and_again(every: int, expected: str, tmp_path: Path) -> None:
    result = run(Exposed(every=every), tmp_path)
    assert outcome(result) == expected
    assert len(result.notes) > 3
    assert findings(tmp_path) == []


def test_restarts_are_bounded_and_come_before_retries(tmp_path: Path) -> None:
    result = run(Exposed(arm=1, max_restarts=2), tmp_path, retries=1)
    assert result.failures == {"slow": WHY}
    assert [note.split("; ")[1] for note in result.notes] == ["restart 1 of 2", "restart 2 of 2", "try 2 of 2"]
    assert result.spent == 40


def test_restarts_are_counted_over_all_of_a_run(tmp_path: Path) -> None:
    """Also over those before it was stopped."""
    with pytest.raises(Stopped):
        run(Exposed(strikes=(1,)), tmp_path, callbacks=[stop_at(9)])
    [(arm, count)] = rs.read_run(tmp_path).progress.restarts.items()
    assert count == 1
    result = run(Exposed(arm=arm, max_restarts=3), tmp_path)
    assert list(result.failures) == [list(models())[arm]]
    assert [note.split("; ")[1] for note in result.notes] == ["restart 1 of 100", "restart 2 of 3", "restart 3 of 3"]


def test_by_itself_no_place_is_given_twice(tmp_path: Path) -> None:
    """As with processes, whose deaths are their learners' fault."""
    result = run(Exposed(arm=0, max_restarts=0), tmp_path)
    assert result.failures == {"quick": WHY}
    assert result.notes == ()
    assert not rs.ProcessExecutor().max_restarts

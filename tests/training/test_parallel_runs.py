"""Whole runs with candidates in processes of their own: the same decisions whoever ends first, and no harm from bad ones."""

import faulthandler
import os
import random
import time
from pathlib import Path
from typing import Any

import pytest

import restsure as rs
from restsure.training import Checkpoints, findings
from tests.faults.runs import Walk, outcome
from tests.training.test_run_dir import Stopped, stop_at

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # this process has threads, of pytest-xdist


class Dawdling(Walk):
    """Takes a random time for each pull, another one in every run."""

    def train(self, times: int) -> list[float]:
        time.sleep(random.SystemRandom().uniform(0, 0.004))
        return super().train(times)


class Segfault(Walk):
    def train(self, times: int) -> list[float]:
        if self.pulls > 3:
            faulthandler.disable()  # what the tests' own process prints when it crashes
            os.kill(os.getpid(), 11)
        return super().train(times)


class Hang(Walk):
    def train(self, times: int) -> list[float]:
        if self.pulls > 3:
            time.sleep(1_000)
        return super().train(times)


class Leak(Walk):
    def train(self, times: int) -> list[float]:
        if self.pulls > 3:
            self.leaked = bytearray(2**31)
        return super().train(times)


def models(kind: type[Walk] = Dawdling) -> dict[str, Any]:
    lines = {"quick": (0.2, 0.3), "slow": (1.0, 0.05), "flat": (0.0, 0.5), "middle": (0.5, 0.2)}
    return {name: kind(*line, seed) for seed, (name, line) in enumerate(lines.items())}


def run(folder: Path | None, workers: int, candidates: dict[str, Any] | None = None, **options: Any) -> rs.Result:
    executor = rs.ProcessExecutor(
        workers=workers, start_method="fork", **options.pop("limits", {})
    )  # fork: these learners have no threads, and a process costs nothing
    return rs.select(
        models() if candidates is None else candidates,
        budget=150,
        run_dir=folder,
        executor=executor,
        checkpoints=Checkpoints(share=1.0),
        progress=False,
        random_state=0,
        **options,
    )


def test_one_worker_is_this_process() -> None:
    here = rs.select(models(Walk), budget=150, progress=False, random_state=0)
    assert outcome(run(None, 1, models(Walk))) == outcome(here)


@pytest.mark.parametrize("workers", [2, 3])
def test_decisions_do_not_depend_on_who_ends_first(workers: int, tmp_path: Path) -> None:
    first = run(tmp_path / "a", workers)
    assert first.spent == 150
    for k in range(2):
        assert outcome(run(tmp_path / f"b{k}", workers)) == outcome(first)
    for steps in (20, 80):  # and neither on where the run was stopped
        with pytest.raises(Stopped):
            run(tmp_path / "c", workers, callbacks=[stop_at(steps)])
    assert outcome(run(tmp_path / "c", workers)) == outcome(first)


def test_as_they_come_the_run_is_still_replayed_as_it_was(tmp_path: Path) -> None:
    """Not deterministic: what was decided is in the journal, and resumed from there."""
    with pytest.raises(Stopped):
        run(tmp_path, 3, callbacks=[stop_at(9)], limits=dict(deterministic=False))
    before = rs.read_run(tmp_path).progress
    assert len(before.out) >= 1  # pulls that were under way
    result = run(tmp_path, 3, limits=dict(deterministic=False))
    assert result.history[: len(before.history)] == tuple(before.history)
    assert result.spent == 150
    assert result.notes == ()
    assert findings(tmp_path) == []


def test_a_run_may_be_resumed_with_other_workers(tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        run(tmp_path, 3, callbacks=[stop_at(60)])
    with pytest.raises(Stopped):
        run(tmp_path, 1, callbacks=[stop_at(100)])
    result = rs.select(models(), budget=150, run_dir=tmp_path, progress=False, random_state=0)
    assert result.spent == 150
    assert result.notes == ()
    read = rs.read_run(tmp_path).result
    assert read is not None
    assert list(read.history) == list(result.history)


def test_bad_learners_fail_alone(tmp_path: Path) -> None:
    bad = {"segfault": Segfault(0.1, 0.0, 7), "hang": Hang(0.1, 0.0, 8), "leak": Leak(0.1, 0.0, 9)}
    limits = dict(pull_timeout_s=1.0, memory_limit="200MB")
    result = run(tmp_path, 2, {**models(Walk), **bad}, limits=limits)
    assert result.failures.keys() == bad.keys()
    assert "signal 11 (SIGSEGV)" in result.failures["segfault"]
    assert "pull_timeout_s" in result.failures["hang"]
    assert result.failures["leak"].startswith("MemoryError")
    assert result.name in models()
    assert result.spent == 150
    assert findings(tmp_path) == []


def test_with_retries_a_crash_is_made_good(tmp_path: Path) -> None:
    class Once(Walk):
        def train(self, times: int) -> list[float]:
            if self.pulls > 10 and not (tmp_path / "crashed").exists():
                (tmp_path / "crashed").touch()
                os._exit(3)
            return super().train(times)

    whole = rs.select({**models(Walk), "slow": Walk(1.0, 0.05, 1)}, budget=150, progress=False, random_state=0)
    with pytest.warns(RuntimeWarning, match="slow: the process of this candidate died: exit code 3; try 2 of 2"):
        result = run(tmp_path / "run", 1, {**models(Walk), "slow": Once(1.0, 0.05, 1)}, retries=1)
    assert list(result.history) == list(whole.history)
    assert result.failures == {}


def test_without_a_run_directory_a_crash_is_made_good_from_the_start(tmp_path: Path) -> None:
    class Once(Walk):
        def train(self, times: int) -> list[float]:
            if self.pulls > 10 and not (tmp_path / "crashed").exists():
                (tmp_path / "crashed").touch()
                os._exit(3)
            return super().train(times)

    with pytest.warns(RuntimeWarning, match="try 2 of 2"):
        result = run(None, 2, {**models(Walk), "slow": Once(1.0, 0.05, 1)}, retries=1)
    assert result.failures == {}
    assert result.spent == 150


@pytest.mark.parametrize("budget", ["0.4s", "600 samples"])
def test_costs_can_be_measured_side_by_side(budget: str) -> None:
    """While costs are unknown each candidate makes one pull at a time, and others beside it."""
    result = rs.select(
        {name: Counting(alpha, beta, seed) for seed, (name, alpha, beta) in enumerate(LINES)},
        budget=budget,
        executor=rs.ProcessExecutor(workers=2, start_method="fork"),
        progress=False,
        random_state=0,
    )
    assert result.name == "slow"
    assert not result.failures
    assert all(pulls >= 2 for pulls in result.pulls.values())
    assert result.spent > 0.9 * result.budget


LINES = (("quick", 0.2, 0.3), ("slow", 1.0, 0.05), ("flat", 0.0, 0.5))


class Counting(Dawdling):
    """Ten samples a pull."""

    @property
    def samples(self) -> int:
        return 10 * self.pulls

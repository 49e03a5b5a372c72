"""Workers and drivers of a Ray cluster are killed with -9; all runs end with the right model, and the same history."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import ray

import restsure as rs
from restsure.integrations.ray import RayExecutor
from restsure.training import findings
from restsure.training.meter import Meter
from tests.faults.runs import outcome
from tests.integrations.ray_driver import models, run
from tests.training.learners import Counter, Doing, exit_at_once

pytestmark = [
    pytest.mark.usefixtures("cluster"),
    pytest.mark.filterwarnings("ignore:.*the actor of this candidate died.*restart:RuntimeWarning"),
]
WORKER_KILLS, DRIVER_KILLS = 20, 5


@pytest.fixture(scope="module")
def expected(cluster) -> str:
    return outcome(run(RayExecutor(2)))


class Killer(threading.Thread):
    """Kills processes that say where they are, one now and then."""

    def __init__(self, folder: Path, rng: random.Random, most: int):
        super().__init__()
        self.folder, self.rng, self.most = folder, rng, most
        self.kills, self.over = 0, threading.Event()

    def run(self) -> None:
        while self.kills < self.most and not self.over.wait(self.rng.uniform(0.0, 0.5)):
            known = sorted(self.folder.glob("*.pid"))
            if not known:
                continue
            path = self.rng.choice(known)
            path.unlink()
            if Path("/proc", path.stem, "cmdline").exists():
                os.kill(int(path.stem), signal.SIGKILL)
                self.kills += 1


def test_workers_are_killed_at_random_times(expected, tmp_path) -> None:
    rng, kills, runs = random.Random(1), 0, 0
    while kills < WORKER_KILLS:
        folder = tmp_path / str(runs)
        folder.mkdir()
        killer = Killer(folder, rng, min(8, WORKER_KILLS - kills))
        killer.start()
        try:
            result = run(RayExecutor(2, max_restarts=100), folder / "run", folder)
        finally:
            killer.over.set()
            killer.join()
        assert outcome(result) == expected
        assert findings(folder / "run") == []
        assert len(result.notes) <= killer.kills
        kills, runs = kills + killer.kills, runs + 1
    assert runs < WORKER_KILLS  # some were killed more than once


def test_the_driver_is_killed(cluster, expected, tmp_path) -> None:
    command = [sys.executable, "-m", "tests.integrations.ray_driver", cluster, str(DRIVER_KILLS), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["ended"] == 0, done.stderr
    assert all(0 < at < 120 for at in told["killed at"])
    assert (tmp_path / "told").read_text() == expected
    assert findings(tmp_path / "run") == []


def test_an_actor_that_was_killed_by_name_is_lost() -> None:
    crew = RayExecutor(num_cpus=0.5).open([Counter(), Counter()], Meter(9, "training steps"))
    try:
        for arm in (0, 1):
            crew.submit(arm, 2)
            crew.collect(arm)
        ray.kill(crew._posts[0].actor)
        for _ in range(100):  # Ray takes its time
            crew.submit(0, 1)
            if (outcome := crew.collect(0)).lost:
                break
            time.sleep(0.05)
        assert outcome.error == "the actor of this candidate died: it was killed by `ray.kill`"
        assert crew.renew(0)
        crew.submit(0, 1)
        assert crew.collect(0).losses == [1.0]
        assert crew.learner(1).pulls == 2
    finally:
        crew.close()


def test_a_candidate_whose_actor_dies_every_time_fails(tmp_path) -> None:
    result = rs.select(
        {**models(), "deadly": Doing(exit_at_once)},
        budget=40,
        executor=RayExecutor(2, num_cpus=0.5, max_restarts=2),
        run_dir=tmp_path,
        progress=False,
    )
    assert result.failures == {"deadly": "the actor of this candidate died: its worker process has died"}
    assert [note.split("; ")[1] for note in result.notes] == ["restart 1 of 2", "restart 2 of 2"]


def test_a_machine_dies(tmp_path) -> None:
    command = [sys.executable, "-m", "tests.integrations.ray_nodes", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert findings(tmp_path / "run") == []


def test_sigterm_ends_a_run_between_two_records(tmp_path) -> None:
    """Ray's own handler would end the process wherever it is."""

    def ask_to_end(moment) -> None:
        if moment.game.spent >= 40 and not moment.over:
            os.kill(os.getpid(), signal.SIGTERM)

    executor, before = RayExecutor(2), signal.getsignal(signal.SIGTERM)
    result = rs.select(
        models(), budget=120, executor=executor, run_dir=tmp_path, callbacks=[ask_to_end], progress=False
    )
    assert result.interrupted
    assert result.spent < 120
    assert rs.read_run(tmp_path).records[-1].body["why"] == "SIGTERM"
    assert signal.getsignal(signal.SIGTERM) is before
    assert findings(tmp_path) == []

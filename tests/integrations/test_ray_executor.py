"""Where pulls run makes no difference to what comes of them: actors of a Ray cluster, and what is particular to them."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import scipy.sparse
from sklearn.linear_model import SGDClassifier

import restsure as rs
from restsure.errors import InvalidParameter, LearnerFailed, LearnerLost, OutOfTurn, WrongType
from restsure.integrations.ray import RayExecutor
from restsure.training import findings
from restsure.training.adapters import Judge, as_learner
from restsure.training.executors import InProcess
from restsure.training.meter import Meter
from restsure.training.stream import ArrayStream, BatchStream
from tests.faults.runs import Walk, outcome
from tests.integrations.ray_learners import Dawdling, Elsewhere
from tests.training import learners
from tests.training.learners import Counter, Doing, Plain, SavesBadly, SetUp, StaysThere
from tests.training.test_process_executor import X, Y, model_digest, real_learners

pytestmark = pytest.mark.usefixtures("cluster")
SMALL = RayExecutor(num_cpus=0.25, pull_timeout_s=60)  # a test that fails must not hang


def test_keeps_the_contract_of_every_executor(opened, tmp_path) -> None:
    crew = opened(SMALL, [Counter(), Doing(learners.leave_in_words), Plain()], Meter(100, "samples"))
    crew.submit(0, 3)
    crew.submit(1, 1)
    failed, done = crew.collect(1), crew.collect(0)
    assert (done.arm, done.losses, done.error, done.lost) == (0, [1, 1 / 2, 1 / 3], None, False)
    assert (done.cost, done.seconds > 0) == (30, True)
    assert (failed.arm, failed.losses, failed.cost, failed.lost) == (1, None, 0, False)
    assert failed.error == "SystemExit: that is all"
    assert "leave_in_words" in failed.traceback
    with pytest.raises(OutOfTurn, match="arm=2: no pull is out"):
        crew.collect(2)

    assert [crew.can_save(arm) for arm in range(3)] == [True, True, False]
    crew.save(0, tmp_path)
    assert (tmp_path / "pulls").read_text() == "3"
    crew.submit(0, 1)
    with pytest.raises(OutOfTurn, match="arm=0: its pull must be collected first"):
        crew.submit(0, 1)
    assert crew.collect(0).losses == [1 / 4]
    assert crew.renew(0)
    assert crew.learner(0).pulls == 0
    crew.load(0, tmp_path)
    crew.submit(0, 2)
    crew.submit(2, 1)
    assert {crew.collect().arm, crew.collect().arm} == {0, 2}
    assert crew.learner(0).pulls == 5
    crew.close()
    crew.close()
    with pytest.raises(OutOfTurn, match="the crew is closed"):
        crew.submit(0, 1)


def test_losses_are_those_of_this_process_to_the_bit(opened) -> None:
    """scikit-learn, river and torch in two actors, which they leave to each other; and the models that come back."""

    def run(executor) -> tuple[dict[int, list[float]], list[float]]:
        crew, losses = opened(executor, real_learners()), dict[int, list[float]]()
        for times in (1, 4, 2):
            for arm in (2, 1, 0):
                crew.submit(arm, times)
                losses.setdefault(arm, []).extend(crew.collect(arm).losses)
        return losses, [model_digest(crew.learner(arm)) for arm in range(3)]

    expected = run(InProcess())
    assert all(len(set(losses)) > 3 for losses in expected[0].values())
    assert run(RayExecutor(2)) == expected


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_any_number_of_candidates_has_room(workers, opened) -> None:
    """Two processors, six candidates that want one each; one of them cannot leave its actor."""
    crew = opened(RayExecutor(workers, pull_timeout_s=60), [StaysThere(), *(Counter() for _ in range(5))])
    for turn in range(3):
        for first in range(0, 6, workers):
            arms = range(first, min(first + workers, 6))
            for arm in arms:
                crew.submit(arm, 1)
            for arm in reversed(arms):
                assert crew.collect(arm).losses == [1 / (turn + 1)], arm
    assert [crew.learner(arm).pulls for arm in range(6)] == [3] * 6


def test_what_is_defined_here_goes_by_value(opened) -> None:
    class Local:
        loss = staticmethod(lambda pulls: 1 / pulls)

        def __init__(self) -> None:
            self.pulls = 0

        def train(self, times: int) -> list[float]:
            self.pulls += times
            return [self.loss(self.pulls)] * times

    crew = opened(SMALL, [Local()])
    crew.submit(0, 4)
    assert crew.collect(0).losses == [1 / 4] * 4
    assert type(crew.learner(0)) is Local


def test_data_go_through_the_object_store_once(opened) -> None:
    judge = Judge(ArrayStream(X, Y, batch_size=32, seed=3), None, Y[:10], (X, Y), 100)
    block = np.zeros(100_000)
    shared = [Counter(), Counter()]
    for learner in shared:
        learner.block = block[: len(block) // 2]
    crew = opened(SMALL, [*(as_learner("linear", SGDClassifier(), judge) for _ in range(2)), *shared])
    first, second, third, fourth = crew._shelf.luggage
    assert first.judge == second.judge is not None
    assert third.buffers == fourth.buffers != ()
    for arm in range(4):
        crew.submit(arm, 2)
        assert crew.collect(arm).error is None
    back = crew.learner(0)
    assert back.judge is judge
    assert back.pulls == 2
    assert crew.learner(3).block.flags.writeable


@pytest.mark.parametrize("kind", ["sparse", "batches", "frame"])
def test_data_of_every_kind(kind, opened) -> None:
    stream = {
        "sparse": lambda: ArrayStream(scipy.sparse.csr_matrix(X), Y, batch_size=32, seed=3),
        "frame": lambda: ArrayStream(pandas.DataFrame(X), Y, batch_size=32, seed=3),
        "batches": lambda: BatchStream([(X[k : k + 32], Y[k : k + 32]) for k in range(0, 320, 32)]),
    }[kind]()
    judge = Judge(stream, None, stream.classes())
    expected = as_learner("linear", SGDClassifier(random_state=0), judge).train(5)
    crew = opened(SMALL, [as_learner("linear", SGDClassifier(random_state=0), judge)])
    crew.submit(0, 5)
    assert crew.collect(0).losses == expected


def test_states_travel_as_bytes(opened, tmp_path) -> None:
    """There need be no file system in common."""
    crew = opened(SMALL, [Elsewhere()])
    crew.submit(0, 3)
    crew.collect(0)
    crew.save(0, tmp_path)
    assert (tmp_path / "deep" / "er" / "pulls").read_bytes() == b"\x03\x00\xff"
    crew.submit(0, 1)
    crew.collect(0)
    crew.load(0, tmp_path)
    found = crew.learner(0)
    assert found.pulls == 3
    assert not found.was.exists()


# ---- what goes wrong


BAD = {
    learners.raise_unprintable: (r"Unprintable: its text cannot be shown", False),
    learners.huge: ("losses: must be 1 numbers, but are 83,886,[0-9]{3} bytes", False),
    learners.unsendable: (r"what it gives back cannot be sent \(TypeError: .*generator.*\)", False),
    learners.interrupt: ("KeyboardInterrupt:", False),
    learners.segfault: ("the actor of this candidate died: its worker process has died", True),
    learners.exit_at_once: ("the actor of this candidate died: its worker process has died", True),
}


def test_bad_learners_fail_alone(opened) -> None:
    """All of them beside one that is good, and goes on after each."""
    good = len(BAD)
    crew = opened(RayExecutor(num_cpus=0.125, pull_timeout_s=60), [*map(Doing, BAD), Counter()])
    for arm, (deed, (error, lost)) in enumerate(BAD.items()):
        crew.submit(arm, 1)
        crew.submit(good, 2)
        bad, beside = crew.collect(arm), crew.collect(good)
        assert re.fullmatch(error, bad.error), (deed, bad.error)
        assert (bad.losses, bad.cost, bad.lost) == (None, None, lost)
        assert (beside.losses, beside.error) == ([1 / (2 * arm + 1), 1 / (2 * arm + 2)], None)
        if "actor" in error:  # it stays dead until it is renewed
            crew.submit(arm, 1)
            assert crew.collect(arm).error == bad.error
            with pytest.raises(LearnerLost if lost else LearnerFailed, match=re.escape(bad.error)):
                crew.learner(arm)
            assert crew.renew(arm)
            assert crew.learner(arm).pulls == 0
    assert crew.learner(good).pulls == 2 * good


def test_a_learner_that_hangs_is_stopped(opened) -> None:
    crew = opened(RayExecutor(num_cpus=0.5, pull_timeout_s=1), [Doing(learners.hang), Counter()], Meter(10, "seconds"))
    for arm in (0, 1):
        crew.submit(arm, 2)
    assert crew.collect(1).error is None
    stopped = crew.collect(0)
    rule = r"the actor of this candidate was stopped after 2(\.\d+)? s: 2 pulls may take 2 s \(pull_timeout_s\)"
    assert re.fullmatch(rule, stopped.error), stopped.error
    assert stopped.cost == stopped.seconds > 2
    assert not stopped.lost
    crew.submit(1, 1)
    assert crew.collect(1).losses == [1 / 3]


def test_bad_answers_pass_through_and_bad_states_are_refused(opened, tmp_path) -> None:
    odd = [Doing(learners.nan), Doing(learners.text), SavesBadly(learners.run_out_of_disk), SetUp(learners.leave)]
    crew = opened(SMALL, [*odd, SavesBadly(learners.exit_at_once)])
    for arm, losses in enumerate(["[nan]", "'no losses'", "[1.0]"]):
        crew.submit(arm, 1)
        assert repr(crew.collect(arm).losses) == losses
    with pytest.raises(OSError, match="No space left on device"):
        crew.save(2, tmp_path)
    crew.submit(3, 1)
    assert crew.collect(3).error == "could not be set up in its actor (SystemExit: 4)"
    with pytest.raises(LearnerLost, match="its worker process has died"):
        crew.save(4, tmp_path)


def test_what_cannot_be_sent_is_refused_at_once(opened) -> None:
    with pytest.raises(WrongType, match=r"candidates: number 1 \(generator\) cannot be sent to an actor \(TypeError: "):
        opened(SMALL, [Counter(), as_learner("loop", (1 / k for k in range(1, 9)), None)])
    stream = BatchStream((X[:9], Y[:9]) for _ in range(3))
    with pytest.raises(WrongType, match="data and loss cannot be sent to an actor"):
        opened(SMALL, [as_learner("linear", SGDClassifier(), Judge(stream, None, Y[:9]))])


@pytest.mark.parametrize(
    ("bad", "rule"),
    [
        (dict(workers=0), "workers=0: must be at least 1"),
        (dict(num_cpus=-1), "num_cpus=-1: must be at least 0"),
        (dict(num_gpus="one"), "num_gpus='one': must be a real number, not str"),
        (dict(max_restarts=1.5), "max_restarts=1.5: must be a whole number, not float"),
        (dict(pull_timeout_s=0), "pull_timeout_s=0: must be above 0"),
        (dict(address=6379), "address=6379: must be of kind str, not int"),
        (dict(resources=["tpu"]), "resources=['tpu']: must be a dictionary of numbers by name"),
        (dict(resources={"tpu": -1}), "resources['tpu']=-1: must be at least 0"),
        (dict(deterministic=1), "deterministic=1: must be of kind bool, not int"),
    ],
)
def test_bad_parameters(bad, rule) -> None:
    with pytest.raises(InvalidParameter, match=f"^{re.escape(rule)}$"):
        RayExecutor(**bad)


def test_resources_nobody_has_are_waited_for(opened) -> None:
    """A cluster may grow."""
    with pytest.warns(RuntimeWarning, match=r"^\{'CPU': 1, 'tpu': 1\}: must fit on a machine of the cluster, but none"):
        opened(RayExecutor(resources={"tpu": 1}), [Counter()])


# ---- whole runs


def run(executor: Any, folder: Path | None = None, kind: type[Walk] = Walk) -> rs.Result:
    lines = {"quick": (0.2, 0.3), "slow": (1.0, 0.05), "flat": (0.0, 0.5), "middle": (0.5, 0.2)}
    candidates = {name: kind(*line, seed) for seed, (name, line) in enumerate(lines.items())}
    return rs.select(candidates, budget=120, run_dir=folder, executor=executor, progress=False, random_state=0)


def test_a_run_of_one_worker_is_a_run_in_this_process(tmp_path) -> None:
    assert outcome(run(RayExecutor(1), tmp_path)) == outcome(run(None))
    assert findings(tmp_path) == []


def test_decisions_do_not_depend_on_who_ends_first(tmp_path) -> None:
    first = run(RayExecutor(2), tmp_path, Dawdling)
    assert first.spent == 120
    for again in (run(RayExecutor(2, num_cpus=0.5), None, Dawdling), run(RayExecutor(2))):
        assert list(again.history) == list(first.history)


def test_as_they_come(tmp_path) -> None:
    result = run(RayExecutor(2, deterministic=False), tmp_path, Dawdling)
    assert result.spent == 120
    assert findings(tmp_path) == []

"""Where pulls run makes no difference to what comes of them; and what is particular to processes."""

import gc
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from river import preprocessing, tree
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB

from restsure.errors import InvalidParameter, LearnerFailed, OutOfTurn, WrongType
from restsure.integrations.torch import TorchLearner
from restsure.training.adapters import Judge, Learner, LoopLearner, as_learner
from restsure.training.executors import InProcess, ProcessExecutor
from restsure.training.executors.parcel import Depot
from restsure.training.losses import LOSSES, Loss
from restsure.training.meter import Meter
from restsure.training.stream import ArrayStream, BatchStream
from tests.training import learners
from tests.training.learners import Counter, Doing, MeanLearner, Plain

X, Y = load_digits(return_X_y=True)
STEPS = Meter(100, "training steps")
PROCESSES = [
    pytest.param(ProcessExecutor(), id="spawn"),
    pytest.param(ProcessExecutor(start_method="forkserver"), id="forkserver"),
    pytest.param(
        ProcessExecutor(start_method="fork"),
        id="fork",
        marks=pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),  # this process has threads of numpy
    ),
]
every_executor = pytest.mark.parametrize("executor", [pytest.param(InProcess(), id="in process"), *PROCESSES])


# ---- what every executor does


@every_executor
def test_keeps_the_contract(executor, opened, tmp_path) -> None:
    crew = opened(executor, [Counter(), Doing(learners.raise_lines), Plain()], Meter(100, "samples"))
    crew.submit(0, 3)
    crew.submit(1, 1)
    failed, outcome = crew.collect(1), crew.collect(0)
    assert (outcome.arm, outcome.losses, outcome.error) == (0, [1, 1 / 2, 1 / 3], None)
    assert (outcome.cost, outcome.seconds > 0) == (30, True)
    assert failed.error.startswith("ValueError: one")
    assert (failed.arm, failed.losses, failed.cost) == (1, None, 0)
    assert "raise_lines" in failed.traceback

    assert [crew.can_save(arm) for arm in range(3)] == [True, True, False]
    crew.save(0, tmp_path)
    crew.submit(0, 1)
    assert crew.collect(0).losses == [1 / 4]
    if crew.renew(0):
        assert crew.learner(0).pulls == 0
    crew.load(0, tmp_path)
    crew.submit(0, 2)
    assert crew.collect().losses == [1 / 4, 1 / 5]
    assert crew.learner(0).pulls == 5
    crew.close()
    crew.close()


@every_executor
def test_collects_whichever_ends(executor, opened) -> None:
    crew = opened(executor, [Counter(), Counter(5)])
    crew.submit(0, 1)
    crew.submit(1, 1)
    assert {crew.collect().arm, crew.collect().arm} == {0, 1}


@pytest.mark.parametrize(("workers", "count"), [(1, 1), (2, 2), (4, 3)])
def test_losses_are_those_of_this_process_to_the_bit(workers, count, opened) -> None:
    """scikit-learn, river and torch, side by side; and the models that come back."""

    def run(executor) -> tuple[dict[int, list[float]], list[float]]:
        crew, losses = opened(executor, real_learners()[:count]), {arm: [] for arm in range(count)}
        for times in (1, 4, 2):
            for arm in losses:
                crew.submit(arm, times)
            for arm in reversed(losses):
                losses[arm] += crew.collect(arm).losses
        return losses, [model_digest(crew.learner(arm)) for arm in losses]

    expected = run(InProcess())
    assert all(len(set(losses)) > 3 for losses in expected[0].values())
    assert run(ProcessExecutor(workers)) == expected


def real_learners() -> list[Learner]:
    stream = ArrayStream(X, Y, batch_size=32, seed=3)
    judge = Judge(stream, LOSSES["log"], stream.classes(), (X[:500], Y[:500]), 100)
    forest = preprocessing.StandardScaler() | tree.HoeffdingTreeClassifier(grace_period=20)
    generator = torch.Generator().manual_seed(1)
    data = torch.utils.data.TensorDataset(torch.tensor(X).float(), torch.tensor(Y))
    loader = torch.utils.data.DataLoader(data, batch_size=32, shuffle=True, generator=generator)
    torch.manual_seed(2)
    network = torch.nn.Sequential(torch.nn.Linear(64, 300), torch.nn.Dropout(), torch.nn.Linear(300, 10))
    adam = torch.optim.Adam(network.parameters())
    return [
        as_learner("linear", SGDClassifier(loss="log_loss", random_state=0), judge),
        as_learner("tree", forest, judge),
        TorchLearner(network, adam, torch.nn.CrossEntropyLoss(), loader),
    ]


def model_digest(learner) -> float:
    model = learner.model
    if isinstance(model, torch.nn.Module):
        return sum(float(parameter.detach().double().sum()) for parameter in model.parameters())
    return float(model.coef_.sum()) if hasattr(model, "coef_") else float(model[-1].n_nodes or 0)


# ---- processes: there and back


def test_data_stay_here(opened) -> None:
    judge = Judge(ArrayStream(X, Y, batch_size=32, seed=3), None, Y[:0], (X, Y), 100)
    given = MeanLearner(judge)
    crew = opened(ProcessExecutor(), [given])
    crew.submit(0, 2)
    crew.collect(0)
    found = crew.learner(0)
    assert found.judge is judge
    assert (found.pulls, found.samples, given.pulls) == (2, 64, 0)  # what was given is as it was
    given.train(2)
    assert found.model == given.model
    assert found.train(3) == given.train(3)


def test_a_learner_that_pickle_cannot_hold_comes_back_by_its_state(opened) -> None:
    crew = opened(ProcessExecutor(), [learners.StaysThere(), learners.StaysThereUnsaved()])
    for arm in (0, 1):
        crew.submit(arm, 3)
        assert crew.collect(arm).error is None
    assert crew.learner(0).pulls == 3
    with pytest.raises(
        LearnerFailed, match="what it gives back cannot be sent .TypeError: cannot pickle '_thread.lock'"
    ):
        crew.learner(1)


def test_a_pull_that_is_out_does_not_stand_in_the_way_of_the_learner(opened) -> None:
    """As after Ctrl-C, when nobody collects any more."""
    crew = opened(ProcessExecutor(), [Counter()])
    crew.submit(0, 2)
    assert crew.learner(0).pulls == 2
    assert crew.collect(0).losses == [1, 1 / 2]


def test_pulls_are_in_turn(opened) -> None:
    crew = opened(ProcessExecutor(), [Counter()])
    with pytest.raises(OutOfTurn, match="arm=0: no pull is out"):
        crew.collect(0)
    crew.submit(0, 1)
    with pytest.raises(OutOfTurn, match="arm=0: its pull must be collected first"):
        crew.submit(0, 1)
    crew.collect(0)
    with pytest.raises(OutOfTurn, match="no pull is out"):
        crew.collect()
    crew.close()
    with pytest.raises(OutOfTurn, match="the crew is closed"):
        crew.submit(0, 1)


def test_a_process_has_a_group_no_ctrl_c_and_few_threads(opened, monkeypatch) -> None:
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    crew = opened(
        ProcessExecutor(workers=1_000), [Doing(learners.signals), Doing(learners.threads), Doing(learners.threads)]
    )
    crew.submit(0, 1)
    crew.submit(1, 1)
    assert crew.collect(0).losses == [True, True]
    assert crew.collect(1).losses == "11"
    assert "OMP_NUM_THREADS" not in os.environ
    monkeypatch.setenv("OMP_NUM_THREADS", "3")  # what the user says is left alone
    crew.submit(2, 1)
    assert crew.collect(2).losses == "3"


def test_a_forked_process_takes_closures(opened) -> None:
    state = [1.0]

    def step() -> float:
        state[0] /= 2
        return state[0]

    crew = opened(ProcessExecutor(start_method="fork"), [LoopLearner(step, step)])
    crew.submit(0, 2)
    assert crew.collect(0).losses == [0.5, 0.25]
    assert state == [1.0]


# ---- what is sent


@pytest.fixture
def packed():
    """Make parcels; they and how many bytes were written."""
    depot = Depot()

    def pack(candidates):
        depot.pack(candidates)
        return depot.parcels, depot.file.tell()

    yield pack
    depot.close()


@pytest.mark.parametrize("kind", ["array", "columns", "fortran", "fortran rows", "sparse", "frame", "batches"])
def test_data_are_written_once_and_mapped(kind, packed) -> None:
    x = np.random.default_rng(0).normal(size=(4_000, 21))
    y = np.arange(4_000) % 2
    make = {
        "array": lambda: x,
        "columns": lambda: x[:, :-1],
        "fortran": lambda: np.asfortranarray(x),
        "fortran rows": lambda: np.asfortranarray(np.repeat(x, 2, axis=0))[::2],
        "sparse": lambda: scipy.sparse.csr_matrix(x),
        "frame": lambda: pd.DataFrame(x, columns=[f"c{k}" for k in range(21)]).assign(whole=y),
        "batches": lambda: x,
    }[kind]
    data = make()
    stream = BatchStream([(x[:2_000], y[:2_000]), (x[2_000:], y[2_000:])]) if kind == "batches" else None
    stream = stream or ArrayStream(data, y, batch_size=500, seed=0)
    judge = Judge(stream, None, np.unique(y))
    candidates = [as_learner("linear", SGDClassifier(random_state=k), judge) for k in range(5)]
    parcels, written = packed(candidates)
    size = data.data.nbytes + data.indices.nbytes if kind == "sparse" else x.nbytes + y.nbytes
    assert written < 1.3 * size
    (here, one), (_, two) = parcels[0].unpack(), parcels[3].unpack()
    for s in range(10):
        for mine, theirs in zip(judge.batch(s), one.batch(s), strict=True):
            assert type(mine) is type(theirs)
            dense = [
                np.asarray(part.todense() if kind == "sparse" and hasattr(part, "todense") else part)
                for part in (mine, theirs)
            ]
            assert np.array_equal(*dense)
            assert dense[0].flags.c_contiguous == dense[1].flags.c_contiguous
    if isinstance(data, np.ndarray) and kind != "batches":
        assert np.argsort(one.stream.x.strides).tolist() == np.argsort(data.strides).tolist()
    assert here.train(3) == candidates[0].train(3)
    labels = one.stream.batch(0)[1] if kind == "batches" else one.stream.y
    if kind != "batches":  # as writable as in this process, and for oneself alone
        labels[:] = 7
        assert two.stream.y.max() == judge.stream.y.max() == 1


def test_arrays_and_tensors_of_several_learners_are_written_once(packed) -> None:
    x = np.random.default_rng(0).normal(size=(100, 1_000))
    tensor = torch.tensor(x)
    batches = [(part, part) for part in tensor.split(1)]
    fives = [LoopLearner(Holding(x, tensor, batches), None) for _ in range(5)]
    parcels, written = packed(fives)
    assert written < 10 * x.nbytes  # twice what is large, and in each of them what is small
    (first, _), (second, _) = parcels[0].unpack(), parcels[4].unpack()
    for learner in (first, second):
        array, found, parts = learner.step.held
        assert np.array_equal(array, x)
        assert torch.equal(found, tensor)
        assert all(torch.equal(one, other) for (one, _), (other, _) in zip(batches, parts, strict=True))
    first.step.held[1][:] = 0
    assert torch.equal(second.step.held[1], tensor)


class Holding:
    def __init__(self, *held):
        self.held = held

    def __call__(self) -> float:
        return 0.0


def test_generators_of_torch_are_those_of_the_process(packed) -> None:
    own = torch.Generator().manual_seed(5)
    [parcel], _ = packed([LoopLearner(Holding(torch.default_generator, own, own), None)])
    default, one, other = parcel.unpack()[0].step.held
    assert default is torch.default_generator
    assert one is other is not own
    assert torch.equal(one.get_state(), own.get_state())


def local_class() -> object:
    class Local(Counter):
        pass

    return Local()


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (
            LoopLearner(lambda: 0.5, None),
            r"candidates: number 1 \(NoneType\) cannot be sent .*lambda.*; define it at the top",
        ),
        (
            as_learner("g", (k for k in [0.5]), None),
            r"number 1 \(generator\) cannot be sent to a process of its own \(TypeError",
        ),
        (
            local_class(),
            r"number 1 \(Local\) cannot be sent .*; define it at the top level of a module, or train in this",
        ),
        (
            as_learner("b", GaussianNB(), Judge(BatchStream((X, Y) for _ in range(2)), None, Y)),
            "data and loss cannot be sent .*; give arrays or a sequence of batches, .*, or train in this process",
        ),
        (
            as_learner(
                "b", GaussianNB(), Judge(ArrayStream(X, Y, batch_size=5, seed=0), Loss("x", lambda a, b: 0.0), Y)
            ),
            "data and loss cannot be sent",
        ),
    ],
)
def test_what_cannot_be_sent_is_refused_at_once(learner, message) -> None:
    with pytest.raises(WrongType, match=message) as error:
        ProcessExecutor().open([Counter(), learner], STEPS)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(workers=0), "workers=0: must be at least 1"),
        (dict(workers=2.0), "workers=2.0: must be a whole number"),
        (dict(pull_timeout_s=0), "pull_timeout_s=0: must be above 0"),
        (dict(pull_timeout_s="1s"), "pull_timeout_s='1s': must be a real number"),
        (dict(memory_limit=0), "memory_limit=0: must be at least 1"),
        (
            dict(memory_limit="2 gigs"),
            "memory_limit='2 gigs': must be a number of bytes, or text such as '2GB' or '512MiB'",
        ),
        (dict(memory_limit="iB"), "memory_limit='iB': must be a number of bytes"),
        (dict(memory_limit="1iB"), "memory_limit='1iB': must be a number of bytes"),
        (dict(memory_limit="0GB"), "memory_limit='0GB': must be a number of bytes"),
        (dict(memory_limit=1.5), "memory_limit=1.5: must be a whole number"),
        (dict(deterministic=1), "deterministic=1: must be of kind bool"),
        (dict(start_method="thread"), "start_method='thread': must be one of 'fork', 'spawn', 'forkserver'"),
    ],
)
def test_parameters_are_checked(change, message) -> None:
    with pytest.raises(InvalidParameter, match=message):
        ProcessExecutor(**change)


def test_memory_in_words() -> None:
    found = [ProcessExecutor(memory_limit=limit).memory_bytes for limit in (7, "7B", "1.5 kB", "512MB", "2gib", None)]
    assert found == [7, 7, 1_500, 512_000_000, 2 * 2**30, None]


def test_a_daemonic_process_starts_no_others(monkeypatch) -> None:
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)
    with pytest.raises(InvalidParameter, match="must be InProcess in a daemonic process"):
        ProcessExecutor().open([], STEPS)


def test_processes_are_those_of_posix(monkeypatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(os, "name", "nt")
        with pytest.raises(InvalidParameter) as error:
            ProcessExecutor().open([], STEPS)
    assert "must be InProcess on nt" in str(error.value)


def test_memory_limits_are_of_linux(monkeypatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(InvalidParameter, match="memory_limit='1GB': must be None on darwin, only Linux has it"):
        ProcessExecutor(memory_limit="1GB")


# ---- the end


@pytest.mark.parametrize("executor", PROCESSES)
def test_what_is_at_rest_may_end_properly(executor, opened, tmp_path) -> None:
    """Such as a learner that keeps a log."""
    crew = opened(executor, [Doing(partial(learners.write_at_the_end, str(tmp_path / f"{arm}"))) for arm in range(2)])
    for arm in range(2):
        crew.submit(arm, 1)
        crew.collect(arm)
    crew.close()
    assert sorted(path.read_text() for path in tmp_path.iterdir()) == ["done", "done"]


def children() -> set[int]:
    return {process.pid for process in multiprocessing.active_children()}


@pytest.mark.parametrize("how", ["close", "forget"])
def test_nothing_is_left(how, tmp_path, monkeypatch) -> None:
    """Neither processes, at rest or at work, nor files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    others = children()
    crew = ProcessExecutor().open([Counter(), Doing(learners.hang)], STEPS)
    crew.submit(0, 1)
    crew.collect(0)
    crew.submit(1, 1)
    pids = children() - others
    assert len(pids) == 2
    if how == "close":
        crew.close()
    else:
        del crew
        gc.collect()
    assert all(map(learners.gone, pids))
    assert list(tmp_path.iterdir()) == []


def script(path: Path, code: str, *, guarded: bool = True) -> list[str]:
    """A script that trains ``learners`` in processes."""
    head = """
        import os, sys, time
        from functools import partial
        from restsure.training.executors import ProcessExecutor
        from restsure.training.meter import Meter
        from tests.training import learners

        STEPS = Meter(100, "training steps")

        class Mine(learners.Counter):
            pass

        """
    lines = [line.removeprefix(" " * 8) for line in (head + code).splitlines()]
    at = next(k for k, line in enumerate(lines) if "MAIN" in line)
    guard = 'if __name__ == "__main__":' if guarded else "if True:"
    path.write_text("\n".join([*lines[:at], guard, *(f"    {line}" for line in lines[at + 1 :])]) + "\n")
    return [sys.executable, str(path)]


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}


def test_names_of_a_script_go_there_and_back_and_a_script_that_forgets_to_close_ends(tmp_path) -> None:
    code = """
        MAIN
        crew = ProcessExecutor().open([Mine(), learners.Doing(learners.hang)], STEPS)
        crew.submit(0, 2)
        crew.submit(1, 1)
        print(crew.collect(0).losses, type(crew.learner(0)) is Mine)
        """
    command = script(tmp_path / "train.py", code)
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment(), timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[1.0, 0.5] True\n", "")


def test_a_script_that_begins_to_train_whenever_it_is_run_is_told_so(tmp_path) -> None:
    code = """
        MAIN
        print("begins")
        crew = ProcessExecutor().open([Mine()], STEPS)
        crew.submit(0, 2)
        print(crew.collect(0).losses)
        """
    command = script(tmp_path / "train.py", code, guarded=False)
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment(), timeout=60)
    assert done.returncode == 1
    assert done.stderr.count("Traceback") == 1
    assert re.search(
        r'InvalidParameter: .* must begin to train under `if __name__ == "__main__":`', done.stderr.splitlines()[-1]
    )


def test_names_that_are_in_no_file_are_refused(tmp_path) -> None:
    """As in a notebook."""
    code = (
        "from restsure.training.executors import ProcessExecutor\nfrom restsure.training.meter import Meter\n"
        "class Mine:\n    def train(self, times): return [0.5] * times\n"
        "ProcessExecutor().open([Mine()], Meter(1, 'training steps'))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment(), timeout=60)
    assert re.search(r"WrongType: .*number 0 \(Mine\).* Mine is defined in __main__, which is not a file", done.stderr)


def test_a_script_that_is_in_no_file_is_refused() -> None:
    """As when it is read from a pipe: there is nothing that another process could run."""
    code = (
        "from restsure.training.executors import ProcessExecutor\nfrom restsure.training.meter import Meter\n"
        "ProcessExecutor().open([], Meter(1, 'training steps'))"
    )
    command = [sys.executable, "-"]
    done = subprocess.run(
        command, input=code, capture_output=True, text=True, check=False, env=environment(), timeout=60
    )
    assert "InvalidParameter: executor=ProcessExecutor: the script '<stdin>' must be a file" in done.stderr


def test_ctrl_c_is_for_the_process_that_started_the_others(tmp_path) -> None:
    """Every process of the terminal gets it, those that are still starting too; one of them says something."""
    code = """
        MAIN
        crew = ProcessExecutor().open([learners.Counter(), learners.Doing(learners.hang), Mine()], STEPS)
        try:
            for arm in range(3):
                crew.submit(arm, 1)
            print("out", flush=True)
            time.sleep(30)
        except KeyboardInterrupt:
            print(crew.learner(0).pulls, crew.collect(2).losses)
            crew.close()
        """
    command = script(tmp_path / "train.py", code)
    pipes = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with subprocess.Popen(command, env=environment(), start_new_session=True, **pipes) as running:
        assert running.stdout.readline() == "out\n"
        os.killpg(running.pid, signal.SIGINT)
        out, errors = running.communicate(timeout=60)
    assert (running.returncode, out, errors) == (0, "1 [1.0]\n", "")


@pytest.mark.parametrize("start_method", ["spawn", "fork", "forkserver"])
def test_a_process_that_is_killed_leaves_none_behind(start_method, tmp_path) -> None:
    """One is at work where no Python runs, with children of its own; one is at rest."""
    pids = tmp_path / "pids"
    code = f"""
        MAIN
        work = learners.Doing(partial(learners.tell_pids, {str(pids)!r}))
        crew = ProcessExecutor(start_method={start_method!r}).open([learners.Counter(), work, learners.Counter()], STEPS)
        crew.submit(0, 1)
        crew.submit(1, 1)
        crew.submit(2, 1)
        crew.collect(0)
        crew.collect(2)
        print(*[hand.process.pid for hand in crew._hands.values()], flush=True)
        time.sleep(60)
        """
    command = script(tmp_path / "train.py", code)
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True) as running:
        numbers = set(map(int, running.stdout.readline().split()))
        assert learners.wait_for(lambda: pids.exists() and len(pids.read_text().split()) == 3)
        numbers |= set(map(int, pids.read_text().split()))
        assert len(numbers) == 5
        assert not any(map(learners.gone, numbers))
        running.kill()
    assert learners.wait_for(lambda: all(map(learners.gone, numbers)))

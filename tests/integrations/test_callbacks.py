"""Trackers: TensorBoard's event files and an MLflow server, read back; what breaks them, breaks no run."""

import os
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.request
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import optuna
import pytest
from tensorboardX.proto.event_pb2 import Event

import restsure as rs
from restsure.integrations.optuna import optimize
from restsure.integrations.tensorboard import TensorBoardCallback
from restsure.integrations.watching import Reader, file_names
from restsure.training.result import Block
from restsure.training.session import Moment

NAMES = ["fast", "slow/er", "breaks", "slow:er"]


def curve(alpha: float, beta: float, seed: int, breaks_after: int | None = None):
    rng = np.random.default_rng(seed)
    step = 0
    while step != breaks_after:
        step += 1
        yield alpha / step**0.5 + beta + rng.normal(0, 0.01)
    raise ZeroDivisionError("no such thing")


def candidates():
    return dict(zip(NAMES, [curve(0.2, 0.3, 1), curve(1, 0.05, 2), curve(0, 0.1, 3, 7), curve(0, 0.5, 4)], strict=True))


def run(*callbacks, **options) -> rs.Result:
    return rs.select(
        options.pop("candidates", candidates()), budget=300, progress=False, callbacks=callbacks, **options
    )


def same(one: rs.Result, other: rs.Result) -> bool:
    return (one.name, one.history[:], one.explain()) == (other.name, other.history[:], other.explain())


# TensorBoard


def events(folder: Path) -> Iterator[Event]:
    """All events of the files in a folder, in order: length, its checksum, bytes, their checksum."""
    for file in sorted(folder.glob("events.out.tfevents.*")):
        data, at = file.read_bytes(), 0
        while at < len(data):
            (length,) = struct.unpack_from("<Q", data, at)
            yield Event.FromString(data[at + 12 : at + 12 + length])
            at += 16 + length
        assert at == len(data)


def scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    found = defaultdict(list)
    for event in events(folder):
        for value in event.summary.value:
            if value.WhichOneof("value") == "simple_value":
                found[value.tag].append((event.step, value.simple_value))
    return dict(found)


def texts(folder: Path) -> dict[str, list[str]]:
    found = defaultdict(list)
    for event in events(folder):
        for value in event.summary.value:
            if value.WhichOneof("value") == "tensor":
                assert value.metadata.plugin_data.plugin_name == "text"
                found[value.tag.removesuffix("/text_summary")].append(value.tensor.string_val[0].decode())
    return dict(found)


def assert_curve(found: list[tuple[int, float]], losses) -> None:
    assert [step for step, _ in found] == list(range(1, len(losses) + 1))
    assert np.allclose([value for _, value in found], losses, rtol=1e-6)


def test_event_files_have_everything_once(tmp_path: Path) -> None:
    result = run(TensorBoardCallback(tmp_path))
    assert same(result, run())
    for name, folder in zip(NAMES, file_names(NAMES), strict=True):
        found = scalars(tmp_path / folder)
        assert_curve(found["loss"], result.history.losses(name))
        steps = [step for step, _ in found["predicted/loss"]]
        assert steps == sorted(set(steps))
        assert name == "breaks" or (40 < len(steps) <= 102 and steps[-1] == 300)
        for low, mean, high in zip(*(found[f"predicted/{tag}"] for tag in ("low", "loss", "high")), strict=True):
            assert low[1] <= mean[1] <= high[1]
    last = scalars(tmp_path / file_names(NAMES)[1])["predicted/loss"][-1]
    assert last[1] == pytest.approx(result.loss, abs=0.02)
    whole = scalars(tmp_path)
    assert whole["budget/spent"][-1] == (300, 300.0)
    assert [step for step, _ in whole["budget/spent"]] == sorted(step for step, _ in whole["budget/spent"])
    said = texts(tmp_path)
    assert said["result"] == [result.explain()]
    assert said["decisions"] == result.explain().splitlines()[1:]
    assert texts(tmp_path / "breaks")["failure"] == ["ZeroDivisionError: no such thing"]


def test_names_stay_within_the_directory_and_apart(tmp_path: Path) -> None:
    names = [
        "../../x",
        "..",
        ".",
        "/etc/x",
        "a/b",
        "A_B",
        "a\\b",
        "ü" * 300,
        "ü" * 301,
        "a\nb",
        "nul\0",
        " ",
        "con",
        "~",
    ]
    names = [name for name in names if name.strip()]
    place = tmp_path / "logs"
    result = run(TensorBoardCallback(place), candidates={name: curve(0.2, 0.3, k) for k, name in enumerate(names)})
    assert [entry.name for entry in tmp_path.iterdir()] == ["logs"]
    folders = [entry for entry in place.iterdir() if entry.is_dir()]
    assert len({folder.name.casefold() for folder in folders}) == len(names)
    for name, folder in zip(names, file_names(names), strict=True):
        assert_curve(scalars(place / folder)["loss"], result.history.losses(name))


def test_a_place_that_cannot_be_written_is_said_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.warns(RuntimeWarning) as caught:
        result = run(TensorBoardCallback(tmp_path / "file" / "logs"))
    assert len(caught) == 1
    assert str(caught[0].message).startswith(
        f"TensorBoardCallback('{tmp_path}/file/logs') writes no more of this run, which"
    )
    assert same(result, run())


FULL = """
import resource, sys, warnings
import restsure as rs
from restsure.integrations.tensorboard import TensorBoardCallback

resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
warnings.simplefilter("always")
losses = {str(k): iter([1 / step + k for step in range(1, 2_000)]) for k in range(3)}
result = rs.select(losses, budget=1_500, progress=False, callbacks=[TensorBoardCallback(sys.argv[1])])
print(result.name, sum(result.pulls.values()))
"""


def test_a_disk_that_is_full_in_the_middle(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FULL, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout == "0 1500\n"
    warned = [line for line in done.stderr.splitlines() if "Warning: " in line]
    assert len(warned) == 1
    assert warned[0].endswith("which goes on (OSError: [Errno 27] File too large)")


def test_one_callback_for_two_runs(tmp_path: Path) -> None:
    watch = TensorBoardCallback(tmp_path)
    run(watch)
    first = len(list(tmp_path.glob("events.*")))
    result = run(watch, candidates={"other": curve(0.2, 0.1, 0)})
    assert (first, len(list(tmp_path.glob("events.*")))) == (1, 2)
    assert_curve(scalars(tmp_path / "other")["loss"], result.history.losses("other"))


def test_a_run_that_is_resumed_is_written_from_its_start(tmp_path: Path) -> None:
    def stop(moment) -> None:
        if sum(moment.game.pulls) > 100 and not moment.over:
            raise KeyboardInterrupt

    cut = run(TensorBoardCallback(tmp_path / "a"), stop, run_dir=tmp_path / "run")
    whole = run(TensorBoardCallback(tmp_path / "b"), run_dir=tmp_path / "run")
    assert cut.interrupted
    assert same(whole, run())
    for name, folder in zip(NAMES, file_names(NAMES), strict=True):
        assert_curve(scalars(tmp_path / "a" / folder)["loss"], cut.history.losses(name))
        assert_curve(scalars(tmp_path / "b" / folder)["loss"], whole.history.losses(name))


def test_trials_of_optuna(tmp_path: Path) -> None:
    """One of them comes to its end, and is the best."""

    def objective(trial):
        for step in range(1, 10_000 if trial.number else 31):
            yield (0.1, 0.5)[trial.number] + 1 / step

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study()
    result = optimize(study, objective, budget=80, n_trials=2, callbacks=[TensorBoardCallback(tmp_path)])
    for trial in study.trials:
        found = scalars(tmp_path / f"trial {trial.number}")["loss"]
        assert_curve(found, list(trial.intermediate_values.values()))
    assert texts(tmp_path)["result"] == [result.explanation]
    assert "failure" not in texts(tmp_path / "trial 0")


def test_a_block_that_grows_is_read_piece_by_piece() -> None:
    """Long blocks are made in pieces, and each piece replaces the block that is last in the history."""
    game = rs.HorizonLCB().start(2, 100)
    history = list[Block]()
    reader = Reader()

    def read():
        return reader.read(Moment(("a", "b"), game, history, False)).curves

    assert read() == []
    history.append(Block(0, "a", 2, (0.5, 0.4), 2))
    assert read() == [(0, 1, (0.5, 0.4))]
    assert read() == []
    history[-1] = Block(0, "a", 3, (0.5, 0.4, 0.3), 3)
    history.append(Block(3, "b", 1, (0.9,), 1))
    assert read() == [(0, 3, (0.3,)), (1, 1, (0.9,))]
    history.append(Block(4, "a", 4, (0.2,), 1))
    assert read() == [(0, 4, (0.2,))]


# MLflow


class Server:
    """An MLflow server of one's own on a free port, with a store in a folder."""

    def __init__(self, folder: Path):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.uri, self.log = f"http://127.0.0.1:{port}", folder / "server.log"
        settings = {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}
        options = ["--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
        places = ["--backend-store-uri", f"file://{folder}/store", "--artifacts-destination", f"{folder}/artifacts"]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "mlflow", "server", *options, *places],
                env={**os.environ, **settings},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def wait(self, seconds: float = 180.0) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until and self.process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.uri}/health", timeout=5) as answer:
                    if answer.status == 200:
                        return
            except OSError:
                time.sleep(0.1)
        pytest.fail(f"the MLflow server does not answer:\n{self.log.read_text()[-2_000:]}")

    def signal(self, number: int) -> None:
        os.killpg(self.process.pid, number)

    def kill(self) -> None:
        if self.process.poll() is None:
            self.signal(signal.SIGKILL)
            self.process.wait()


@pytest.fixture(scope="module", autouse=True)
def servers(tmp_path_factory):
    """Started before it is needed, since that takes a while."""
    running = [Server(tmp_path_factory.mktemp("mlflow"))]
    yield running
    for server in running:
        server.kill()


@pytest.fixture
def server(servers, tmp_path_factory) -> Server:
    if servers[-1].process.poll() is not None:  # a test has killed it
        servers.append(Server(tmp_path_factory.mktemp("mlflow")))
    servers[-1].wait()
    return servers[-1]


@pytest.fixture
def impatient(monkeypatch) -> None:
    """MLflow tries a request that failed again for minutes."""
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")


def read_back(uri: str, run_id: str):
    from mlflow import MlflowClient

    client = MlflowClient(uri)
    parent = client.get_run(run_id)
    children = client.search_runs([parent.info.experiment_id], f"tags.`mlflow.parentRunId` = '{run_id}'")
    return client, parent, {child.info.run_name: child for child in children}


def history(client, run_id: str, key: str) -> list[tuple[int, float]]:
    return sorted((metric.step, metric.value) for metric in client.get_metric_history(run_id, key))


def test_an_mlflow_server_has_everything(server: Server, monkeypatch) -> None:
    from restsure.integrations import mlflow as module

    requests = []
    log_batch = module.MlflowClient.log_batch
    monkeypatch.setattr(module.MlflowClient, "log_batch", lambda *a, **k: (requests.append(1), log_batch(*a, **k))[1])
    watch = module.MLflowCallback(server.uri, experiment="digits", run_name="all")
    assert watch.run_id is None
    result = run(watch)
    assert same(result, run())
    client, parent, children = read_back(server.uri, watch.run_id)
    assert client.get_experiment(parent.info.experiment_id).name == "digits"
    assert (parent.info.run_name, parent.info.status) == ("all", "FINISHED")
    assert sorted(children) == sorted(NAMES)
    for name, child in children.items():
        found = history(client, child.info.run_id, "loss")
        assert_curve(found, result.history.losses(name))
        assert child.info.status == ("FAILED" if name == "breaks" else "FINISHED")
    assert children["breaks"].data.tags["restsure.failure"] == "ZeroDivisionError: no such thing"
    best = children[result.name]
    assert parent.data.tags["restsure.winner"] == result.name == "slow/er"
    assert parent.data.tags["restsure.winner_run"] == best.info.run_id
    assert parent.data.tags["mlflow.note.content"].replace("\n\n", "\n") == result.explain()
    assert parent.data.metrics["loss"] == result.loss
    assert history(client, parent.info.run_id, "spent")[-1] == (300, 300.0)
    assert parent.data.params["budget"] == "300 training steps"
    low, mean, high = (history(client, best.info.run_id, f"predicted{end}")[-1] for end in ("_low", "", "_high"))
    assert low[1] <= mean[1] <= high[1]
    assert mean[0] == 300
    assert len(requests) < 30  # of 300 steps


def test_within_an_active_run_and_interrupted(server: Server, monkeypatch) -> None:
    import mlflow

    from restsure.integrations.mlflow import MLflowCallback

    def stop(moment) -> None:
        if sum(moment.game.pulls) > 100 and not moment.over:
            raise KeyboardInterrupt

    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(server.uri)
    try:
        with mlflow.start_run() as outer:
            watch = MLflowCallback()
            cut = run(watch, stop)
            assert mlflow.active_run().info.run_id == outer.info.run_id
    finally:
        mlflow.set_tracking_uri(before)
    _, parent, children = read_back(server.uri, watch.run_id)
    assert cut.interrupted
    assert parent.info.status == "KILLED"
    assert parent.data.tags["mlflow.parentRunId"] == outer.info.run_id
    assert len(children) == 4


def test_a_server_that_hangs_does_not_hold_up_training(server: Server) -> None:
    from restsure.integrations.mlflow import MLflowCallback

    watch = MLflowCallback(server.uri, timeout_s=0.5)
    server.signal(signal.SIGSTOP)
    try:
        with pytest.warns(
            RuntimeWarning, match="writes no more .*: not everything could be sent within 0.5 s"
        ) as caught:
            result = run(watch)
    finally:
        server.signal(signal.SIGCONT)
    assert len(caught) == 1
    assert same(result, run())
    watch._sender.join()  # it goes on when the server does, and nobody waits for it


@pytest.mark.usefixtures("impatient")
def test_a_server_that_is_killed_in_the_middle(server: Server) -> None:
    from restsure.integrations.mlflow import MLflowCallback

    watch = MLflowCallback(server.uri)

    def kill(moment) -> None:
        if sum(moment.game.pulls) > 100:
            while watch.run_id is None:  # until something was sent
                time.sleep(0.01)
            server.kill()

    with pytest.warns(RuntimeWarning, match="writes no more of this run, which goes on \\(MlflowException: ") as caught:
        result = run(watch, kill)
    assert len(caught) == 1
    assert same(result, run())


@pytest.mark.usefixtures("impatient")
def test_no_server_at_all() -> None:
    from restsure.integrations.mlflow import MLflowCallback

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # and does not listen
        watch = MLflowCallback(f"http://127.0.0.1:{free.getsockname()[1]}")
        with pytest.warns(RuntimeWarning, match="writes no more of this run, which goes on") as caught:
            result = run(watch)
    assert len(caught) == 1
    assert watch.run_id is None
    assert same(result, run())


@pytest.mark.parametrize("module", ["tensorboard", "mlflow"])
def test_without_the_extra(module: str) -> None:
    package = {"tensorboard": "tensorboardX", "mlflow": "mlflow"}[module]
    code = f"import sys; sys.modules['{package}'] = None; import restsure.integrations.{module}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    said = f"MissingExtra: restsure.integrations.{module} needs {package}: pip install 'restsure[{module}]'"
    assert done.stderr.splitlines()[-1].endswith(said)


def test_bad_input_to_callbacks() -> None:
    from restsure.integrations.mlflow import MLflowCallback

    with pytest.raises(rs.InvalidParameter, match="^timeout_s=0: must be above 0"):
        MLflowCallback(timeout_s=0)
    with pytest.raises(rs.WrongType, match="^experiment=None: must be of kind str"):
        MLflowCallback(experiment=None)

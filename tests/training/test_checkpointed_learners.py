"""A learner that was saved and loaded goes on to the bit, whatever its model is."""

import json
import multiprocessing
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB

from restsure.errors import InvalidParameter
from restsure.training.adapters import BatchLearner, Judge, as_learner
from restsure.training.losses import LOSSES
from restsure.training.saving.tree import Description
from restsure.training.stream import ArrayStream, BatchStream, Stream
from tests.training.zoo import DATA, boosters, learner, partial_fit, river_models, warm_start

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore::FutureWarning", "ignore:Feature:UserWarning"
)


def state(one: BatchLearner) -> str:
    """Everything there is in a model, as text."""
    return Description(one.model).text()


def goes_on(directory: Path, model: Any, data: str, *, state: Callable[[BatchLearner], str] = state) -> None:
    """Saved before the first pull and later; loaded into a learner that had begun otherwise; saved and loaded once more."""
    never_stopped = learner(model, data)
    losses = never_stopped.train(5)
    stopped = learner(model, data)
    stopped.save(directory / "0")
    assert stopped.train(2) == losses[:2]
    stopped.save(directory / "2")
    for pulls in (0, 2):
        fresh = learner(model, data)
        fresh.train(1)
        fresh.load(directory / str(pulls))
        assert fresh.pulls == pulls
        assert fresh.train(1) == losses[pulls : pulls + 1]
    fresh.save(directory / "2")
    once_more = learner(model, data)
    once_more.load(directory / "2")
    assert once_more.train(2) == losses[3:]
    assert once_more.samples == never_stopped.samples
    assert state(once_more) == state(never_stopped)
    assert len(list((directory / "2").iterdir())) == 2


@pytest.mark.parametrize(("model", "data"), [pytest.param(*rest, id=name) for name, *rest in partial_fit()])
def test_partial_fit(tmp_path: Path, model: Any, data: str) -> None:
    goes_on(tmp_path, model, data)


@pytest.mark.parametrize(("model", "data"), [pytest.param(*rest, id=name) for name, *rest in warm_start()])
def test_warm_start(tmp_path: Path, model: Any, data: str) -> None:
    goes_on(tmp_path, model, data)


def state_but_for_guid(one: BatchLearner) -> str:
    """Every model that CatBoost trains is given a name by chance: its models are told apart by what they predict."""
    if any(name.startswith("catboost") for name in Description(one.model, brief=True).classes):
        return str(
            one.model.predict_proba(one.judge.batch(0)[0]).tolist() if one.classifies() else one.predict(one.x[0])
        )
    return state(one)


@pytest.mark.parametrize(("model", "data"), [pytest.param(*rest, id=name) for name, *rest in boosters()])
def test_boosters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Any, data: str) -> None:
    with pytest.raises(
        InvalidParameter, match="cannot be saved without pickle, since (catboost|lightgbm|xgboost) believes"
    ):
        learner(model, data).save(tmp_path)
    monkeypatch.setattr(BatchLearner, "pickled", True)
    goes_on(tmp_path, model, data, state=state_but_for_guid)


def state_but_for_chance(one: BatchLearner) -> str:
    """Distributions that river makes have a generator each, without a seed, that is never drawn from.

    And text vectorisers of scikit-learn keep an address in memory, by which they know whether to warn.
    """
    _, nodes, _ = json.loads(state(one))
    for node in nodes:
        node.get("attributes", {}).pop("_stop_words_id", None)
    return json.dumps([node for node in nodes if "Random" not in node])


@pytest.mark.parametrize(("model", "data"), [pytest.param(*rest, id=name) for name, *rest in river_models()])
def test_river(tmp_path: Path, model: Any, data: str) -> None:
    goes_on(tmp_path, model, data, state=state_but_for_chance)


ALL = {name: rest for name, *rest in (*partial_fit(), *warm_start(), *boosters(), *river_models())}


def named(*names: str) -> list[Any]:
    """Some of them all."""
    return [pytest.param(*ALL[name], id=name) for name in names]


SOME = (
    "SGDClassifier average two classes",
    "MLPClassifier sgd NoneType",
    "unseeded pair",
    "OneVsRest network",
    "IncrementalPCA",
    "GradientBoosting NoneType",
    "HistGradientBoosting int",
    "LogisticRegression lbfgs",
    "optimiser Adam",
    "forest regression",
    "neighbours",
)


@pytest.mark.parametrize(("model", "data"), named(*SOME))
def test_a_pickled_learner_goes_on_too(model: Any, data: str) -> None:
    """As it must to be sent to another process; numpy's own generator may be anywhere then."""
    losses = learner(model, data).train(4)
    one = learner(model, data)
    one.train(2)
    sent = pickle.dumps(one)
    np.random.seed(77)  # noqa: NPY002
    arrived = pickle.loads(sent)
    assert arrived.train(2) == losses[2:]
    assert one.train(2) == losses[2:]


def test_goes_on_in_a_child_process(tmp_path: Path) -> None:
    model, data = named("unseeded pair")[0].values
    losses = learner(model, data).train(4)
    one = learner(model, data)
    one.train(2)
    one.save(tmp_path)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert pool.submit(BatchLearner.train, one, 2).result() == losses[2:]


def losses_after(directory: str, names: str) -> None:
    """For another process: load each, train, print."""
    for name in names.split(","):
        model, data = named(name)[0].values
        one = learner(model, data)
        one.load(Path(directory) / name)
        print(json.dumps([name, one.train(3), state_but_for_chance(one)]))


def test_goes_on_in_another_process_where_text_has_other_hashes(tmp_path: Path) -> None:
    names = ("ensemble of trees", "forest ADWIN", "words TFIDF", "softmax", "bandit UCB", "HashingVectorizer", "union")
    expected = list[Any]()
    for name in names:
        model, data = named(name)[0].values
        one = learner(model, data)
        one.train(2)
        one.save(tmp_path / name)
        expected.append([name, one.train(3), state_but_for_chance(one)])
    code = f"from {__name__} import losses_after; losses_after({str(tmp_path)!r}, {','.join(names)!r})"
    environment = os.environ | {"PYTHONHASHSEED": "12345", "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert [json.loads(line) for line in run.stdout.splitlines()] == expected


class Batches(Sequence):
    def __init__(self, count: int):
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, number: int) -> Any:
        x, y = DATA["digits"]
        return x[number * 40 : number * 40 + 40], y[number * 40 : number * 40 + 40]


@pytest.mark.parametrize("kind", ["sequence", "iterator", "one pass over arrays"])
@pytest.mark.parametrize("name", ["SGDClassifier hinge", "RandomForestClassifier int", "LogisticRegression lbfgs"])
def test_what_the_stream_can_give_again_is_not_saved(tmp_path: Path, kind: str, name: str) -> None:
    """Over the end of the first pass, after which a warm start has seen all there is."""

    def fresh() -> Any:
        streams: dict[str, Callable[[], Stream]] = {
            "sequence": lambda: BatchStream(Batches(4)),
            "iterator": lambda: BatchStream(Batches(4)[number] for number in range(4)),
            "one pass over arrays": lambda: ArrayStream(*Batches(4)[0], batch_size=10, seed=0),
        }
        stream = streams[kind]()
        return as_learner("model", named(name)[0].values[0], Judge(stream, None, np.arange(10)))

    losses = fresh().train(8)
    for pulls in (1, 4, 6):
        one = fresh()
        one.train(pulls)
        one.save(tmp_path)
        two = fresh()
        two.load(tmp_path)
        assert two.train(8 - pulls) == losses[pulls:]
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < 500_000


def test_judged_on_held_out_rows(tmp_path: Path) -> None:
    def fresh() -> Any:
        stream = ArrayStream(*DATA["digits"], batch_size=40, seed=0)
        held_out = DATA["digits"][0][:100], DATA["digits"][1][:100]
        return as_learner("model", GaussianNB(), Judge(stream, LOSSES["log"], stream.classes(), held_out, 30))

    losses = fresh().train(6)
    one, two = fresh(), fresh()
    one.train(3)
    one.save(tmp_path)
    two.load(tmp_path)
    assert two.train(3) == losses[3:]


def test_unseeded_estimators_keep_numpys_generator_where_it_is() -> None:
    one, two = (learner(SGDClassifier(), "digits") for _ in range(2))
    outside = np.random.get_state()[1].tolist()  # noqa: NPY002
    assert one.train(1) + one.train(2) == two.train(3)
    assert np.random.get_state()[1].tolist() == outside  # noqa: NPY002

"""``validation=0.1``: a share of the rows is held back, and candidates are judged by it."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_diabetes
from sklearn.linear_model import SGDRegressor
from sklearn.naive_bayes import MultinomialNB
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import restsure as rs
from restsure.training.stream import split_rows


class Remembering(ClassifierMixin, BaseEstimator):
    """Keeps the numbers, in the first column, of the rows that it learns, and of those that it is asked about."""

    def partial_fit(self, x, y, classes=None):
        self.learnt_ = [*getattr(self, "learnt_", []), *np.asarray(x)[:, 0].tolist()]
        self.classes_ = getattr(self, "classes_", classes)
        return self

    def predict(self, x):
        self.asked_ = [*getattr(self, "asked_", []), *np.asarray(x)[:, 0].tolist()]
        return np.zeros(len(x), dtype=int)


def numbered(rows: int) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(rows, dtype=float)[:, None], np.arange(rows) % 3


@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame])
def test_what_is_held_back_is_never_learnt(kind) -> None:
    """Four passes over 90 of 100 rows; the other ten are read round and round, in parts of a batch's size."""
    x, y = numbered(100)
    model = rs.select({"r": Remembering()}, (kind(x), y), budget=60, batch_size=6, validation=0.1, random_state=3).model
    learnt, asked = set(model.learnt_), set(model.asked_)
    assert (len(learnt), len(asked)) == (90, 10)
    assert learnt | asked == set(range(100))
    assert np.unique(model.learnt_, return_counts=True)[1].tolist() == [4] * 90
    assert np.unique(model.asked_, return_counts=True)[1].tolist() == [36] * 10


def test_the_seed_draws_it() -> None:
    data = numbered(200)
    held = [split_rows(data, 0.2, seed)[1][0][:, 0].tolist() for seed in (0, 0, 1)]
    assert held[0] == held[1] != held[2]
    assert [len(part[1]) for part in split_rows(data, 0.2, 0)] == [160, 40]
    assert [len(part[1]) for part in split_rows(numbered(3), 0.01, 0)] == [2, 1]
    assert [len(part[1]) for part in split_rows(numbered(3), 0.99, 0)] == [1, 2]


def test_a_class_that_is_held_back_whole_is_known_all_the_same() -> None:
    """Of a class with one row, that row is judged by or learnt from; in ten seeds it is both."""
    x, y = np.abs(np.random.default_rng(0).normal(size=(60, 4))), np.repeat([0, 1, 2], [30, 29, 1])
    where = set()
    for seed in range(10):
        _, (_, held) = split_rows((x, y), 0.3, seed)
        where.add(2 in held)
        result = rs.select({"b": MultinomialNB()}, (x, y), budget=9, loss="log", validation=0.3, random_state=seed)
        assert result.model.classes_.tolist() == [0, 1, 2]
        assert not result.failures
    assert where == {True, False}


def test_sparse_rows() -> None:
    x, y = scipy.sparse.random(80, 20, density=0.2, format="coo", random_state=0), np.arange(80) % 2
    assert rs.select({"b": MultinomialNB()}, (x, y), budget=12, validation=0.25, random_state=0).spent == 12


def test_many_passes_over_few_rows_do_not_win_by_heart() -> None:
    """The diabetes data have 309 rows to learn from, 19 batches. A network that knows them by heart has hardly any loss on
    the batches that come again, and is worse than a linear model on others."""
    x, y = load_diabetes(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    y = (y - y.mean()) / y.std()
    train, test = order[:309], order[309:]
    candidates = {
        "linear": make_pipeline(StandardScaler(), SGDRegressor(random_state=0)),
        "network": make_pipeline(
            StandardScaler(), MLPRegressor(hidden_layer_sizes=(256, 128), learning_rate_init=3e-3, random_state=0)
        ),
    }
    seen, unseen = (
        rs.select(candidates, (x[train], y[train]), budget=500, batch_size=16, validation=share, random_state=0)
        for share in (None, 0.15)
    )
    wrong, right = (np.mean((each.model.predict(x[test]) - y[test]) ** 2) for each in (seen, unseen))
    assert (seen.name, unseen.name) == ("network", "linear")
    assert right < 0.75 * wrong
    assert seen.loss < 0.25 * wrong  # what it says of itself, and what is so
    assert unseen.loss == pytest.approx(right, rel=0.5)
    assert "validation=0.1" in seen.notes[0]
    assert not unseen.notes


def test_a_run_goes_on_with_the_same_rows_held_back_only(tmp_path) -> None:
    data, two = numbered(120), {"a": MultinomialNB(), "b": MultinomialNB(alpha=3)}
    arguments = dict(budget=20, batch_size=8, random_state=0, run_dir=tmp_path / "run")
    kept = rs.select(two, data, validation=0.2, **arguments)
    assert rs.select(two, data, validation=0.2, **arguments).history.to_dict() == kept.history.to_dict()
    for other in (None, 0.25, (data[0][:24], data[1][:24])):
        with pytest.raises(rs.InvalidParameter, match="as when the run in"):
            rs.select(two, data, validation=other, **arguments)


@pytest.mark.parametrize(
    ("share", "data", "message"),
    [
        (0.0, numbered(9), "validation=0.0: must be above 0 and below 1"),
        (1, numbered(9), "validation=1: must be above 0 and below 1"),
        (-0.1, numbered(9), "validation=-0.1: must be above 0 and below 1"),
        (float("nan"), numbered(9), "validation=nan: must be"),
        (True, numbered(9), "validation=True: must be a real number"),
        ("a tenth", numbered(9), "validation: must be a pair (X, y) or a share of the rows, not str"),
        (0.1, numbered(1), "validation=0.1: must leave rows to train on, but there is 1 in all"),
        (0.1, numbered(0), "data: must have at least one row"),
        (0.1, [numbered(5), numbered(5)], "validation=0.1: must be (X, y), since only of arrays a share can be held"),
        (0.1, iter([numbered(5)]), "validation=0.1: must be (X, y), since only of arrays a share can be held back"),
        (0.1, None, "validation: must be None when data is None, since candidates judge themselves"),
    ],
)
def test_bad_shares(share, data, message: str) -> None:
    with pytest.raises(rs.RestSureError) as raised:
        rs.select({"b": MultinomialNB()}, data, budget=5, validation=share)
    assert message in str(raised.value)

"""Selective training of real learners."""

import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from river import datasets, linear_model, naive_bayes, preprocessing, tree
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_diabetes, load_digits
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import Perceptron, SGDClassifier, SGDRegressor
from sklearn.naive_bayes import BernoulliNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import restsure as rs

X, Y = load_digits(return_X_y=True)


def models() -> dict[str, object]:
    return {
        "bayes": MultinomialNB(),
        "bernoulli": BernoulliNB(binarize=8),
        "perceptron": Perceptron(random_state=0),
        "scaled": make_pipeline(StandardScaler(), SGDClassifier(random_state=0)),
        "guess": SGDClassifier(eta0=1e-9, learning_rate="constant", random_state=0),
    }


def test_gives_back_the_best_model_trained() -> None:
    result = rs.select(models(), (X[:1200], Y[:1200]), budget=150, random_state=1)
    assert sum(result.pulls.values()) == result.spent == result.budget == 150
    assert (result.model.predict(X[1200:]) == Y[1200:]).mean() > 0.8
    assert result.name != "guess"
    assert result.pulls["guess"] < 15
    low, high = result.interval
    assert low < result.loss < high
    assert not result.failures
    assert result.name in result.explain()
    assert "not certified" in str(result.certificate)
    assert 0 < result.certificate.bound < 1


def test_what_a_game_refuses_leaves_no_run_behind(tmp_path) -> None:
    two, where = {"a": MultinomialNB(), "b": BernoulliNB()}, tmp_path / "run"
    with pytest.raises(rs.InvalidParameter, match="budget=1: must be at least 2, one training step for each candidate"):
        rs.select(two, (X, Y), budget=1, run_dir=where)
    assert not where.exists()
    assert rs.select(two, (X, Y), budget=10, run_dir=where).spent == 10


def test_losses_of_numbers_are_of_any_numbers() -> None:
    """Differences of small whole numbers without a sign go round, and booleans have none."""
    ordinal = rs.select({"b": MultinomialNB()}, (X, Y.astype(np.uint8)), budget=20, loss="absolute", random_state=0)
    assert (
        ordinal.loss == rs.select({"b": MultinomialNB()}, (X, Y), budget=20, loss="absolute", random_state=0).loss < 9
    )
    assert rs.select({"b": MultinomialNB()}, (X, Y > 4), budget=20, loss="squared", random_state=0).loss < 0.5


def test_a_loss_may_be_any_callable() -> None:
    """Also one that has no hash, or the name of one of ours."""

    class Own(list):
        __name__ = "squared"

        def __call__(self, y_true, y_pred):
            return float(np.mean(y_true != y_pred))

    data = X, Y.astype(str)
    assert rs.select({"b": MultinomialNB()}, data, budget=20, loss=Own(), random_state=0).loss < 1


def test_names_of_any_kind_of_text() -> None:
    [name] = rs.select({np.str_("bayes"): MultinomialNB()}, (X, Y), budget=5).pulls
    assert type(name) is str


def test_says_when_losses_are_of_samples_seen_before(tmp_path) -> None:
    """37 batches are a pass: after as many training steps the next batch is made of samples that were learnt."""
    two = {"bayes": MultinomialNB(), "bernoulli": BernoulliNB(binarize=8)}
    kept = rs.select(two, (X[:1200], Y[:1200]), budget=90, batch_size=32, run_dir=tmp_path / "run")
    assert kept.pulls[kept.name] >= 37
    [note] = kept.notes
    assert note.startswith(f"{kept.name}: the data last for 37 training steps; losses after that are of samples that")
    assert rs.read_run(tmp_path / "run").to_dict()["notes"] == kept.to_dict()["notes"] == [note]
    again = rs.select(two, (X[:1200], Y[:1200]), budget=90, batch_size=32, run_dir=tmp_path / "run")
    assert again.notes == kept.notes
    batches = [(X[:32], Y[:32]), (X[32:64], Y[32:64])]
    assert "the data last for 2 training steps" in rs.select(two, iter(batches), budget=20, classes=range(10)).notes[0]
    assert not rs.select(two, (X, Y), budget=30, batch_size=32).notes  # one pass is enough
    held_out = (X[1200:], Y[1200:])
    assert not rs.select(two, (X[:1200], Y[:1200]), budget=90, batch_size=32, validation=held_out).notes


def test_data_that_nobody_learns_from_are_refused() -> None:
    own = {"half": lambda: 0.5, "third": lambda: 1 / 3}
    with pytest.raises(rs.InvalidParameter, match="data: must be None, since no candidate would learn from it"):
        rs.select(own, (X, Y), budget=10)
    assert rs.select(own | {"bayes": MultinomialNB()}, (X, Y), budget=20).pulls["bayes"] > 0


@pytest.mark.parametrize("missing", [None, math.nan, pd.NA, pd.NaT])
def test_a_label_that_is_missing_is_named(missing: object) -> None:
    labels = np.array([missing, *(["a", "b"] * 10)], dtype=object)
    with pytest.raises(rs.InvalidParameter, match=f"data: y must have a label in every row, but one is {missing}"):
        rs.select({"bayes": MultinomialNB()}, (X[:21], labels), budget=5)


def test_labels_are_of_one_kind() -> None:
    labels = np.array(["a", 1] * 10, dtype=object)
    with pytest.raises(rs.InvalidParameter, match="data: y must be labels of one kind, not of int and str"):
        rs.select({"bayes": MultinomialNB()}, (X[:20], labels), budget=5)
    same = np.array(["a", "b"] * 10, dtype=object)
    assert rs.select({"bayes": MultinomialNB()}, (X[:20], same), budget=5).pulls == {"bayes": 5}


def test_classifiers_and_regressors_are_not_compared_by_losses_of_their_own() -> None:
    mixed = {"guess": SGDClassifier(), "line": SGDRegressor()}
    with pytest.raises(rs.InvalidParameter, match="'guess' has the loss 'zero_one' and 'line' the loss 'squared'"):
        rs.select(mixed, (X, Y), budget=20)
    assert rs.select(mixed, (X / 16, Y), budget=20, loss="absolute").name in mixed


def test_is_deterministic_and_seeded() -> None:
    one, two, other = (rs.select(models(), (X, Y), budget=80, random_state=seed) for seed in (3, 3, 4))
    assert (one.pulls, one.loss, one.history.to_dict()) == (two.pulls, two.loss, two.history.to_dict())
    assert one.history.to_dict() != other.history.to_dict()


def test_a_candidate_does_not_depend_on_the_others() -> None:
    """Rested: pull s is trained on the same s-th batch, whoever else is trained in between."""
    alone = rs.select({"bayes": MultinomialNB()}, (X, Y), budget=30, batch_size=32, random_state=2)
    among = rs.select(models(), (X, Y), budget=120, batch_size=32, random_state=2)
    shared = min(30, among.pulls["bayes"])
    assert shared > 3
    assert alone.history.losses("bayes")[:shared] == among.history.losses("bayes")[:shared]


def test_progressive_validation_is_on_the_next_batch() -> None:
    """The first loss of a model is its error on the second batch after learning the first."""
    result = rs.select({"bayes": MultinomialNB()}, (X, Y), budget=3, batch_size=50, random_state=5)
    order = np.random.default_rng([5, 0]).permutation(len(Y))
    model = MultinomialNB()
    for s, loss in enumerate(result.history.losses("bayes")):
        model.partial_fit(X[order[50 * s : 50 * s + 50]], Y[order[50 * s : 50 * s + 50]], classes=np.arange(10))
        after = order[50 * s + 50 : 50 * s + 100]
        assert loss == (model.predict(X[after]) != Y[after]).mean()


def test_a_validation_set_is_read_in_rotating_parts() -> None:
    seen = []

    def remember(y_true, y_pred) -> float:
        seen.append(list(y_true))
        return float((y_true != y_pred).mean())

    rs.select({"b": MultinomialNB()}, (X, Y), budget=4, batch_size=20, validation=(X[:50], Y[:50]), loss=remember)
    assert seen[0] + seen[1] == Y[:40].tolist()
    assert seen[2] == Y[40:50].tolist() + Y[:10].tolist()


def test_sparse_frames_text_and_batches() -> None:
    frame = pd.DataFrame(X)
    results = [
        rs.select(models(), data, budget=40, batch_size=30, random_state=0).history.to_dict()
        for data in ((X, Y), (frame, Y), (X.tolist(), Y.tolist()))
    ]
    assert results[0] == results[1] == results[2]
    sparse = {name: model for name, model in models().items() if name != "scaled"}
    assert rs.select(sparse, (scipy.sparse.csr_matrix(X), Y), budget=40).spent == 40
    words = ["good fine great", "bad poor awful", "great good", "awful bad"] * 30
    text = {
        "hash": make_pipeline(HashingVectorizer(n_features=64), SGDClassifier(random_state=0)),
        "dumb": BernoulliText(),
    }
    result = rs.select(text, (words, np.array([1, 0, 1, 0] * 30)), budget=30)
    assert (result.name, result.failures) == ("hash", {})


class BernoulliText(ClassifierMixin, BaseEstimator):
    """Learns nothing."""

    def partial_fit(self, x, y, classes=None):
        self.classes_ = classes if classes is not None else self.classes_
        return self

    def predict(self, x):
        return np.full(len(x), self.classes_[0])


@pytest.mark.parametrize("kind", ["list", "generator"])
def test_batches_out_of_core(kind: str) -> None:
    """Batches are read as they are needed, kept for those behind, and come again when the stream ends."""
    parts = [(X[k : k + 40], Y[k : k + 40]) for k in range(0, 400, 40)]
    data = parts if kind == "list" else (part for part in parts)
    result = rs.select({"bayes": MultinomialNB(), "perceptron": Perceptron()}, data, budget=30)
    assert result.spent == 30
    assert max(result.pulls.values()) > 10  # a second pass


def test_regression_in_any_unit() -> None:
    """Squared losses of thousands: the same choice as in a unit where they are small."""
    x, y = load_diabetes(return_X_y=True)
    candidates = {
        f"rate {rate:g}": make_pipeline(
            StandardScaler(), SGDRegressor(eta0=rate, learning_rate="constant", random_state=0)
        )
        for rate in (1e-5, 1e-2)
    }
    result = rs.select(candidates, (x, y), budget=60, random_state=0)
    assert result.name == "rate 0.01"
    assert 500 < result.loss < 10_000
    assert rs.select(candidates, (x, y), budget=60, loss="absolute").loss < 100


def test_log_and_balanced_losses() -> None:
    rare = np.r_[np.flatnonzero(Y == 3)[:20], np.flatnonzero(Y == 5)]
    x, y = X[rare], Y[rare]
    result = rs.select(
        {"bayes": MultinomialNB(), "bernoulli": BernoulliNB(binarize=8)}, (x, y), budget=20, loss="balanced"
    )
    assert 0 <= result.loss < 0.5
    assert rs.select({"a": MultinomialNB(), "b": BernoulliNB()}, (X, Y), budget=20, loss="log").loss > 0


@pytest.mark.parametrize("kind", ["dataset", "list", "generator"])
def test_samples_one_by_one(kind: str) -> None:
    """As river has them: they are taken in batches, which end with the samples and come again."""
    samples = {
        "dataset": datasets.Phishing(),
        "list": list(datasets.Phishing()),
        "generator": iter(datasets.Phishing()),
    }
    candidates = {
        "logistic": preprocessing.StandardScaler() | linear_model.LogisticRegression(),
        "tree": tree.HoeffdingTreeClassifier(grace_period=20),
    }
    result = rs.select(candidates, samples[kind], budget=160, batch_size=10, random_state=0)
    rows, targets = zip(*datasets.Phishing(), strict=True)
    batches = [(list(rows[k : k + 10]), list(targets[k : k + 10])) for k in range(0, 1_250, 10)]
    assert result.history.to_dict() == rs.select(candidates, batches, budget=160, random_state=0).history.to_dict()


def test_samples_of_numbers_one_by_one() -> None:
    candidates = {"bayes": MultinomialNB(), "bernoulli": BernoulliNB(binarize=8)}
    result = rs.select(candidates, list(zip(X, Y, strict=True)), budget=20, batch_size=50)
    again = rs.select(candidates, [(X[k : k + 50], Y[k : k + 50]) for k in range(0, len(Y), 50)], budget=20)
    assert result.history.to_dict() == again.history.to_dict()


def test_samples_that_are_none_are_named() -> None:
    with pytest.raises(rs.WrongType, match=r"data: must be samples \(x, y\) throughout, .* but one is 'odd'"):
        rs.select({"bayes": MultinomialNB()}, [(X[0], 1), "odd"], budget=20)
    with pytest.raises(rs.InvalidParameter, match="data: must have at least one batch"):
        rs.select({"bayes": MultinomialNB()}, iter(()), budget=20)
    for alone in (X, pd.DataFrame(X)):
        with pytest.raises(rs.WrongType, match=r"data: must be \(X, y\), an iterable .* not (ndarray|DataFrame)"):
            rs.select({"bayes": MultinomialNB()}, alone, budget=20)


def test_river_models() -> None:
    candidates = {
        "bayes": naive_bayes.GaussianNB(),
        "logistic": preprocessing.StandardScaler() | linear_model.LogisticRegression(),
        "tree": tree.HoeffdingTreeClassifier(grace_period=20),
    }
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 3))
    y = (x @ [1.0, -2.0, 0.5] > 0).astype(int)
    result = rs.select(candidates, (x, y), budget=60, batch_size=10, random_state=0)
    assert not result.failures
    assert result.name == "logistic"
    assert result.model.predict_one({0: 2.0, 1: -2.0, 2: 0.0}) == 1


def test_pipelines_of_river_that_predict_numbers() -> None:
    """A pipeline of river's has the methods of classifiers and of regressors: its last step tells which it is."""
    candidates = {
        "linear": preprocessing.StandardScaler() | linear_model.LinearRegression(),
        "tree": preprocessing.StandardScaler() | tree.HoeffdingTreeRegressor(grace_period=20),
        "unscaled": linear_model.LinearRegression(),
    }
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 3)) * [1.0, 20.0, 0.1]
    y = x @ [1.0, 0.1, 5.0]
    result = rs.select(candidates, (x, y), budget=60, batch_size=10, random_state=0)
    assert not result.failures
    assert result.name == "linear"
    assert abs(result.model.predict_one({0: 1.0, 1: 20.0, 2: 0.1}) - 3.5) < 1


def test_boosting_rounds() -> None:
    candidates = {
        "deep": GradientBoostingClassifier(n_estimators=2, max_depth=3, random_state=0),
        "stumps": GradientBoostingClassifier(n_estimators=2, max_depth=1, random_state=0),
    }
    small = Y < 3
    result = rs.select(candidates, (X[small], Y[small]), budget=12, batch_size=40, random_state=0)
    assert not result.failures
    assert result.model.n_estimators_ == 2 * result.pulls[result.name]


def test_loops_functions_and_learners() -> None:
    """No data: a generator, a function, and an object with train, which is given back itself."""

    def falling(alpha: float, beta: float):
        s = 0
        while True:
            s += 1
            yield alpha * s**-0.5 + beta

    class Own:
        steps = 0

        def train(self, times: int) -> list[float]:
            self.steps += times
            return [0.05 + 0.5 / (self.steps - times + k + 1) for k in range(times)]

    own = Own()
    result = rs.select({"loop": falling(0.5, 0.3), "function": lambda: 0.6, "own": own}, budget=120)
    assert result.name == "own"
    assert result.model is own
    assert own.steps == result.pulls["own"]


def test_failures_only_cost_their_candidate() -> None:
    class Bad:
        def __init__(self, at: int, what: object):
            self.at, self.what, self.made = at, what, 0

        def train(self, times: int):
            self.made += times
            if self.made > self.at:
                if isinstance(self.what, Exception):
                    raise self.what
                return self.what
            return [0.3] * times

    candidates = {
        "good": lambda: 0.4,
        "raises": Bad(3, RuntimeError("out of luck")),
        "nan": lambda: math.nan,
        "text": Bad(1, "losses"),
        "short": Bad(5, []),
        "ends": iter([0.5, 0.4, 0.3]),
    }
    result = rs.select(candidates, budget=60)
    assert result.name == "good"
    assert result.spent == 60
    assert set(result.failures) == set(candidates) - {"good"}
    assert result.failures["raises"] == "RuntimeError: out of luck"
    assert "must be finite" in result.failures["nan"]
    assert "ended before the budget was spent" in result.failures["ends"]
    assert "out of luck" in result.explain()
    assert str(result).endswith("among 6 candidates, of which 5 failed")


def test_one_thing_is_one_candidate() -> None:
    loop = iter([0.5] * 100)
    with pytest.raises(rs.InvalidParameter, match="'a' and 'b' must not be the same object"):
        rs.select({"a": loop, "b": loop}, budget=10)


def test_all_fail() -> None:
    def broken() -> float:
        raise ValueError("no")

    with pytest.raises(rs.NoArmLeft, match="all 2 candidates have failed: a: ValueError: no; b: ValueError: no"):
        rs.select({"a": broken, "b": broken}, budget=10)


def test_an_unseen_class_fails_only_those_who_mind() -> None:
    batches = [(X[Y < 5][:100], Y[Y < 5][:100]), (X[Y >= 5][:100], Y[Y >= 5][:100])]
    candidates = {"bayes": MultinomialNB(), "river": naive_bayes.GaussianNB()}
    result = rs.select(candidates, iter(batches), budget=8)
    assert result.name == "river"
    assert "was not among the first: tell select all of them by classes=" in result.failures["bayes"]
    assert not rs.select(candidates, iter(batches), budget=8, classes=range(10)).failures
    assert not rs.select(candidates, batches, budget=8).failures  # a sequence can be looked through


def test_ctrl_c_returns_the_best_so_far() -> None:
    made = 0

    def interrupted() -> float:
        nonlocal made
        made += 1
        if made == 20:
            raise KeyboardInterrupt
        return 0.2

    result = rs.select({"a": interrupted, "b": lambda: 0.5}, budget=500)
    assert result.interrupted
    assert result.name == "a"
    assert result.spent < 500
    assert "interrupted" in str(result)


def test_what_if() -> None:
    result = rs.select(models(), (X, Y), budget=100, random_state=0)
    now, more, less = (result.what_if(budget=b) for b in (100, 400, 40))
    assert now[0] == pytest.approx(result.loss)
    assert more[0] <= now[0]
    assert more[2] - more[1] > now[2] - now[1]
    assert less[1] < less[0] < less[2]


def test_what_if_is_about_the_best_choice_at_that_budget() -> None:
    """With more, another candidate would win; with less, another had the lowest losses."""

    def falling(alpha: float, beta: float):
        return (alpha / s**0.5 + beta for s in range(1, 10_000))

    result = rs.select({"quick": falling(0.1, 0.3), "slow": falling(2.0, 0.05)}, budget=60, policy=rs.RoundRobin())
    assert result.name == "quick"
    assert result.what_if(budget=20)[0] == pytest.approx(np.mean(result.history.losses("quick")[16:20]))
    result = rs.select({"quick": falling(0.1, 0.3), "slow": falling(2.0, 0.05)}, budget=60)
    assert min(result.what_if(budget=5_000)) < 0.2


def test_history(tmp_path) -> None:
    result = rs.select(models(), (X, Y), budget=60, random_state=0)
    columns = result.history.to_dict()
    assert sum(columns["times"]) == 60
    assert columns["spent"] == np.cumsum([0, *columns["times"][:-1]]).tolist()
    result.history.to_csv(tmp_path / "history.csv")
    assert len((tmp_path / "history.csv").read_text().splitlines()) == len(result.history) + 1
    assert result.history[0].losses == result.history[:1][0].losses


def test_callbacks_see_every_block() -> None:
    seen = []
    rs.select({"a": lambda: 0.3, "b": lambda: 0.4}, budget=30, callbacks=[lambda moment: seen.append(moment.over)])
    assert seen.count(True) == 1
    assert seen[-1]
    assert len(seen) > 5


@pytest.mark.parametrize("policy", [rs.SuccessiveHalving(), rs.RoundRobin(), rs.RestSure(0.5)])
def test_any_policy(policy: rs.Policy) -> None:
    result = rs.select(models(), (X, Y), budget=60, policy=policy, random_state=0)
    assert result.spent == 60
    assert result.explain()
    assert result.what_if(budget=80)[0] == pytest.approx(result.loss)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"candidates": {}}, "candidates: must not be empty"),
        ({"candidates": [MultinomialNB()]}, "candidates: must be a dictionary of learners by name, not list"),
        ({"candidates": {"": MultinomialNB()}}, "names must be text that is not empty, but one is ''"),
        ({"candidates": {3: MultinomialNB()}}, "but one is 3"),
        ({"candidates": {"a": 3}}, r"candidates\['a'\]=int: must have partial_fit, warm_start, learn_one or train"),
        ({"candidates": {"a": MultinomialNB}}, "must be an object, not a class"),
        ({"budget": 1}, "budget=1: must be at least 2, one training step for each candidate"),
        ({"budget": 0}, "budget=0: must be at least 1"),
        ({"budget": -5}, "budget=-5: must be at least 1"),
        ({"budget": "10"}, "budget='10': must be a whole number"),
        ({"batch_size": 0}, "batch_size=0: must be at least 1"),
        ({"data": (X, Y[:-1])}, "data: X and y must have as many rows, but have 1797 and 1796"),
        ({"data": (np.full((20, 2), np.nan), np.zeros(20))}, "data: X must be finite"),
        ({"data": (np.empty((0, 2)), np.empty(0))}, "data: must have at least one row"),
        ({"data": (X, Y[:, None])}, "data: y must be one number or label a row"),
        ({"data": (X, np.full(len(X), "2026-01-01", "M8[D]"))}, "data: y must be numbers or labels, not datetime64"),
        ({"data": []}, "data: must have at least one batch"),
        ({"data": [(X, Y, Y)]}, "data: batch 0 must be a pair"),
        ({"data": 5}, "data: must be .*, not int"),
        ({"data": None}, r"candidates\['a'\]=MultinomialNB: needs data, but data is None"),
        ({"loss": "accuracy"}, "loss='accuracy': must be one of 'zero_one'"),
        ({"loss": 3}, "loss=3: must be a name, a function"),
        ({"data": (X, Y.astype(str)), "loss": "squared"}, "loss='squared': must be one of labels for 'a', since"),
        ({"data": (X, Y.astype(str).astype(object)), "loss": "absolute"}, "loss='absolute': must be one of labels"),
        ({"validation": X}, "validation: must be a pair"),
        ({"validation": (X, Y[:4])}, "validation: X and y must have as many rows"),
        ({"policy": "halving"}, "policy='halving': must be of kind Policy"),
        ({"random_state": -1}, "random_state=-1: must be at least 0"),
    ],
)
def test_bad_input(arguments, message) -> None:
    plain = {"candidates": {"a": MultinomialNB(), "b": BernoulliNB()}, "data": (X, Y), "budget": 20}
    merged = plain | arguments
    with pytest.raises(rs.InvalidParameter, match=message):
        rs.select(merged.pop("candidates"), merged.pop("data"), **merged)


@pytest.mark.parametrize("value", [math.nan, math.inf, np.array([0.1]), "low", None, True])
def test_a_bad_loss_is_named(value) -> None:
    def bad(y_true, y_pred):
        return value

    with pytest.raises(rs.NoArmLeft, match="loss bad: must be"):
        rs.select({"a": MultinomialNB()}, (X, Y), budget=5, loss=bad)

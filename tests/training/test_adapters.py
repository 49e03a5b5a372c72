"""What single kinds of candidates need."""

import numpy as np
import pandas as pd
import pytest
from river import compose, feature_extraction, linear_model, naive_bayes
from scipy import sparse
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import IncrementalPCA
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import restsure as rs

RNG = np.random.default_rng(0)
LABELS = np.array(["rare", *["often"] * 60, *["seldom"] * 9])
FEATURES = np.c_[LABELS == "rare", LABELS == "often"] + RNG.normal(0, 0.1, (len(LABELS), 2))


@pytest.mark.parametrize("kind", ["arrays", "batches"])
@pytest.mark.parametrize(
    "model",
    [
        BaggingClassifier(n_estimators=1, random_state=0),
        ExtraTreesClassifier(n_estimators=1, random_state=0),
        GradientBoostingClassifier(n_estimators=1, random_state=0),
        HistGradientBoostingClassifier(max_iter=1, random_state=0),
        LogisticRegression(),
        RandomForestClassifier(n_estimators=1, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_warm_start_knows_every_class_from_the_first_step(model, kind: str) -> None:
    """The first batches lack a class or two: the model is trained all the same, and knows them all."""
    data = (FEATURES, LABELS)
    if kind == "batches":
        data = [(FEATURES[k::10], LABELS[k::10]) for k in reversed(range(10))]
    for seed in range(3):
        result = rs.select({"model": model}, data, budget=4, batch_size=4, random_state=seed, progress=False)
        assert not result.failures
        assert result.model.classes_.tolist() == ["often", "rare", "seldom"]
        assert result.model.predict_proba(FEATURES).shape == (70, 3)


def test_trees_in_a_pipeline_stay_where_features_do() -> None:
    """What comes before them learns the first batch, and is then as it was; each pull adds its rounds all the same."""
    x, y = FEATURES * [1, 1000], LABELS
    model = make_pipeline(StandardScaler(), GradientBoostingClassifier(n_estimators=2, random_state=0))
    batches = [(x[part], y[part]) for part in np.array_split(np.arange(len(y)), 5)]
    grown = rs.select({"model": model}, batches, classes=np.unique(y), budget=5, progress=False).model
    seen = np.concatenate([batches[0][0], *(x[y == label][:1] for label in np.setdiff1d(y, batches[0][1]))])
    assert np.array_equal(grown[0].mean_, StandardScaler().fit(seen).mean_)
    assert len(grown[-1].estimators_) == 10
    assert (grown.predict(x) == y).mean() >= 0.9
    assert not hasattr(model[0], "mean_")


def test_a_category_that_comes_later_is_its_candidates_failure() -> None:
    x = np.array([["a"], ["b"]] * 10 + [["c"]] * 10)
    batches = [(x[k : k + 10], np.arange(10) % 2) for k in (0, 10, 20)]
    result = rs.select(
        {
            "strict": make_pipeline(OneHotEncoder(), GradientBoostingClassifier(n_estimators=2)),
            "lenient": make_pipeline(
                OneHotEncoder(handle_unknown="ignore"), GradientBoostingClassifier(n_estimators=2)
            ),
        },
        batches,
        budget=6,
        policy=rs.RoundRobin(),
        progress=False,
    )
    assert result.name == "lenient"
    assert "Found unknown categories" in result.failures["strict"]


class InSteps(SGDClassifier):
    """Has a parameter of the name that a pipeline gives to its parts."""

    def __init__(self, steps: int = 2):
        super().__init__(random_state=0)
        self.steps = steps


def test_an_estimator_with_steps_is_no_pipeline() -> None:
    assert rs.select({"model": InSteps()}, (FEATURES, LABELS), budget=4, progress=False).model.steps == 2


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_warm_start_adds_rounds_and_keeps_each_sample_once() -> None:
    """Trees are counted from the start, iterations of a solver from the last fit; later passes bring no new samples."""
    sizes = list[int]()

    class Counting(LogisticRegression):
        def fit(self, x, y):
            sizes.append(len(y))
            return super().fit(x, y)

    solver = rs.select({"a": Counting(max_iter=7)}, (FEATURES, LABELS), budget=8, batch_size=20, progress=False).model
    assert solver.max_iter == 7
    assert len(LABELS) >= sizes[-1] == sizes[3]  # three batches of 20 make a pass of 70
    boosted = HistGradientBoostingClassifier(max_iter=2)
    assert rs.select({"a": boosted}, (FEATURES, LABELS), budget=5, batch_size=20, progress=False).model.n_iter_ == 10


@pytest.mark.parametrize("kind", ["list", "array", "series"])
def test_texts_are_texts_for_models_of_river(kind: str) -> None:
    texts, liked = ["good and nice", "bad and poor", "nice", "poor indeed"] * 30, [True, False] * 60
    x = {"list": texts, "array": np.array(texts), "series": pd.Series(texts, index=range(100, 220))}[kind]
    candidates = {
        "words": feature_extraction.BagOfWords() | naive_bayes.MultinomialNB(),
        "pairs": feature_extraction.BagOfWords(ngram_range=(2, 2)) | naive_bayes.MultinomialNB(),
    }
    result = rs.select(candidates, (x, liked), budget=40, batch_size=5, random_state=0)
    assert not result.failures
    assert result.name == "words"
    assert result.model.predict_one("nice") is True


def test_sparse_rows_and_dictionaries_for_models_of_river() -> None:
    """What a sparse row does not have, the model is not shown."""
    dense = RNG.integers(0, 3, (80, 6)) * (RNG.random((80, 6)) < 0.4)
    seen = list[dict[int, int]]()

    class Looks(naive_bayes.MultinomialNB):
        def learn_one(self, x: dict[int, int], y: bool) -> None:
            seen.append(x)
            super().learn_one(x, y)

    labels = dense[:, 0] > 0
    for x in (sparse.csr_array(dense), sparse.coo_matrix(dense)):
        seen.clear()
        rs.select({"only": Looks()}, (x, labels), budget=4, batch_size=20, random_state=0)
        assert sum(map(len, seen)) == np.count_nonzero(dense)
        assert all(value for row in seen for value in row.values())
    rows = [{"first": float(row[0]), "kind": "a" if row[1] else "b"} for row in dense]
    linear = compose.Select("first") | linear_model.LogisticRegression()
    assert rs.select({"only": linear}, (rows, labels), budget=16, batch_size=5, random_state=0).loss < 0.5


@pytest.mark.parametrize(
    ("candidate", "must"),
    [
        (IncrementalPCA(), r"candidates\['odd'\]=IncrementalPCA: must have predict$"),
        (feature_extraction.BagOfWords(), "BagOfWords: must have predict_one"),
        (MiniBatchKMeans(), "MiniBatchKMeans: must be a classifier or a regressor, unless loss= says how it is judged"),
        (IsolationForest(warm_start=True), "IsolationForest: must be a classifier or a regressor"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_judged_is_named(candidate, must: str) -> None:
    with pytest.raises(rs.WrongType, match=must):
        rs.select({"sgd": SGDClassifier(), "odd": candidate}, (FEATURES, LABELS), budget=10)


def test_a_loss_of_the_users_own_can_judge_clusters() -> None:
    candidates = {str(k): MiniBatchKMeans(k, random_state=0) for k in (2, 3)}

    def apart(labels: np.ndarray, found: np.ndarray) -> float:
        return float(np.mean([found[labels == label].std() for label in np.unique(labels)]))

    result = rs.select(candidates, (FEATURES, LABELS), budget=10, loss=apart, batch_size=20)
    assert not result.failures

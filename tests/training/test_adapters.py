"""What single kinds of candidates need."""

import numpy as np
import pytest
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, SGDClassifier

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

"""LightGBM, XGBoost and CatBoost as candidates: what a pull adds to them, by which seeds, and where they are trained."""

from pathlib import Path
from typing import Any

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline

import restsure as rs
from restsure.errors import InvalidParameter, WrongType
from restsure.training.saving.model_file import model_bytes
from restsure.training.saving.trust import Trust, Untrusted
from tests.training.zoo import learner

QUIET: dict[str, Any] = {"verbose": False, "allow_writing_files": False, "thread_count": 1}
X, Y = load_digits(return_X_y=True)
NAMED = np.array([f"digit {y}" for y in Y])


def light(**parameters: Any) -> Any:
    return lightgbm.LGBMClassifier(**{"n_estimators": 2, "verbose": -1, "n_jobs": 1} | parameters)


def extreme(**parameters: Any) -> Any:
    return xgboost.XGBClassifier(**{"n_estimators": 2, "max_depth": 3, "n_jobs": 1} | parameters)


def cat(**parameters: Any) -> Any:
    return catboost.CatBoostClassifier(**{"iterations": 2, "depth": 3} | QUIET | parameters)


CANDIDATES = {"light": light, "extreme": extreme, "cat": cat}
each = pytest.mark.parametrize("make", CANDIDATES.values(), ids=CANDIDATES)


def rounds(model: Any) -> int:
    if isinstance(model, lightgbm.LGBMModel):
        return model.booster_.current_iteration()
    return model.tree_count_ if isinstance(model, catboost.CatBoost) else model.get_booster().num_boosted_rounds()


@pytest.mark.parametrize(
    ("model", "more", "data"),
    [
        (light(), {"n_estimators": 12}, load_digits(return_X_y=True)),
        (extreme(), {"n_estimators": 12}, load_digits(return_X_y=True)),
        (
            cat(learning_rate=0.3, bootstrap_type="No", random_strength=0),
            {"iterations": 12},
            load_digits(return_X_y=True),
        ),
        (lightgbm.LGBMRegressor(n_estimators=2, verbose=-1), {"n_estimators": 12}, load_diabetes(return_X_y=True)),
        (xgboost.XGBRegressor(n_estimators=2), {"n_estimators": 12}, load_diabetes(return_X_y=True)),
        (
            catboost.CatBoostRegressor(2, learning_rate=0.3, bootstrap_type="No", random_strength=0, **QUIET),
            {"iterations": 12},
            load_diabetes(return_X_y=True),
        ),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else "",
)
def test_pulls_on_all_data_are_the_rounds_of_one_fit(model: Any, more: dict[str, int], data: Any) -> None:
    """To the bit where nothing is drawn: six pulls of two rounds are twelve rounds."""
    x, y = data
    grown = rs.select({"model": model}, [(x, y)], budget=6, validation=(x, y), progress=False).model
    whole = clone(model).set_params(**more).fit(x, y)
    assert rounds(grown) == rounds(whole) == 12
    predict = "predict_proba" if hasattr(whole, "predict_proba") else "predict"
    assert np.array_equal(getattr(grown, predict)(x), getattr(whole, predict)(x))


@each
def test_each_pull_takes_other_features(make: Any) -> None:
    """By one seed for every pull, LightGBM would take the same three of thirty all the time."""
    x, y = load_breast_cancer(return_X_y=True)
    some = {"rsm": 0.1, "iterations": 1, "depth": 1} if make is cat else {"colsample_bytree": 0.1, "n_estimators": 1}
    model = rs.select({"model": make(**some)}, [(x, y)], budget=12, validation=(x, y), progress=False).model
    assert rounds(model) == 12
    assert np.count_nonzero(model.feature_importances_) > 6


@each
def test_a_candidate_does_not_depend_on_others(make: Any) -> None:
    """XGBoost draws from one place for all models of a process."""
    some = {"rsm": 0.3} if make is cat else {"colsample_bytree": 0.3, "subsample": 0.5}
    alone, first, second = (learner(make(**some), "two classes") for _ in range(3))
    losses, turns = alone.train(5), [[], []]
    for _ in range(5):
        turns[0] += first.train(1)
        turns[1] += second.train(1)
    assert turns == [losses, losses]


@each
@pytest.mark.parametrize("data", ["digits", "names", "two"])
def test_knows_every_class_from_the_first_step(make: Any, data: str) -> None:
    """The first batch lacks some, and is shown one sample of each; XGBoost takes numbers from zero only, and says so."""
    y = {"digits": Y, "names": NAMED, "two": (Y > 8).astype(int)}[data]
    candidates = {"model": make(), "other": SGDClassifier(random_state=0)}
    result = rs.select(candidates, (X, y), budget=12, batch_size=7, loss="zero_one", random_state=0, progress=False)
    if make is extreme and data == "names":
        assert "Invalid classes inferred from unique values of `y`" in result.failures["model"]
        return
    assert not result.failures
    alone = rs.select({"model": make()}, (X, y), budget=3, batch_size=7, loss="log", random_state=0, progress=False)
    assert alone.model.predict_proba(X).shape == (len(X), len({*y.tolist()}))
    assert all(np.isfinite(alone.history.losses("model")))


def test_columns_of_categories() -> None:
    """In a data frame, each library by its own setting; scikit-learn's clone refuses CatBoost with such columns."""
    draw = np.random.default_rng(0)
    town, age = draw.choice(list("abcde"), 600), draw.integers(18, 80, 600)
    x, y = (
        pd.DataFrame({"town": pd.Categorical(town), "age": age}),
        (np.isin(town, ["a", "c"]) & (age > 40)).astype(int),
    )
    by_name = cat(cat_features=["town"], learning_rate=0.5)
    candidates = {
        "light": light(learning_rate=0.5),
        "extreme": extreme(enable_categorical=True, learning_rate=0.5),
        "cat": by_name,
        "pipeline": make_pipeline("passthrough", by_name),
    }
    result = rs.select(candidates, (x, y), budget=40, batch_size=120, policy=rs.RoundRobin(), progress=False)
    assert not result.failures
    assert all(result.history.losses(name)[-1] < 0.05 for name in candidates)
    assert not by_name.is_fitted()


def test_a_seed_by_any_name() -> None:
    for name in ("random_state", "random_seed"):
        for seed in (0, 5):
            one = learner(cat(**{name: seed}), "two classes")
            one.train(3)
            assert one.model.get_params()[name] == seed + 2
    unseeded = learner(light(), "two classes")
    unseeded.train(1)
    assert unseeded.model.get_params() == light().get_params()


@pytest.mark.parametrize("seed", [np.random.RandomState(1), np.random.default_rng(1)], ids=["RandomState", "Generator"])
def test_a_generator_is_no_seed(seed: Any) -> None:
    what = f"XGBClassifier: random_state must be None or a number, since a {type(seed).__name__} is drawn from"
    with pytest.raises(InvalidParameter, match=what):
        rs.select({"model": extreme(random_state=seed)}, (X, Y), budget=3)


@each
def test_needs_data(make: Any) -> None:
    with pytest.raises(WrongType, match="needs data, but data is None"):
        rs.select({"model": make()}, budget=3)


def test_trained_in_processes() -> None:
    """Where their threads are those of a process that has not begun any."""
    candidates = {"light": light(n_jobs=2), "extreme": extreme(n_jobs=2), "cat": cat(thread_count=2)}
    settings: dict[str, Any] = {"budget": 18, "batch_size": 200, "random_state": 0, "progress": False}
    here = rs.select(candidates, (X, Y), **settings)
    there = rs.select(candidates, (X, Y), executor=rs.ProcessExecutor(workers=1), **settings)
    assert not here.failures
    assert list(here.history) == list(there.history)
    assert (here.model.predict(X) == there.model.predict(X)).all()


class Stopped(BaseException):
    """Ends a run where it stands."""


@pytest.mark.filterwarnings("ignore:.* cannot be saved without pickle:RuntimeWarning")
@pytest.mark.parametrize("pickled", [False, True], ids=["made again", "pickled"])
def test_a_run_that_was_stopped_goes_on(pickled: bool, tmp_path: Path) -> None:
    candidates = {name: make() for name, make in CANDIDATES.items()}
    settings: dict[str, Any] = {"budget": 30, "batch_size": 100, "random_state": 0, "progress": False}
    kept = rs.Checkpoints(share=1.0, pickle=pickled)

    def stop(moment: Any) -> None:
        if not moment.over and sum(moment.game.pulls) >= 20:
            raise Stopped

    never_stopped = rs.select(candidates, (X, Y), **settings)
    with pytest.raises(Stopped):
        rs.select(candidates, (X, Y), run_dir=tmp_path, checkpoints=kept, callbacks=[stop], **settings)
    result = rs.select(candidates, (X, Y), run_dir=tmp_path, checkpoints=kept, **settings)
    assert list(result.history) == list(never_stopped.history)
    assert (result.model.predict(X) == never_stopped.model.predict(X)).all()
    assert any("cannot be saved without pickle" in note for note in result.notes) is not pickled


@each
def test_another_version_is_another_learner(make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = learner(make(), "two classes")
    one.pickled = True
    one.train(1)
    one.save(tmp_path)
    library = type(one.model).__module__.partition(".")[0]
    monkeypatch.setattr(f"{library}.__version__", "0.0")
    with pytest.raises(InvalidParameter, match=r"is of another learner, of version '[\d.]+', not '0.0'"):
        learner(make(), "two classes").load(tmp_path)


@each
def test_no_file_makes_one(make: Any) -> None:
    """Their compiled readers can be crashed by what they read, also within an estimator of scikit-learn."""
    model = BaggingClassifier(make(), n_estimators=1, random_state=0)
    trust = Trust(model)
    kinds = [type(make()), type(make()).__mro__[1], lightgbm.Booster, xgboost.Booster]
    for kind in kinds:
        if kind.__module__.startswith("sklearn"):
            continue
        with pytest.raises(Untrusted):
            trust.find_class(f"{kind.__module__}:{kind.__qualname__}")
    with pytest.raises(InvalidParameter, match="BaggingClassifier: cannot be saved without pickle"):
        model_bytes(model.fit(X, Y), like=model)

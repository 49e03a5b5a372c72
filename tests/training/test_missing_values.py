"""NaN in X: refused where nobody takes it; else whoever does goes on, and the others are out."""

from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
from river import tree
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import restsure as rs
from restsure.errors import InvalidParameter
from restsure.integrations.sklearn import SelectiveClassifier

X, Y = load_breast_cancer(return_X_y=True)
GAPS = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)


def imputed() -> Any:
    return make_pipeline(SimpleImputer(), StandardScaler(), SGDClassifier(random_state=0))


def boosted() -> Any:
    return lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1)


def scaled() -> Any:
    return make_pipeline(StandardScaler(), SGDClassifier())


@pytest.mark.parametrize(
    "data",
    [
        (GAPS, Y),
        (pd.DataFrame(GAPS), Y),
        [(GAPS[k : k + 16], Y[k : k + 16]) for k in range(0, 560, 16)],
    ],
    ids=["array", "frame", "batches"],
)
def test_whoever_takes_it_goes_on(data: Any) -> None:
    others = {"bayes": GaussianNB(), "scaled": scaled(), "tree": tree.HoeffdingTreeClassifier()}
    candidates = {"imputed": imputed(), "boosted": boosted()} | others
    result = rs.select(candidates, data, budget=60, random_state=0)
    assert result.name in ("imputed", "boosted")
    assert set(result.failures) == set(others)
    assert all("NaN" in reason for reason in result.failures.values())
    assert sum(result.pulls[name] for name in others) == 0
    assert result.loss < 0.1


@pytest.mark.parametrize("candidate", [GaussianNB(), scaled(), tree.HoeffdingTreeClassifier()])
def test_refused_where_nobody_takes_it(candidate: Any) -> None:
    with pytest.raises(InvalidParameter, match="data: X must be finite, but has NaN or infinite entries"):
        rs.select({"a": candidate}, (GAPS, Y), budget=20)
    with pytest.raises(InvalidParameter, match="validation: X must be finite"):
        rs.select({"a": candidate}, (X, Y), validation=(GAPS, Y), budget=20)


def test_infinite_entries_and_targets_are_refused_all_the_same() -> None:
    with pytest.raises(InvalidParameter, match="data: X must be finite or NaN, but has infinite entries"):
        rs.select({"a": imputed()}, (np.where(np.isnan(GAPS), np.inf, X), Y), budget=20)
    with pytest.raises(InvalidParameter, match="data: y must be finite"):
        rs.select({"a": imputed()}, (GAPS, np.where(Y, np.nan, 0.0)), budget=20)


def test_held_back_rows_may_have_it_too() -> None:
    result = rs.select({"imputed": imputed(), "bayes": GaussianNB()}, (GAPS, Y), budget=40, validation=0.2)
    assert (result.name, set(result.failures)) == ("imputed", {"bayes"})


def test_imputers_are_found_where_columns_are_chosen() -> None:
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    model = make_pipeline(ColumnTransformer([("numbers", numbers, ["0", "1", "2"])]), SGDClassifier(random_state=0))
    frame = pd.DataFrame(GAPS, columns=[str(k) for k in range(GAPS.shape[1])])
    assert rs.select({"a": model}, (frame, Y), budget=40, random_state=0).loss < 0.3


def test_the_estimator_takes_it_if_a_candidate_does() -> None:
    both = [("boosted", HistGradientBoostingClassifier(max_iter=3)), ("imputed", imputed())]
    model = SelectiveClassifier(both, budget=30, random_state=0).fit(GAPS, Y)
    assert model.score(GAPS, Y) > 0.9
    with pytest.raises(ValueError, match="SelectiveClassifier does not accept missing values"):
        SelectiveClassifier([("scaled", scaled())], budget=30).fit(GAPS, Y)

"""Selection as a scikit-learn estimator."""

import pickle
import re
import subprocess
import sys

import numpy as np
import pandas
import pytest
import scipy.sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier, is_regressor
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, load_digits
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
)
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import Perceptron, SGDClassifier, SGDRegressor
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import estimator_html_repr, get_tags
from sklearn.utils.estimator_checks import check_dataframe_column_names_consistency, parametrize_with_checks

import restsure as rs
from restsure.integrations.sklearn import SelectiveClassifier, SelectiveRegressor

X, Y = load_digits(return_X_y=True)
SEEN, LEARNT = X[:1200], Y[:1200]
NEW, TRUTH = X[1200:], Y[1200:]
SLOW_SVM = SGDClassifier(loss="log_loss", learning_rate="constant", eta0=0.01)
CHECKED = [
    SelectiveClassifier(
        [("svm", SGDClassifier()), ("bayes", GaussianNB()), ("perceptron", Perceptron())], budget=20, random_state=0
    ),
    SelectiveClassifier(
        [
            ("logistic", make_pipeline(StandardScaler(), SLOW_SVM)),
            ("network", MLPClassifier(8, learning_rate_init=0.03)),
        ],
        budget=16,
        loss="log",
        random_state=0,
    ),
    SelectiveClassifier(
        [("boosting", GradientBoostingClassifier(n_estimators=1)), ("forest", RandomForestClassifier(1, max_depth=4))],
        budget=8,
        random_state=0,
    ),
    SelectiveRegressor(
        [("linear", SGDRegressor()), ("network", MLPRegressor(hidden_layer_sizes=8, learning_rate_init=0.1))],
        budget=20,
        random_state=0,
    ),
    SelectiveRegressor(
        [
            ("linear", SGDRegressor()),
            ("passive", SGDRegressor("epsilon_insensitive", learning_rate="pa1", penalty=None)),
        ],
        budget=20,
        policy=rs.SuccessiveHalving(),
        random_state=0,
    ),
    SelectiveRegressor(
        [
            ("boosting", GradientBoostingRegressor(n_estimators=2, learning_rate=0.3)),
            ("forest", RandomForestRegressor(1)),
        ],
        budget=8,
        random_state=0,
    ),
]


def digits(**parameters) -> SelectiveClassifier:
    """Four classifiers of digits, one of which sees only black."""
    candidates = [
        ("bayes", MultinomialNB()),
        ("bernoulli", BernoulliNB(binarize=8)),
        ("perceptron", Perceptron()),
        ("blind", BernoulliNB(binarize=99)),
    ]
    return SelectiveClassifier(candidates, **({"budget": 80, "random_state": 0} | parameters))


class Broken(ClassifierMixin, BaseEstimator):
    """Learns ``steps`` batches, and breaks down."""

    def __init__(self, steps: int = 0):
        self.steps = steps

    def partial_fit(self, X, y, classes=None):
        self.made_ = getattr(self, "made_", 0) + 1
        if self.made_ > self.steps:
            raise RuntimeError("out of luck")
        return self

    def predict(self, X):
        return np.zeros(len(X))


@pytest.mark.filterwarnings("ignore:. of . candidates have failed:sklearn.exceptions.FitFailedWarning")
@parametrize_with_checks(CHECKED)
def test_scikit_learns_own_checks(estimator, check, monkeypatch) -> None:
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # without it one of them skips itself
    check(estimator)


@pytest.mark.parametrize("estimator", CHECKED)
def test_scikit_learns_check_of_column_names(estimator) -> None:
    """Not among those above, since scikit-learn runs it on its own estimators only; here no candidate may fail."""
    check_dataframe_column_names_consistency(type(estimator).__name__, estimator)


def test_beats_the_worst_candidate() -> None:
    model = digits().fit(SEEN, LEARNT)
    alone = {
        name: SelectiveClassifier([(name, candidate)], budget=80, random_state=0).fit(SEEN, LEARNT).score(NEW, TRUTH)
        for name, candidate in model.estimators
    }
    assert alone["blind"] == min(alone.values()) < 0.2
    assert model.score(NEW, TRUTH) > sorted(alone.values())[1]
    assert model.best_name_ != "blind"
    assert model.best_estimator_ is model.result_.model
    np.testing.assert_array_equal(model.predict(NEW), model.best_estimator_.predict(NEW))
    assert model.classes_.tolist() == list(range(10))
    assert model.n_features_in_ == 64
    assert not hasattr(model, "feature_names_in_")


def test_regression() -> None:
    x, y = load_diabetes(return_X_y=True)
    candidates = [
        (f"rate {rate:g}", make_pipeline(StandardScaler(), SGDRegressor(learning_rate="constant", eta0=rate)))
        for rate in (1e-5, 1e-2)
    ]
    model = SelectiveRegressor(candidates, random_state=0).fit(x[:300], y[:300])
    assert model.best_name_ == "rate 0.01"
    assert model.score(x[300:], y[300:]) > 0.3
    assert is_regressor(model)
    assert not is_classifier(model)
    assert not hasattr(model, "predict_proba")


def test_budget_is_spent_exactly() -> None:
    assert sum(digits(budget=50).fit(X, Y).result_.pulls.values()) == 50
    assert sum(digits(budget=None).fit(X, Y).result_.pulls.values()) == 4 * 32
    dropped = digits(budget=None).set_params(blind="drop").fit(X, Y)
    assert set(dropped.result_.pulls) == {"bayes", "bernoulli", "perceptron"}
    assert sum(dropped.result_.pulls.values()) == 3 * 32


def test_parameters_of_select_are_passed_on() -> None:
    seen = []

    def remember(y_true, y_pred) -> float:
        seen.append(len(y_true))
        return float(np.mean(y_true != y_pred))

    model = digits(budget=12, batch_size=7, loss=remember, policy=rs.RoundRobin()).fit(X, Y)
    assert seen == [7] * 12
    assert set(model.result_.pulls.values()) == {3}
    with pytest.raises(rs.InvalidParameter, match="budget='soon'"):
        digits(budget="soon").fit(X, Y)


def test_one_seed_makes_all_of_it_repeatable() -> None:
    """Random states that candidates leave open too; those they have stay, and candidates themselves are not touched."""

    def fitted(random_state) -> SelectiveClassifier:
        candidates = [("network", MLPClassifier(8)), ("svm", SGDClassifier(random_state=7))]
        return SelectiveClassifier(candidates, budget=20, random_state=random_state).fit(SEEN, LEARNT)

    one, two, other = fitted(0), fitted(np.random.RandomState(0)), fitted(1)
    assert one.result_.history.to_dict() == two.result_.history.to_dict() != other.result_.history.to_dict()
    np.testing.assert_array_equal(one.predict(NEW), two.predict(NEW))
    assert one.estimators[0][1].random_state is None
    only = SelectiveClassifier([("svm", SGDClassifier(random_state=7))], budget=5, random_state=3).fit(SEEN, LEARNT)
    assert only.best_estimator_.random_state == 7
    rng = np.random.RandomState(0)
    assert [fitted(rng).result_.history.to_dict() == one.result_.history.to_dict() for _ in range(2)] == [True, False]


def test_nested_parameters() -> None:
    model = SelectiveClassifier([("svm", make_pipeline(StandardScaler(), SGDClassifier())), ("bayes", GaussianNB())])
    model.set_params(svm__sgdclassifier__alpha=0.5, bayes__var_smoothing=0.1, budget=9)
    params = model.get_params()
    assert params["svm__sgdclassifier__alpha"] == 0.5
    assert params["bayes"].var_smoothing == 0.1
    assert params["budget"] == 9
    assert set(model.get_params(deep=False)) == {
        "estimators", "budget", "batch_size", "loss", "validation_fraction", "policy", "progress", "random_state",
    }  # fmt: skip
    model.set_params(bayes=BernoulliNB(), bayes__alpha=3)
    assert repr(dict(model.estimators)["bayes"]) == "BernoulliNB(alpha=3)"
    copy = clone(model).set_params(bayes__alpha=4)
    assert model.get_params()["bayes__alpha"] == 3
    assert copy.get_params()["bayes__alpha"] == 4
    with pytest.raises(ValueError, match="Invalid parameter 'tree'"):
        model.set_params(tree__depth=3)


def test_grid_search_over_a_nested_parameter() -> None:
    grid = {"blind__binarize": [99, 8], "bayes": ["drop", MultinomialNB()], "budget": [24]}
    search = GridSearchCV(digits(), grid, cv=2, scoring="accuracy").fit(SEEN, LEARNT)
    assert len(search.cv_results_["params"]) == 4
    assert search.score(NEW, TRUTH) > 0.75
    assert search.best_estimator_.result_.spent == 24


def test_in_a_pipeline_and_below_others() -> None:
    model = make_pipeline(StandardScaler(), SelectiveClassifier([("svm", SGDClassifier()), ("bayes", GaussianNB())]))
    model.set_params(selectiveclassifier__budget=20, selectiveclassifier__random_state=0)
    assert cross_val_score(model, X[:, 20:44], Y, cv=2).min() > 0.6
    stacked = StackingClassifier([("selected", digits(budget=20))], final_estimator=GaussianNB(), cv=2)
    assert stacked.fit(SEEN, LEARNT).score(NEW, TRUTH) > 0.5
    with config_context(enable_metadata_routing=True):
        assert GridSearchCV(digits(), {"budget": [20]}, cv=2).fit(SEEN, LEARNT).score(NEW, TRUTH) > 0.7


def test_pickling() -> None:
    unfitted = pickle.loads(pickle.dumps(digits()))
    assert repr(unfitted) == repr(digits())
    for policy in (None, rs.SuccessiveHalving(), rs.RestSure(0.5)):
        model = digits(policy=policy).fit(SEEN, LEARNT)
        copy = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(copy.predict(NEW), model.predict(NEW))
        assert copy.result_.explain() == model.result_.explain()
        assert copy.result_.what_if(budget=200) == model.result_.what_if(budget=200)


def test_data_frames_reach_the_candidates() -> None:
    """Columns by name and of any kind, in pipelines that ask for them."""
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"size": rng.normal(size=300), "colour": rng.choice(["red", "green", "blue"], size=300)})
    label = np.where((frame["colour"] == "red") ^ (frame["size"] > 1.5), "yes", "no")
    by_name = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["colour"]), (StandardScaler(), ["size"])
    )
    blind = make_column_transformer((StandardScaler(), ["size"]))
    candidates = [("both", make_pipeline(by_name, SGDClassifier())), ("blind", make_pipeline(blind, SGDClassifier()))]
    model = SelectiveClassifier(candidates, random_state=0).fit(frame, pandas.Series(label))
    assert model.best_name_ == "both"
    assert model.score(frame, label) > 0.9
    assert model.feature_names_in_.tolist() == ["size", "colour"]
    assert set(model.predict(frame)) == {"yes", "no"} == set(model.classes_)
    with pytest.raises(ValueError, match="Feature names must be in the same order as they were in fit"):
        model.predict(frame[["colour", "size"]])
    with pytest.raises(ValueError, match="Input X contains NaN"):
        SelectiveClassifier([("bayes", GaussianNB())]).fit(frame[["size"]], label).predict(frame[["size"]] * np.nan)
    with pytest.raises(ValueError, match="Input contains NaN"):
        model.fit(frame.assign(size=np.nan), label)
    with pytest.raises(ValueError, match="Input X contains NaN.\nSelectiveClassifier does not accept missing values"):
        model.fit(frame[["size"]] * np.nan, label)


def test_a_frame_gives_what_its_values_give() -> None:
    frame = pandas.DataFrame(X, columns=[f"pixel {k}" for k in range(64)])
    of_frame, of_array = digits().fit(frame, Y), digits().fit(X, Y)
    assert of_frame.result_.history.to_dict() == of_array.result_.history.to_dict()
    assert of_frame.best_estimator_.feature_names_in_[1] == of_frame.feature_names_in_[1] == "pixel 1"


@pytest.mark.parametrize("form", [scipy.sparse.csr_matrix, scipy.sparse.csc_array, scipy.sparse.coo_array])
def test_sparse(form) -> None:
    model = digits().fit(form(SEEN), LEARNT)
    assert model.result_.history.to_dict() == digits().fit(SEEN, LEARNT).result_.history.to_dict()
    np.testing.assert_array_equal(model.predict(form(NEW)), model.predict(NEW))


def test_labels_of_text() -> None:
    """The same run as with numbers, and losses see the labels as they were given."""
    names = np.array(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"], dtype=object)
    seen = []

    def remember(y_true, y_pred) -> float:
        seen.extend({*y_true, *y_pred})
        return float(np.mean(y_true != y_pred))

    model = digits(loss=remember).fit(SEEN, names[LEARNT])
    assert set(seen) <= set(names)
    assert model.classes_.tolist() == sorted(names)
    assert model.score(NEW, names[TRUTH]) > 0.8
    bayes = digits().set_params(perceptron="drop", bernoulli="drop", blind="drop")
    np.testing.assert_allclose(
        bayes.fit(SEEN, names[LEARNT]).predict_proba(NEW)[:, np.argsort(np.argsort(names))],
        bayes.fit(SEEN, LEARNT).predict_proba(NEW),
    )


def test_methods_are_there_if_the_winner_has_them() -> None:
    """Before fitting, if every candidate has them: scikit-learn asks an estimator before it fits it."""
    methods = ["predict_proba", "predict_log_proba", "decision_function"]

    def found(model) -> list[str]:
        return [method for method in methods if hasattr(model, method)]

    bayes, svm, guess = GaussianNB(), SGDClassifier(), SGDClassifier(learning_rate="constant", eta0=1e-12)
    assert found(SelectiveClassifier([("bayes", bayes), ("svm", svm)])) == []
    assert found(SelectiveClassifier([("bayes", bayes), ("svm", "drop")])) == methods[:2]
    assert found(SelectiveClassifier([("guess", guess), ("svm", svm)])) == methods[2:]
    assert found(SelectiveClassifier([])) == found(SelectiveClassifier(None)) == []
    x, y = X[Y < 3][:, 20:44], Y[Y < 3]
    won_by_bayes = SelectiveClassifier([("bayes", bayes), ("guess", guess)], random_state=0).fit(x, y)
    assert won_by_bayes.best_name_ == "bayes"
    assert found(won_by_bayes) == methods[:2]
    np.testing.assert_allclose(won_by_bayes.predict_proba(x).sum(axis=1), 1)
    np.testing.assert_allclose(np.exp(won_by_bayes.predict_log_proba(x)), won_by_bayes.predict_proba(x))
    won_by_svm = SelectiveClassifier([("svm", svm), ("guess", guess)], random_state=0).fit(x, y)
    assert found(won_by_svm) == methods[2:]
    assert won_by_svm.decision_function(x).shape == (len(x), 3)
    with pytest.raises(AttributeError, match="has no attribute 'predict_proba'"):
        won_by_svm.predict_proba(x)
    with pytest.raises(NotFittedError):
        digits().predict(X)


@pytest.mark.parametrize("steps", [0, 1])
def test_a_failing_candidate_is_named(steps: int) -> None:
    model = digits().set_params(estimators=[*digits().estimators, ("broken", Broken(steps))])
    with pytest.warns(
        FitFailedWarning, match="1 of 5 candidates have failed: broken: RuntimeError: out of luck"
    ) as caught:
        model.fit(SEEN, LEARNT)
    assert caught[0].filename == __file__
    assert model.best_name_ != "broken"
    assert set(model.result_.failures) == {"broken"}
    assert model.score(NEW, TRUTH) > 0.8


def test_all_failing_is_an_error() -> None:
    message = "estimators: all 2 candidates have failed: a: RuntimeError: out of luck; b: RuntimeError: out of luck"
    with pytest.raises(rs.InvalidParameter, match=message) as caught:
        SelectiveClassifier([("a", Broken()), ("b", Broken(3))]).fit(X, Y)
    assert isinstance(caught.value.__cause__, rs.NoArmLeft)


def test_interruption_keeps_the_best_so_far() -> None:
    made = 0

    def interrupted(y_true, y_pred) -> float:
        nonlocal made
        made += 1
        if made == 30:
            raise KeyboardInterrupt
        return float(np.mean(y_true != y_pred))

    with pytest.warns(UserWarning, match="fit was interrupted and keeps the best so far: .* interrupted"):
        model = digits(loss=interrupted).fit(SEEN, LEARNT)
    assert model.result_.interrupted
    assert model.score(NEW, TRUTH) > 0.5


@pytest.mark.parametrize(
    ("estimators", "message"),
    [
        ([], "estimators: must have at least one estimator"),
        ([("a", "drop")], "estimators: must have at least one estimator"),
        (None, "estimators: must be a list of pairs (name, estimator)"),
        ({"a": GaussianNB()}, "estimators: must be a list of pairs (name, estimator)"),
        ([GaussianNB()], "estimators: must be a list of pairs (name, estimator)"),
        ([("a", GaussianNB(), 1)], "estimators: must be a list of pairs (name, estimator)"),
        ([("a", GaussianNB()), ("a", GaussianNB())], "all different and none of batch_size, budget, "),
        ([("a__b", GaussianNB())], "estimators: names must be text without '__', "),
        ([("budget", GaussianNB())], "but one is 'budget'"),
        ([("", GaussianNB())], "but one is ''"),
        ([(3, GaussianNB())], "but one is 3"),
        ([("a", 3)], "estimators['a']=int: must be a classifier or 'drop'"),
        ([("a", None)], "estimators['a']=NoneType: must be a classifier or 'drop'"),
        (
            [("a", GaussianNB)],
            "estimators['a']=<class 'sklearn.naive_bayes.GaussianNB'>: must be a classifier or 'drop'",
        ),
        ([("a", SGDRegressor())], "estimators['a']=SGDRegressor: must be a classifier or 'drop'"),
        ([("a", KNeighborsClassifier())], "candidates['a']=KNeighborsClassifier: must have partial_fit, warm_start"),
    ],
)
def test_bad_lists_of_estimators(estimators, message) -> None:
    """Said by ``fit`` only, in one line: until then parameters may be anything."""
    model = SelectiveClassifier(estimators)
    assert repr(clone(model)) == repr(model)
    with pytest.raises(rs.InvalidParameter, match=re.escape(message)) as caught:
        model.fit(X, Y)
    assert "\n" not in str(caught.value)


def test_regressors_are_no_classifiers() -> None:
    with pytest.raises(rs.WrongType, match="=GaussianNB: must be a regressor or 'drop'"):
        SelectiveRegressor([("a", GaussianNB())]).fit(X, Y)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        SelectiveClassifier([("a", GaussianNB())]).fit(X, X[:, 2] + 0.5)


def test_tags_follow_the_candidates() -> None:
    """Whoever cannot take the data drops out, so one that can is enough."""

    def tags(*candidates):
        return get_tags(SelectiveClassifier([(str(k), one) for k, one in enumerate(candidates)])).input_tags

    assert tags(SGDClassifier(), GaussianNB()).sparse
    assert not tags(GaussianNB(), "drop").sparse
    assert tags(MultinomialNB(), ComplementNB()).positive_only
    assert not tags(MultinomialNB(), SGDClassifier()).positive_only
    assert not get_tags(SelectiveClassifier(None)).input_tags.positive_only


def test_display() -> None:
    """All candidates side by side, and once fitted the winner as it was trained."""
    model = digits().set_params(blind="drop")
    before = estimator_html_repr(model)
    assert all(name in before for name in ("SelectiveClassifier", "bernoulli", "MultinomialNB", "Perceptron"))
    shown = model.fit(SEEN, LEARNT)._sk_visual_block_()
    assert (shown.kind, shown.names) == ("parallel", ("bayes", "bernoulli", "perceptron", "blind"))
    assert shown.estimators[shown.names.index(model.best_name_)] is model.best_estimator_
    assert "SelectiveClassifier" in estimator_html_repr(SelectiveClassifier([]))


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_nothing_of_it_is_imported_unasked() -> None:
    assert run("import sys, restsure, restsure.integrations; print('sklearn' in sys.modules)") == "False\n"


def test_without_scikit_learn_the_extra_is_named() -> None:
    code = """
import sys
sys.modules["sklearn"] = None
try:
    import restsure.integrations.sklearn
except ImportError as error:
    print(error)
"""
    assert run(code) == (
        "restsure.integrations.sklearn needs scikit-learn 1.6 or newer: pip install 'restsure[sklearn]'\n"
    )


def test_a_share_can_be_held_back_to_judge_on() -> None:
    """After some passes the batches are known by heart; what was held back is not."""
    x, y = load_digits(return_X_y=True)
    noisy = np.where(np.random.default_rng(0).random(len(y)) < 0.3, (y + 1) % 10, y)
    models = [("tree", DecisionTreeWithPartialFit())]
    losses = {
        share: SelectiveClassifier(models, budget=60, batch_size=64, validation_fraction=share, random_state=0)
        .fit(x, noisy)
        .result_.loss
        for share in (None, 0.3)
    }
    assert losses[None] < 0.05 < 0.3 < losses[0.3]
    with pytest.raises(rs.InvalidParameter, match="validation_fraction=1.5"):
        SelectiveClassifier(models, validation_fraction=1.5).fit(x, y)


class DecisionTreeWithPartialFit(DecisionTreeClassifier):
    """Remembers everything it has seen."""

    def partial_fit(self, x, y, classes=None):
        self.seen_ = [*getattr(self, "seen_", []), (x, y)]
        return self.fit(*(np.concatenate(parts) for parts in zip(*self.seen_, strict=True)))

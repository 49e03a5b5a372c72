"""Selection inside river: its own checks, one model a sample, the budget, failures, and what comes out."""

import copy
import itertools
import math
import pickle
import random
import subprocess
import sys

import pytest
from river import (
    base,
    checks,
    compose,
    datasets,
    ensemble,
    evaluate,
    forest,
    linear_model,
    metrics,
    naive_bayes,
    neighbors,
    optim,
    preprocessing,
    tree,
)
from river.checks.model_selection import check_model_selection_order_does_not_matter

import restsure as rs
from restsure.integrations.river import SelectiveClassifier, SelectiveRegressor

BANANAS = list(datasets.Bananas().take(1600))
PHISHING = list(datasets.Phishing())


def scaled(model: base.Estimator) -> compose.Pipeline:
    return preprocessing.StandardScaler() | model


def shuffled(samples, seed: int = 0):
    return random.Random(seed).sample(samples, len(samples))


def classifiers() -> list[base.Classifier]:
    return [
        scaled(linear_model.LogisticRegression()),
        naive_bayes.GaussianNB(),
        tree.HoeffdingTreeClassifier(grace_period=50),
        scaled(neighbors.KNNClassifier(n_neighbors=5, engine=neighbors.SWINN(seed=0))),
    ]


def rates() -> list[base.Regressor]:
    return [linear_model.LinearRegression(optimizer=optim.SGD(rate)) for rate in (1e-5, 1e-3, 1e-2)]


def learn(model, samples):
    for x, y in samples:
        model.learn_one(x, y)
    return model


def error(model, samples) -> float:
    return sum(model.predict_one(x) != y for x, y in samples) / len(samples)


def distance(model, samples) -> float:
    return sum(abs(model.predict_one(x) - y) for x, y in samples) / len(samples)


# river's own checks


def subjects() -> list[base.Estimator]:
    found = [cls(**params) for cls in (SelectiveClassifier, SelectiveRegressor) for params in cls._unit_test_params()]
    many = [naive_bayes.GaussianNB(), tree.HoeffdingTreeClassifier(grace_period=20)]
    return [*found, SelectiveClassifier(many, metrics.MacroF1(), 150)]


def river_checks():
    for k, model in enumerate(subjects()):
        for n, check in enumerate(checks.yield_checks(model)):
            if check.__name__ not in model._unit_test_skips():
                yield pytest.param(model, check, id=f"{model}-{k}-{n}-{check.__name__}")


@pytest.mark.parametrize(("model", "check"), list(river_checks()))
def test_river_checks(model, check) -> None:
    random.seed(0)  # some of them draw from the global generator
    check(model.clone())


def test_the_order_of_models_does_not_matter_where_they_are_far_apart() -> None:
    """It is among those skipped, since in another order models get other samples; of these regressors one is far ahead."""
    for params in SelectiveRegressor._unit_test_params():
        model = SelectiveRegressor(**params)
        check_model_selection_order_does_not_matter(model, datasets.TrumpApproval().take(200))


# one model a sample, within the budget


class Recorded(naive_bayes.GaussianNB):
    """Remembers which samples it was shown."""

    def __init__(self):
        super().__init__()
        self.learnt, self.predicted = [], []

    def learn_one(self, x, y):
        self.learnt.append(x["number"])
        super().learn_one(x, y)

    def predict_one(self, x):
        self.predicted.append(x["number"])
        return super().predict_one(x)


@pytest.mark.parametrize("policy", [None, rs.SuccessiveHalving(), rs.RoundRobin(), rs.RestSure(0.5), rs.UCBE()])
def test_every_sample_trains_one_model_and_after_the_budget_the_winner(policy) -> None:
    models = [Recorded() for _ in range(3)]
    model = SelectiveClassifier(models, metrics.Accuracy(), 205, batch_size=10, policy=policy)
    for number in range(300):
        assert model.finished == (number >= 200)  # no other pull fits into the last five
        model.learn_one({"number": number, "a": number % 7}, number % 3 == 0)
    everything = sorted(number for one in models for number in one.learnt)
    assert everything == list(range(300))
    assert sum(model.pulls.values()) == 20
    winner = model.best_model
    assert set(range(200, 300)) <= set(winner.learnt)
    for one, pulls in zip(models, model.pulls.values(), strict=True):
        during = [number for number in one.learnt if number < 200]
        assert during == one.predicted
        assert len(during) == 10 * pulls > 0
        assert all(during[k + 9] == during[k] + 9 for k in range(0, len(during), 10))


@pytest.fixture
def told(monkeypatch):
    """What the game is told: (arm, loss) a pull."""
    heard, tell = [], rs.Game.tell

    def listen(game, arm, losses):
        heard.append((arm, *losses))
        tell(game, arm, losses)

    monkeypatch.setattr(rs.Game, "tell", listen)
    return heard


@pytest.mark.parametrize("metric", [metrics.Accuracy(), metrics.F1(), metrics.LogLoss(), metrics.CrossEntropy()])
def test_a_loss_is_the_metric_of_predictions_made_before_learning(metric, told) -> None:
    """As river evaluates: predict, then learn, and no judgement where there is no prediction yet."""
    learn(SelectiveClassifier(classifiers()[1:3], metric, 64, batch_size=16), PHISHING[:16])
    value = evaluate.progressive_val_score(PHISHING[:16], naive_bayes.GaussianNB(), metric.clone()).get()
    assert told == [(0, 1 - value if metric.bigger_is_better else value)]
    assert told[0][1] > 0


def test_losses_of_regressors(told) -> None:
    numbers = [({"time": x["time"]}, y) for x, y in datasets.ChickWeights()][:40]
    learn(SelectiveRegressor(rates(), metrics.R2(), 160, batch_size=20), numbers)
    value = evaluate.progressive_val_score(numbers[:20], rates()[0], metrics.R2()).get()
    assert told[0] == (0, 1 - value)
    assert len(told) == 2


def test_the_metric_given_is_left_alone() -> None:
    metric = metrics.Accuracy()
    learn(SelectiveClassifier(classifiers(), metric, 100, batch_size=5), PHISHING[:60])
    assert metric.cm.n_samples == 0


# what comes out


def test_is_nearly_as_good_as_the_best_on_bananas() -> None:
    samples = shuffled(BANANAS)
    train, test = samples[:1200], samples[1200:]
    candidates = [*classifiers(), forest.AMFClassifier(n_estimators=5, seed=0)]
    alone = [error(learn(model.clone(), train), test) for model in candidates]
    model = learn(SelectiveClassifier(candidates, metrics.Accuracy(), len(train)), train)
    assert model.finished
    assert error(model, test) < sum(alone) / len(alone) - 0.1
    assert error(model, test) < min(alone) + 0.05
    assert max(model.pulls.values()) > 0.4 * sum(model.pulls.values())


def test_is_far_better_than_the_mean_regressor() -> None:
    """Targets around 40 are scaled, as they would be for any of river's selectors."""
    samples = shuffled(list(datasets.TrumpApproval()))
    train, test = samples[:700], samples[700:]
    knn = neighbors.KNNRegressor(n_neighbors=5, engine=neighbors.SWINN(seed=0))
    candidates = [scaled(model) for model in (*rates(), linear_model.PARegressor(), knn)]
    alone = [distance(learn(preprocessing.TargetStandardScaler(one.clone()), train), test) for one in candidates]
    selector = SelectiveRegressor(candidates, metrics.MAE(), len(train))
    model = learn(preprocessing.TargetStandardScaler(selector), train)
    assert selector.finished
    assert distance(model, test) < 0.6 * sum(alone) / len(alone)


def test_in_a_pipeline_judged_by_river() -> None:
    selector = SelectiveRegressor(rates(), metrics.MAE(), 600)
    model = preprocessing.StandardScaler() | selector
    score = evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    assert selector.finished
    assert score.get() < 6  # from 40 on, with three models to bring down


def test_many_classes() -> None:
    samples = shuffled(list(datasets.ImageSegments().take(900)))
    models = [
        naive_bayes.GaussianNB(),
        scaled(linear_model.SoftmaxRegression()),
        scaled(neighbors.KNNClassifier(engine=neighbors.SWINN(seed=0))),
    ]
    model = learn(SelectiveClassifier(models, metrics.MacroF1(), 600, batch_size=20), samples[:600])
    assert model._multiclass
    assert error(model, samples[600:]) < 0.35
    assert sum(model.predict_proba_one(samples[0][0]).values()) == pytest.approx(1)


def test_classifiers_without_probabilities() -> None:
    votes = [ensemble.VotingClassifier(classifiers()[:3]), ensemble.VotingClassifier(classifiers()[1:])]
    model = learn(SelectiveClassifier(votes, metrics.Accuracy(), 160), PHISHING[:200])
    assert error(model, PHISHING[200:400]) < 0.3
    with pytest.raises(NotImplementedError):
        model.predict_proba_one(PHISHING[0][0])


def test_a_selector_can_be_a_candidate() -> None:
    inner = SelectiveClassifier(
        [naive_bayes.GaussianNB(), naive_bayes.BernoulliNB()], metrics.Accuracy(), 64, batch_size=8
    )
    model = learn(SelectiveClassifier([inner, classifiers()[0]], metrics.Accuracy(), 320), PHISHING[:400])
    assert sum(inner.pulls.values()) > 0
    assert error(model, PHISHING[400:600]) < 0.4


def test_what_it_says() -> None:
    models = [*classifiers()[1:], naive_bayes.GaussianNB()]
    model = SelectiveClassifier(models, metrics.Accuracy(), 320, batch_size=8)
    assert model.best_model is models[0]
    assert model.explain().startswith("After 0 of 40 pulls. Every arm is pulled")
    learn(model, PHISHING[:200])
    names = ["GaussianNB [0]", "HoeffdingTreeClassifier", "StandardScaler | KNNClassifier", "GaussianNB [3]"]
    assert list(model.names) == list(model.pulls) == names
    assert sum(model.pulls.values()) == 25
    assert any(f"{name} is next" in model.explain() for name in names)
    learn(model, PHISHING[200:400])
    assert model.explain().startswith("After 40 of 40 pulls. The budget is spent.")
    assert f"{model.names[models.index(model.best_model)]} is returned" in model.explain()
    assert not model.failures


def state(model) -> tuple:
    return model.pulls, model.finished, model.explain(), [model.predict_proba_one(x) for x, _ in PHISHING[:5]]


def test_is_deterministic_and_can_be_copied_at_any_time() -> None:
    def start() -> SelectiveClassifier:
        return SelectiveClassifier(classifiers(), metrics.Accuracy(), 300, batch_size=8, seed=1)

    whole, halfway = learn(start(), PHISHING[:400]), learn(start(), PHISHING[:173])  # in the middle of a pull
    copies = [halfway, copy.deepcopy(halfway), pickle.loads(pickle.dumps(halfway))]
    copies.append(halfway.clone(include_attributes=True))
    assert all(state(learn(one, PHISHING[173:400])) == state(whole) for one in copies)


def test_a_clone_has_learnt_nothing() -> None:
    policy = rs.HorizonLCB(patience=0.5)
    model = SelectiveClassifier(classifiers(), metrics.F1(), 300, batch_size=8, policy=policy, seed=3)
    fresh, before = model.clone(), copy.deepcopy(model)
    again = learn(model, PHISHING[:200]).clone()
    assert sum(again.pulls.values()) == 0
    assert (again.budget, again.batch_size, again.policy, again.seed) == (300, 8, policy, 3)
    assert state(again) == state(fresh) == state(before)
    assert state(learn(again, PHISHING[:200])) == state(model)
    assert model.clone({"budget": 400}).budget == 400


# what goes wrong


class Breaks(linear_model.LinearRegression):
    """Does ``what`` from its sample number ``at`` on."""

    def __init__(self, at: int = 0, what: object = None, learning: bool = False):
        super().__init__(optimizer=optim.SGD(1e-3))
        self.at, self.what, self.learning, self.count = at, what, learning, 0

    def predict_one(self, x):
        if self.count < self.at or self.learning:
            return super().predict_one(x)
        if isinstance(self.what, Exception):
            raise self.what
        return self.what

    def learn_one(self, x, y):
        if self.learning and self.count >= self.at:
            raise self.what
        self.count += 1
        super().learn_one(x, y)


def line(count: int):
    return (({"a": k % 10}, 2.0 * (k % 10)) for k in itertools.islice(itertools.count(), count))


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (Breaks(12, ValueError("out of luck")), "ValueError: out of luck"),
        (Breaks(14, ZeroDivisionError("by zero"), learning=True), "ZeroDivisionError: by zero"),
        (Breaks(4, math.nan), "InvalidLoss: MAE=nan: must be finite"),
        (Breaks(19, -math.inf), "InvalidLoss: MAE=inf: must be finite"),
        (Breaks(0, None), "InvalidLoss: no prediction in 10 samples"),
    ],
)
@pytest.mark.parametrize("place", [0, 1])
def test_a_model_that_fails_is_out(bad, reason, place) -> None:
    good = [linear_model.LinearRegression(optimizer=optim.SGD(rate)) for rate in (1e-2, 1e-3)]
    models = [*good[:place], bad.clone(), *good[place:]]
    model = SelectiveRegressor(models, metrics.MAE(), 200, batch_size=10)
    with pytest.warns(RuntimeWarning, match=f"^Breaks is out: {reason}$") as caught:
        learn(model, line(200))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert model.failures == {"Breaks": reason}
    assert reason in model.explain()
    assert model.best_model in good
    assert model.finished
    assert 180 <= 10 * sum(model.pulls.values()) <= 200
    assert models[place].count < 40


def test_samples_of_a_failed_pull_are_spent() -> None:
    models = [Breaks(3, ValueError("no")), *rates()[1:]]
    model = SelectiveRegressor(models, metrics.MAE(), 200, batch_size=10)
    with pytest.warns(RuntimeWarning, match="Breaks is out"):
        learn(model, line(193))  # three learnt and one not, then 18 pulls and nine samples
    assert not model.finished
    learn(model, itertools.islice(line(194), 193, None))
    assert model.finished
    assert sum(model.pulls.values()) == 19
    assert model.explain().endswith(
        "No other pull fits in the budget of 200 samples: those of failed pulls are spent too."
    )


def test_the_first_model_may_fail_before_any_is_judged() -> None:
    models = [Breaks(0, ValueError("no")), *rates()]
    model = SelectiveRegressor(models, metrics.MAE(), 200)
    with pytest.warns(RuntimeWarning, match="Breaks is out: ValueError: no"):
        learn(model, line(1))
    assert model.best_model is models[1]
    assert model.predict_one({"a": 1}) == 0


def test_all_fail() -> None:
    model = SelectiveRegressor([Breaks(0, ValueError("no")), Breaks(0, TypeError("never"))], metrics.MAE(), 100)
    with pytest.warns(RuntimeWarning, match="Breaks .0. is out: ValueError: no"):
        learn(model, line(1))
    message = r"^all 2 models have failed: Breaks \[0\]: ValueError: no; Breaks \[1\]: TypeError: never$"
    with pytest.raises(rs.NoArmLeft, match=message) as caught:
        learn(model, line(1))
    assert isinstance(caught.value.__cause__, TypeError)
    for use in (lambda: learn(model, line(1)), lambda: model.predict_one({"a": 1})):
        with pytest.raises(rs.NoArmLeft, match=message):
            use()
    assert model.finished


def test_after_the_budget_the_winner_is_kept_whatever_it_is_given() -> None:
    """It is then a river model like any other: what it raises is for the caller, and it stays."""
    model = learn(SelectiveRegressor(rates(), metrics.MAE(), 200), line(200))
    winner = model.best_model
    with pytest.raises(TypeError):
        model.learn_one({"a": "text"}, 1.0)
    assert model.best_model is winner
    assert not model.failures
    learn(model, line(10))


TWICE = naive_bayes.GaussianNB()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"models": []}, "models: must be at least 2, but there are 0"),
        ({"models": [naive_bayes.GaussianNB()]}, "models: must be at least 2, but there are 1"),
        ({"models": TWICE}, "models=.*: must be a list of river models"),
        ({"models": [TWICE, TWICE]}, r"models\[1\]=GaussianNB: must not be in the list twice"),
        ({"models": [TWICE, naive_bayes.GaussianNB]}, r"models\[1\]=GaussianNB: must be an object, not a class"),
        ({"models": [TWICE, rates()[0]]}, r"models\[1\]=LinearRegression: must be a model that Accuracy can judge"),
        ({"metric": metrics.MAE()}, r"models\[0\]=Pipeline: must be a model that MAE can judge"),
        ({"metric": metrics.Accuracy}, "metric=.*: must be a river metric whose value is one number"),
        ({"metric": "accuracy"}, "metric=str: must be a river metric whose value is one number"),
        ({"metric": metrics.ConfusionMatrix()}, "metric=ConfusionMatrix: must be a river metric whose value is one"),
        ({"metric": metrics.Accuracy() + metrics.F1()}, "metric=Metrics: must be a river metric whose value is one"),
        ({"budget": 63}, "budget=63: must be at least 64, batch_size=16 samples for each of 4 models"),
        ({"budget": 0}, "budget=0: must be at least 1"),
        ({"budget": 1e3}, "budget=1000.0: must be a whole number, not float"),
        ({"batch_size": 1}, "batch_size=1: must be at least 2"),
        ({"batch_size": None}, "batch_size=None: must be a whole number"),
        ({"policy": "halving"}, "policy='halving': must be of kind Policy, not str"),
        ({"seed": -1}, "seed=-1: must be at least 0"),
    ],
)
def test_bad_input(arguments, message) -> None:
    plain = {"models": classifiers(), "metric": metrics.Accuracy(), "budget": 400, "batch_size": 16}
    with pytest.raises(rs.InvalidParameter, match=f"^{message}") as caught:
        SelectiveClassifier(**plain | arguments)
    assert "\n" not in str(caught.value)


def run(code: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_without_river() -> None:
    code = "import sys; sys.modules['river'] = None; import restsure.integrations; import restsure.integrations.river"
    error = run(code).stderr.splitlines()[-1]
    assert error.endswith("MissingExtra: restsure.integrations.river needs river: pip install 'restsure[river]'")


def test_restsure_does_not_import_river() -> None:
    done = run("import sys, restsure, restsure.integrations; print('river' in sys.modules)")
    assert done.stdout == "False\n"

"""Models of all kinds that can be candidates, on small data, for what must hold of every one of them."""

import functools
import inspect
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import catboost
import lightgbm
import numpy as np
import pandas as pd
import scipy.sparse
import xgboost
from river import (
    api,
    bandit,
    base,
    compose,
    datasets,
    drift,
    dummy,
    ensemble,
    feature_extraction,
    feature_selection,
    forest,
    imblearn,
    metrics,
    model_selection,
    multiclass,
    neighbors,
    optim,
    preprocessing,
    stats,
    tree,
    utils,
)
from river import linear_model as river_linear
from river import naive_bayes as river_bayes
from sklearn import linear_model as linear
from sklearn import naive_bayes
from sklearn.cluster import MiniBatchKMeans
from sklearn.datasets import load_diabetes, load_digits
from sklearn.decomposition import IncrementalPCA, LatentDirichletAllocation, MiniBatchDictionaryLearning, MiniBatchNMF
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.neural_network import BernoulliRBM, MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    QuantileTransformer,
    StandardScaler,
)
from sklearn.random_projection import GaussianRandomProjection
from sklearn.tree import DecisionTreeRegressor

from restsure.training.adapters import BatchLearner, Judge, as_learner
from restsure.training.stream import ArrayStream

_X, _Y = load_digits(return_X_y=True)
_DX, _DY = load_diabetes(return_X_y=True)
_WORDS = random.Random(0)


def _letter(spam: bool) -> str:
    words = ["free", "win", "cash"] if spam and _WORDS.random() < 0.7 else ["hello", "how", "are", "you", "fine"]
    return " ".join(_WORDS.choice(words) for _ in range(8))


_SPAM = np.array([_WORDS.random() < 0.4 for _ in range(300)])
_LETTERS = [_letter(spam) for spam in _SPAM]


def _rows(dataset: Any, count: int) -> tuple[Any, Any]:
    rows = list(dataset.take(count))
    return np.array([x for x, _ in rows], object), np.array([y for _, y in rows])


DATA: dict[str, tuple[Any, Any]] = {
    "digits": (_X[:400] / 16, _Y[:400]),
    "two classes": (_X[:400] / 16, _Y[:400] > 4),
    "named classes": (_X[:400] / 16, np.array([f"digit {y}" for y in _Y[:400]])),
    "objects": (_X[:400] / 16, np.array([f"digit {y}" for y in _Y[:400]], object)),
    "sparse": (scipy.sparse.csr_matrix(_X[:400] / 16), _Y[:400]),
    "frame": (pd.DataFrame(_X[:400] / 16, columns=[f"pixel {k}" for k in range(64)]), _Y[:400]),
    "numbers": (_DX, (_DY - 150) / 77),
    "text": (np.array(_LETTERS, object), _SPAM),
    "dictionaries": (np.array([{word: text.count(word) for word in text.split()} for text in _LETTERS], object), _SPAM),
    "letters": (np.array([{"body": text} for text in _LETTERS], object), _SPAM),
    "phishing": _rows(datasets.Phishing(), 300),
    "segments": _rows(datasets.ImageSegments(), 300),
    "approval": _rows(datasets.TrumpApproval(), 300),
    "numbers above 0": (_DX, _DY),
    "named numbers": (np.array([{f"x{k}": v for k, v in enumerate(row[:5])} for row in _DX], object), (_DY - 150) / 77),
}

Candidate = tuple[str, Any, str]  # a name, a model, the data it is for


def learner(model: Any, data: str, *, batch_size: int = 40) -> BatchLearner:
    """A fresh one; what it draws from numpy's global generator, if it has no seed, is always the same."""
    np.random.seed(5)  # noqa: NPY002
    stream = ArrayStream(*DATA[data], batch_size=batch_size, seed=0)
    made = as_learner("model", model, Judge(stream, None, stream.classes()))
    assert isinstance(made, BatchLearner)
    return made


def partial_fit() -> Iterator[Candidate]:
    """Of scikit-learn, those with ``partial_fit`` and pipelines that end in one."""
    sgd = functools.partial(linear.SGDClassifier, random_state=0)
    margins = ("hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron")
    distances = ("squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive")
    for loss in (*margins, *distances):
        yield f"SGDClassifier {loss}", sgd(loss=loss), "digits"
    for rate in ("constant", "invscaling", "adaptive"):
        yield f"SGDClassifier {rate}", sgd(learning_rate=rate, eta0=0.1), "two classes"
    for penalty in ("l1", "elasticnet", None):
        yield f"SGDClassifier {penalty}", sgd(penalty=penalty), "digits"
    for data in ("digits", "two classes", "named classes", "objects", "sparse", "frame"):
        yield f"SGDClassifier average {data}", sgd(loss="log_loss", average=True), data
        yield f"MLPClassifier adam {data}", MLPClassifier((16,), random_state=0), data
        yield f"MultinomialNB {data}", naive_bayes.MultinomialNB(), data
    yield "SGDClassifier average late", sgd(average=150), "two classes"
    yield "SGDClassifier weights", sgd(class_weight={k: 1.0 + k for k in range(10)}), "digits"
    yield "SGDClassifier RandomState", linear.SGDClassifier(random_state=np.random.RandomState(5)), "digits"
    yield "SGDClassifier unseeded", linear.SGDClassifier(), "digits"
    yield "Perceptron", linear.Perceptron(random_state=0), "digits"
    yield (
        "PassiveAggressiveClassifier",
        _aged(linear.PassiveAggressiveClassifier, average=True, random_state=0),
        "digits",
    )
    for data in ("digits", "two classes"):
        yield f"ComplementNB {data}", naive_bayes.ComplementNB(), data
        yield f"BernoulliNB {data}", naive_bayes.BernoulliNB(binarize=0.4), data
        yield f"GaussianNB {data}", naive_bayes.GaussianNB(), data
    bins = KBinsDiscretizer(4, encode="ordinal", strategy="uniform")
    yield "CategoricalNB", make_pipeline(bins, naive_bayes.CategoricalNB(min_categories=4)), "digits"
    for seed in (0, np.random.RandomState(3), None):
        yield (
            f"MLPClassifier sgd {type(seed).__name__}",
            MLPClassifier((16,), solver="sgd", random_state=seed),
            "digits",
        )
    yield (
        "MLPClassifier adaptive",
        MLPClassifier((9, 8), solver="sgd", learning_rate="adaptive", random_state=0),
        "digits",
    )
    for name, *steps in (
        ("StandardScaler", StandardScaler()),
        ("MinMaxScaler", MinMaxScaler()),
        ("MaxAbsScaler", MaxAbsScaler()),
        ("IncrementalPCA", StandardScaler(), IncrementalPCA(6)),
        ("PolynomialFeatures", IncrementalPCA(4), PolynomialFeatures(2), StandardScaler()),
        ("MiniBatchKMeans", MiniBatchKMeans(12, random_state=0, n_init=1)),
        ("MiniBatchKMeans RandomState", MiniBatchKMeans(12, random_state=np.random.RandomState(1), n_init=1)),
        ("RBFSampler", RBFSampler(n_components=30, random_state=0)),
        ("Nystroem", Nystroem(n_components=20, random_state=0)),
        ("GaussianRandomProjection", GaussianRandomProjection(10, random_state=0)),
        ("SelectKBest", IncrementalPCA(20), SelectKBest(k=10)),
        ("FunctionTransformer", FunctionTransformer(np.log1p)),
        ("own function", FunctionTransformer(halved)),
        ("QuantileTransformer", QuantileTransformer(n_quantiles=10)),
        ("KBinsDiscretizer", KBinsDiscretizer(3, strategy="uniform")),
        ("MiniBatchDictionaryLearning", MiniBatchDictionaryLearning(4, random_state=0, max_iter=5)),
        ("MiniBatchNMF", MiniBatchNMF(4, random_state=0)),
        ("LatentDirichletAllocation", LatentDirichletAllocation(4, random_state=0)),
        ("BernoulliRBM", MinMaxScaler(clip=True), BernoulliRBM(8, random_state=0)),
        ("union", make_union(MinMaxScaler(), StandardScaler())),
        ("passthrough", "passthrough"),
    ):
        yield name, make_pipeline(*steps, sgd()), "digits"
    yield "unseeded pair", make_pipeline(MiniBatchKMeans(12, n_init=1), linear.SGDClassifier()), "digits"
    yield "unseeded network", make_pipeline(MiniBatchKMeans(12, n_init=1), MLPClassifier((8,))), "digits"
    yield "scaled network", make_pipeline(IncrementalPCA(6), MLPClassifier((8,), random_state=0)), "digits"
    yield "OneVsRest", OneVsRestClassifier(sgd()), "digits"
    yield "OneVsRest network", OneVsRestClassifier(MLPClassifier((3,))), "two classes"
    yield "OneVsOne", OneVsOneClassifier(sgd()), "two classes"
    yield "named pipeline", Pipeline([("a", None), ("b", StandardScaler()), ("c", sgd())]), "named classes"
    yield "HashingVectorizer", make_pipeline(HashingVectorizer(n_features=256), sgd()), "text"
    yield "CountVectorizer", make_pipeline(CountVectorizer(), naive_bayes.MultinomialNB()), "text"
    yield "TfidfVectorizer", make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), sgd()), "text"
    yield "FeatureHasher", make_pipeline(FeatureHasher(64), naive_bayes.BernoulliNB()), "dictionaries"
    for loss in distances:
        yield f"SGDRegressor {loss}", linear.SGDRegressor(loss=loss, random_state=0), "numbers"
    yield "SGDRegressor average", linear.SGDRegressor(average=True, random_state=0), "numbers"
    yield "SGDRegressor adaptive", linear.SGDRegressor(learning_rate="adaptive", random_state=0), "numbers"
    yield "PassiveAggressiveRegressor", _aged(linear.PassiveAggressiveRegressor, random_state=0), "numbers"
    for solver in ("sgd", "adam"):
        yield f"MLPRegressor {solver}", MLPRegressor(hidden_layer_sizes=(9,), solver=solver, random_state=0), "numbers"


def _aged(kind: Callable[..., Any], **parameters: Any) -> Any:
    with warnings.catch_warnings(action="ignore", category=FutureWarning):
        return kind(**parameters)


def halved(x: Any) -> Any:
    return x / 2


def warm_start() -> Iterator[Candidate]:
    """Of scikit-learn, those with ``warm_start``."""
    few: dict[str, Any] = {"n_estimators": 2, "max_depth": 4}
    for seed in (0, np.random.RandomState(1), None):
        name = type(seed).__name__
        yield f"RandomForestClassifier {name}", RandomForestClassifier(**few, random_state=seed), "digits"
        yield f"ExtraTreesClassifier {name}", ExtraTreesClassifier(**few, random_state=seed), "named classes"
        half = {"subsample": 0.7, "max_features": 0.5}
        yield (
            f"GradientBoosting {name}",
            GradientBoostingClassifier(n_estimators=1, random_state=seed, **half),
            "two classes",
        )
        hist = HistGradientBoostingClassifier(max_iter=1, random_state=seed, max_features=0.5)
        yield f"HistGradientBoosting {name}", hist, "two classes"
        yield f"BaggingClassifier {name}", BaggingClassifier(n_estimators=1, random_state=seed), "digits"
    yield (
        "GradientBoosting ten classes",
        GradientBoostingClassifier(n_estimators=1, max_depth=1, random_state=0),
        "digits",
    )
    yield (
        "GradientBoosting zero",
        GradientBoostingClassifier(init="zero", n_estimators=1, random_state=0),
        "two classes",
    )
    yield "HistGradientBoosting ten classes", HistGradientBoostingClassifier(max_iter=1, random_state=0), "digits"
    early = HistGradientBoostingClassifier(max_iter=1, random_state=0, early_stopping=True)
    yield "HistGradientBoosting early", early, "two classes"
    some = BaggingClassifier(linear.SGDClassifier(random_state=0), n_estimators=2, max_features=0.5, random_state=0)
    yield "BaggingClassifier SGD", some, "digits"
    forest = RandomForestClassifier(20, criterion="entropy", max_depth=3, oob_score=True, random_state=0)
    yield "RandomForestClassifier oob", forest, "two classes"
    for solver in ("lbfgs", "newton-cg", "sag", "saga"):
        yield (
            f"LogisticRegression {solver}",
            linear.LogisticRegression(solver=solver, max_iter=3, random_state=0),
            "digits",
        )
    yield "RandomForestRegressor", RandomForestRegressor(**few, random_state=0), "numbers"
    yield "ExtraTreesRegressor", ExtraTreesRegressor(**few, random_state=0), "numbers"
    for loss in ("squared_error", "absolute_error", "huber", "quantile"):
        yield (
            f"GradientBoostingRegressor {loss}",
            GradientBoostingRegressor(loss=loss, n_estimators=1, random_state=0),
            "numbers",
        )
    for loss in ("squared_error", "absolute_error"):
        yield f"HistGradientBoostingRegressor {loss}", HistGradientBoostingRegressor(loss=loss, max_iter=1), "numbers"
    trees = BaggingRegressor(DecisionTreeRegressor(max_depth=3), n_estimators=2, max_features=5, random_state=0)
    yield "BaggingRegressor", trees, "numbers"
    forest = RandomForestClassifier(**few, random_state=0)
    yield "pipeline", make_pipeline(StandardScaler(), IncrementalPCA(8), forest), "digits"
    yield "pipeline of a frame", Pipeline([("a", None), ("b", MinMaxScaler()), ("c", forest)]), "frame"
    yield "pipeline of text", make_pipeline(TfidfVectorizer(), linear.LogisticRegression(max_iter=3)), "text"
    yield "Lasso", linear.Lasso(alpha=0.01, max_iter=2), "numbers"
    yield "ElasticNet", linear.ElasticNet(alpha=0.01, max_iter=2, selection="random", random_state=0), "numbers"
    yield "HuberRegressor", linear.HuberRegressor(max_iter=5), "numbers"


def boosters() -> Iterator[Candidate]:
    """Of LightGBM, XGBoost and CatBoost, some that draw samples and features; XGBoost's classes are numbers from zero."""
    light: dict[str, Any] = {"n_estimators": 2, "verbose": -1, "subsample": 0.5, "subsample_freq": 1, "n_jobs": 1}
    extreme: dict[str, Any] = {"n_estimators": 2, "max_depth": 3, "subsample": 0.5, "n_jobs": 1}
    cat: dict[str, Any] = {
        "iterations": 2,
        "depth": 3,
        "verbose": False,
        "allow_writing_files": False,
        "thread_count": 1,
    }
    for seed in (7, None):
        name = type(seed).__name__
        yield (
            f"LGBMClassifier {name}",
            lightgbm.LGBMClassifier(colsample_bytree=0.2, random_state=seed, **light),
            "digits",
        )
        yield (
            f"XGBClassifier {name}",
            xgboost.XGBClassifier(colsample_bytree=0.2, random_state=seed, **extreme),
            "digits",
        )
    yield "CatBoostClassifier int", catboost.CatBoostClassifier(rsm=0.2, random_seed=7, **cat), "digits"
    yield "CatBoostClassifier NoneType", catboost.CatBoostClassifier(rsm=0.2, **cat), "two classes"
    for data in ("two classes", "sparse", "frame"):
        yield f"LGBMClassifier {data}", lightgbm.LGBMClassifier(**light), data
        yield f"XGBClassifier {data}", xgboost.XGBClassifier(**extreme), data
    yield "LGBMClassifier named classes", lightgbm.LGBMClassifier(**light), "named classes"
    yield "CatBoostClassifier named classes", catboost.CatBoostClassifier(**cat), "named classes"
    yield "CatBoostClassifier frame", catboost.CatBoostClassifier(**cat), "frame"
    yield "LGBMClassifier dart", lightgbm.LGBMClassifier(boosting_type="dart", **light), "two classes"
    scaled = make_pipeline(StandardScaler(), lightgbm.LGBMClassifier(colsample_bytree=0.2, **light))
    yield "LGBMClassifier pipeline", scaled, "digits"
    yield "XGBClassifier pipeline", make_pipeline("passthrough", xgboost.XGBClassifier(**extreme)), "digits"
    yield "CatBoostClassifier pipeline", make_pipeline(TfidfVectorizer(), catboost.CatBoostClassifier(**cat)), "text"
    yield "XGBRFClassifier", xgboost.XGBRFClassifier(**extreme), "two classes"
    yield "LGBMRegressor", lightgbm.LGBMRegressor(**light), "numbers"
    yield "XGBRegressor", xgboost.XGBRegressor(**extreme), "numbers"
    yield "XGBRegressor linear", xgboost.XGBRegressor(booster="gblinear", n_estimators=2), "numbers"
    yield "CatBoostRegressor", catboost.CatBoostRegressor(**cat), "numbers"


def river_models() -> Iterator[Candidate]:
    """Every classifier and regressor of river as its own tests make it, and what is made of them."""
    yield from _of_river()
    scaled = preprocessing.StandardScaler
    logistic, straight = river_linear.LogisticRegression, river_linear.LinearRegression
    adaptive = ("AdaBound", "AdaDelta", "AdaGrad", "AdaMax", "Adam", "AMSGrad", "Nadam", "RMSProp")
    for name in (*adaptive, "FTRLProximal", "Momentum", "NesterovMomentum", "SGD"):
        yield f"optimiser {name}", scaled() | logistic(getattr(optim, name)()), "phishing"
    yield "optimiser Averager", scaled() | logistic(optim.Averager(optim.SGD())), "phishing"
    yield "logistic l1", scaled() | logistic(l1=0.01), "phishing"
    yield "logistic schedule", scaled() | logistic(optim.SGD(optim.schedulers.InverseScaling(0.1))), "phishing"
    yield "linear from chance", scaled() | straight(initializer=optim.initializers.Normal(seed=3)), "approval"
    yield "softmax", scaled() | river_linear.SoftmaxRegression(optim.Adam()), "segments"
    for kind in (tree.splitter.EBSTSplitter, tree.splitter.TEBSTSplitter, tree.splitter.QOSplitter):
        grown = tree.HoeffdingTreeRegressor(grace_period=30, delta=0.1, splitter=kind())
        yield f"tree {kind.__name__}", grown, "approval"
    for kind in (tree.splitter.ExhaustiveSplitter, tree.splitter.HistogramSplitter, tree.splitter.GaussianSplitter):
        grown = tree.HoeffdingTreeClassifier(grace_period=30, delta=0.1, splitter=kind())
        yield f"tree {kind.__name__}", grown, "phishing"
    for kind in (drift.binary.DDM, drift.binary.EDDM, drift.binary.HDDMA, drift.binary.HDDMW):
        yield f"drift {kind.__name__}", drift.DriftRetrainingClassifier(scaled() | logistic(), kind()), "phishing"
    for detector in (drift.ADWIN(), drift.KSWIN(seed=0), drift.PageHinkley(), drift.NoDrift()):
        grown = forest.ARFClassifier(
            2, seed=0, grace_period=20, drift_detector=detector, warning_detector=detector.clone()
        )
        yield f"forest {type(detector).__name__}", grown, "phishing"
    yield "forest regression", forest.ARFRegressor(2, seed=0, grace_period=20), "approval"
    pruned = tree.HoeffdingAdaptiveTreeRegressor(grace_period=20, delta=0.1, seed=0, drift_detector=drift.PageHinkley())
    yield "adaptive tree", pruned, "approval"
    yield "neighbours", scaled() | neighbors.KNNClassifier(5, engine=neighbors.LazySearch(50)), "segments"
    city = functools.partial(utils.math.minkowski_distance, p=1)
    near = neighbors.LazySearch(window_size=50, dist_func=city)
    yield "neighbours of a window", neighbors.KNNRegressor(engine=near), "approval"
    for kind in ("Bagging", "ADWINBagging", "LeveragingBagging", "ADWINBoosting", "AdaBoost", "BOLE"):
        many = getattr(ensemble, f"{kind}Classifier")
        yield f"ensemble {kind}", many(scaled() | logistic(), n_models=3, seed=0), "phishing"
    boosted = ensemble.AdaBoostClassifier(tree.HoeffdingTreeClassifier(grace_period=30), n_models=2, seed=0)
    yield "ensemble of trees", boosted, "segments"
    both = [scaled() | logistic(), river_bayes.GaussianNB()]
    yield "stacking", ensemble.StackingClassifier(both, meta_classifier=logistic()), "phishing"
    even: dict[str, Any] = {"desired_dist": {False: 0.5, True: 0.5}, "seed": 0}
    for kind in (imblearn.RandomUnderSampler, imblearn.RandomOverSampler, imblearn.RandomSampler):
        yield f"sampled {kind.__name__}", kind(scaled() | logistic(), **even), "phishing"
    yield "hard samples", imblearn.HardSamplingClassifier(scaled() | logistic(), p=0.3, size=40, seed=0), "phishing"
    yield "scaled target", preprocessing.TargetStandardScaler(scaled() | straight()), "approval"
    yield "target by function", compose.TargetTransformRegressor(straight(), np.log, np.exp), "numbers above 0"
    own = compose.FuncTransformer(lambda x: {name: x[name] for name in x if name != "https"})
    yield "lambda", own | scaled() | logistic(), "phishing"
    for words in (feature_extraction.BagOfWords(on="body"), feature_extraction.TFIDF(on="body", ngram_range=(1, 2))):
        yield f"words {type(words).__name__}", words | river_bayes.MultinomialNB(), "letters"
    for part in (
        feature_extraction.PolynomialExtender(2),
        feature_extraction.RBFSampler(seed=0, n_components=20),
        feature_selection.VarianceThreshold(),
        preprocessing.MinMaxScaler(),
        preprocessing.MaxAbsScaler(),
        preprocessing.RobustScaler(),
        preprocessing.Normalizer(),
        preprocessing.AdaptiveStandardScaler(),
        preprocessing.FeatureHasher(n_features=8, seed=1),
        preprocessing.OneHotEncoder(),
        preprocessing.OrdinalEncoder(),
        preprocessing.StatImputer(),
        preprocessing.GaussianRandomProjector(4, seed=1),
        preprocessing.SparseRandomProjector(4, seed=1),
        scaled() + preprocessing.MinMaxScaler(),
    ):
        yield f"after {type(part).__name__}", part | logistic(), "phishing"
    best = feature_selection.SelectKBest(stats.PearsonCorr(), k=3)
    yield "best features", scaled() | best | straight(), "approval"
    for number in (
        stats.Quantile(0.3),
        stats.EWMean(0.3),
        stats.EWVar(0.3),
        stats.IQR(),
        stats.Kurtosis(),
        stats.Skew(),
        stats.PeakToPeak(),
        stats.RollingQuantile(0.5, 20),
        stats.RollingIQR(20),
        stats.RollingMax(10),
        stats.Mode(5),
        stats.MAD(),
        utils.Rolling(stats.Mean, window_size=20),
    ):
        yield f"statistic {type(number).__name__}", dummy.StatisticRegressor(number), "approval"
    codes = multiclass.OutputCodeClassifier(scaled() | logistic(), code_size=10, coding_method="random", seed=0)
    yield "output codes", codes, "segments"
    rates = [scaled() | logistic(optim.SGD(rate)) for rate in (0.1, 0.01)]
    halving = model_selection.SuccessiveHalvingClassifier(rates, metric=metrics.Accuracy(), budget=200)
    yield "successive halving", halving, "phishing"
    for policy in (bandit.EpsilonGreedy(0.1, seed=0), bandit.UCB(1.0, seed=0), bandit.Exp3(0.5, seed=0)):
        chosen = model_selection.BanditClassifier(rates, metric=metrics.Accuracy(), policy=policy)
        yield f"bandit {type(policy).__name__}", chosen, "phishing"


def _of_river() -> Iterator[Candidate]:
    modules = [module for module in vars(api).values() if inspect.ismodule(module)]
    kinds = {kind for module in modules for kind in vars(module).values() if inspect.isclass(kind)}
    for kind in sorted(kinds, key=lambda kind: f"{kind.__module__} {kind.__name__}"):
        learns = issubclass(kind, (base.Classifier, base.Regressor)) and not issubclass(kind, base.MultiTargetRegressor)
        if not learns or inspect.isabstract(kind) or kind.__name__ in NOT_HERE:
            continue
        for number, parameters in enumerate(kind._unit_test_params()):
            model = kind(**parameters)
            given = model._get_params()
            few = {"n_models": 2, "n_estimators": 2, "seed": number}  # so many make no difference
            model = model.clone({name: value for name, value in few.items() if name in given})
            data = "named numbers" if kind.__module__.startswith("river.facto") else "approval"
            yield f"{kind.__name__} {number}", model, data if issubclass(kind, base.Regressor) else "phishing"


NOT_HERE = {
    "AMRules": "is refused",
    "EntropySampler": "predicts pairs",
    "ZstdClassifier": "needs a later Python",
    **dict.fromkeys(
        ["RandomOverSampler", "RandomSampler", "RandomUnderSampler", "SuccessiveHalvingClassifier"], "has no parameters"
    ),
    **dict.fromkeys(["TargetTransformRegressor", "TargetMinMaxScaler", "TargetStandardScaler"], "has no parameters"),
}

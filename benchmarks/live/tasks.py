"""What is trained: twelve candidates by name, data to train on, data to test on, and how many samples a pull has."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from river import datasets, feature_extraction, forest, linear_model, naive_bayes, neighbors, optim, preprocessing, tree
from sklearn.datasets import load_breast_cancer, load_digits, make_classification, make_gaussian_quantiles, make_moons
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.neural_network import MLPClassifier

from restsure.simulation.suites.data import data_directory
from restsure.training.adapters import BatchLearner, Judge, as_learner
from restsure.training.stream import ArrayStream

MOST = 2.0  # of the variance: how wrong a model can be that ran away


@dataclass(frozen=True)
class Task:
    """One seed of one task. Pull s of any candidate is the s-th batch of the stream, whoever trains it."""

    make: Callable[[int], Mapping[str, Any]]
    seed: int
    size: int
    x: Any
    y: Any
    x_test: Any
    y_test: Any

    def candidates(self) -> Mapping[str, Any]:
        """Fresh ones, the same for everybody."""
        return self.make(self.seed)

    @cached_property
    def stream(self) -> ArrayStream:
        return ArrayStream(self.x, self.y, batch_size=self.size, seed=self.seed)

    def learner(self, name: str) -> BatchLearner:
        """A candidate that is trained pull by pull, and judged on the batch that comes next, as ``select`` does."""
        judge = Judge(self.stream, None, self.stream.classes())
        learner = as_learner(name, self.candidates()[name], judge)
        assert isinstance(learner, BatchLearner)
        return learner

    @property
    def numeric(self) -> bool:
        """Whether numbers are predicted, and not classes."""
        return bool(self.y.dtype.kind == "f")

    def error(self, model: Any) -> float:
        """On the test data, in percent: of the samples, or of the variance of the numbers, at most all of it twice."""
        if hasattr(model, "predict_one"):
            found = np.array([model.predict_one(row) for row in self.x_test])
        else:
            found = model.predict(self.x_test)
        if not self.numeric:
            return 100 * float(np.mean(found != self.y_test))
        with np.errstate(over="ignore", invalid="ignore"):  # of a model that ran away
            share = float(np.mean((found - self.y_test) ** 2) / np.var(self.y_test))
        return 100 * min(share, MOST) if share == share else 100 * MOST


def sklearn_learners(seed: int) -> dict[str, Any]:
    """Quick ones that lead early, and networks that end best."""
    network = lambda *sizes, rate=1e-3: MLPClassifier(sizes, batch_size=32, learning_rate_init=rate, random_state=seed)  # noqa: E731
    return {
        "SGD-log": SGDClassifier(loss="log_loss", random_state=seed),
        "SGD-hinge": SGDClassifier(random_state=seed),
        "SGD-log-const.01": SGDClassifier(loss="log_loss", learning_rate="constant", eta0=0.01, random_state=seed),
        "Perceptron": Perceptron(random_state=seed),
        "GaussianNB": GaussianNB(var_smoothing=0.01),
        "BernoulliNB": BernoulliNB(binarize=0.2),
        "MultinomialNB": MultinomialNB(),
        "MLP-32": network(32),
        "MLP-256": network(256),
        "MLP-256-128": network(256, 128),
        "MLP-256-slow": network(256, rate=1e-4),
        "MLP-64-64-64-fast": network(64, 64, 64, rate=1e-2),
    }


def river_learners(seed: int) -> dict[str, Any]:
    """Linear models, which are at their end after some samples, and neighbours, trees and forests, which are not."""
    scaler = preprocessing.StandardScaler
    logistic = lambda rate: linear_model.LogisticRegression(optim.SGD(rate))  # noqa: E731
    features = feature_extraction.RBFSampler(gamma=1, n_components=100, seed=seed)
    return {
        "logistic-.01": scaler() | logistic(0.01),
        "logistic-.1": scaler() | logistic(0.1),
        "logistic-.001": scaler() | logistic(0.001),
        "PA": scaler() | linear_model.PAClassifier(),
        "Perceptron": scaler() | linear_model.Perceptron(),
        "GaussianNB": naive_bayes.GaussianNB(),
        "KNN": scaler() | neighbors.KNNClassifier(engine=neighbors.SWINN(seed=seed)),
        "RBF-logistic": scaler() | features | logistic(0.1),
        "Hoeffding": tree.HoeffdingTreeClassifier(grace_period=50),
        "EFDT": tree.ExtremelyFastDecisionTreeClassifier(grace_period=50),
        "AMF": forest.AMFClassifier(10, seed=seed),
        "ARF": forest.ARFClassifier(n_models=5, seed=seed),
    }


def fashion(seed: int, data: Path | None) -> Task:
    """Fashion-MNIST at 14 x 14 pixels; 256 pulls are one pass."""
    return Task(sklearn_learners, seed, 234, *fashion_images(data))


def fashion_images(data: Path | None) -> tuple[Any, Any, Any, Any]:
    """Images and kinds to train on, and to test on."""
    with np.load(data_directory(data) / "fashion_mnist_14x14.npz") as file:
        return file["X_train"] / 255.0, file["y_train"], file["X_test"] / 255.0, file["y_test"]


def digits(seed: int, data: Path | None) -> Task:
    """The 8 x 8 digits of scikit-learn; 40 pulls are one pass."""
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng([seed, 99]).permutation(len(y))
    x, y = x[order] / 16.0, y[order]
    return Task(sklearn_learners, seed, 32, x[:1_297], y[:1_297], x[1_297:], y[1_297:])


def bananas(seed: int, data: Path | None) -> Task:
    """Two features, two classes in the shape of bananas; 231 pulls are one pass."""
    return _river_task(datasets.Bananas(), seed)


def phishing(seed: int, data: Path | None) -> Task:
    """Nine features of web sites; 54 pulls are one pass."""
    return _river_task(datasets.Phishing(), seed)


def _river_task(samples: Any, seed: int) -> Task:
    rows, targets = zip(*samples, strict=True)
    x, y = np.array(rows, dtype=object), np.array(targets)
    order = np.random.default_rng([seed, 99]).permutation(len(y))
    train, test = np.split(order, [int(0.7 * len(y))])
    return Task(river_learners, seed, 16, x[train], y[train], x[test], y[test])


def fashion_small_steps(seed: int, data: Path | None) -> Task:
    """Fashion-MNIST in steps of 32; 512 pulls are a quarter of a pass."""
    return Task(sklearn_learners, seed, 32, *fashion_images(data))


def fashion_four(seed: int, data: Path | None) -> Task:
    """Four kinds of the ten, another four for each seed."""
    x, y, x_test, y_test = fashion_images(data)
    kinds = np.random.default_rng([seed, 99]).choice(10, 4, replace=False)
    train, test = np.isin(y, kinds), np.isin(y_test, kinds)
    return Task(sklearn_learners, seed, 32, x[train], y[train], x_test[test], y_test[test])


def clusters_eight(seed: int, data: Path | None) -> Task:
    """Eight classes of two clusters each, half of the forty features noise; hard for all."""
    found = make_classification(
        18_000, 40, n_informative=20, n_classes=8, n_clusters_per_class=2, class_sep=1.2, random_state=seed
    )
    return _numbers(*found, seed, size=32, held_back=2_000)


def clusters_two(seed: int, data: Path | None) -> Task:
    """Two classes of four clusters each, a twentieth of the labels wrong."""
    found = make_classification(12_000, 20, n_informative=8, n_clusters_per_class=4, flip_y=0.05, random_state=seed)
    return _numbers(*found, seed, size=16, held_back=2_000)


def shells(seed: int, data: Path | None) -> Task:
    """Three classes, one around the other: naive Bayes is at home, linear models are at chance."""
    found = make_gaussian_quantiles(n_samples=18_000, n_features=6, n_classes=3, random_state=seed)
    return _numbers(*found, seed, size=32, held_back=2_000)


def moons(seed: int, data: Path | None) -> Task:
    """Two features, two crescents; networks are linear for a while before they bend."""
    return _numbers(*make_moons(12_000, noise=0.2, random_state=seed), seed, size=16, held_back=2_000)


def cancer(seed: int, data: Path | None) -> Task:
    """The breast cancers of scikit-learn; 50 pulls are one pass."""
    return _numbers(*load_breast_cancer(return_X_y=True), seed, size=8, held_back=169)


def _numbers(x: Any, y: Any, seed: int, *, size: int, held_back: int) -> Task:
    """Features between 0 and 1, as multinomial naive Bayes wants them."""
    order = np.random.default_rng([seed, 99]).permutation(len(y))
    x, y = x[order], y[order]
    least, most = x[held_back:].min(axis=0), x[held_back:].max(axis=0)
    x = np.clip((x - least) / (most - least), 0, 1)
    return Task(sklearn_learners, seed, size, x[held_back:], y[held_back:], x[:held_back], y[:held_back])


TASKS: dict[str, Callable[[int, Path | None], Task]] = {
    "fashion": fashion,
    "digits": digits,
    "bananas": bananas,
    "phishing": phishing,
}
OTHERS: dict[str, Callable[[int, Path | None], Task]] = {
    "fashion-small-steps": fashion_small_steps,
    "fashion-four": fashion_four,
    "clusters-eight": clusters_eight,
    "clusters-two": clusters_two,
    "shells": shells,
    "moons": moons,
    "cancer": cancer,
}
"""On which nothing was ever chosen: no constant, and not which tasks to show."""

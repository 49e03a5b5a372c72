"""What is trained: twelve candidates by name, data to train on, data to test on, and how many samples a pull has."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from river import datasets, feature_extraction, forest, linear_model, naive_bayes, neighbors, optim, preprocessing, tree
from sklearn.datasets import load_digits
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.neural_network import MLPClassifier

from restsure.simulation.suites.data import data_directory
from restsure.training.adapters import BatchLearner, Judge, as_learner
from restsure.training.stream import ArrayStream


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

    def error(self, model: Any) -> float:
        """On the test data, in percent."""
        if hasattr(model, "predict_one"):
            found = np.array([model.predict_one(row) for row in self.x_test])
        else:
            found = model.predict(self.x_test)
        return 100 * float(np.mean(found != self.y_test))


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
    with np.load(data_directory(data) / "fashion_mnist_14x14.npz") as file:
        x, y, x_test, y_test = (file[name] for name in ("X_train", "y_train", "X_test", "y_test"))
    return Task(sklearn_learners, seed, 234, x / 255.0, y, x_test / 255.0, y_test)


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


TASKS: dict[str, Callable[[int, Path | None], Task]] = {
    "fashion": fashion,
    "digits": digits,
    "bananas": bananas,
    "phishing": phishing,
}

"""Numbers to predict, each with twelve regressors. Nothing was ever chosen on these tasks, nor which of them to show."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from river import datasets, forest, linear_model, neighbors, optim, preprocessing, tree
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2
from sklearn.linear_model import SGDRegressor
from sklearn.neural_network import MLPRegressor

from benchmarks.live.tasks import Task, fashion_images


def sklearn_regressors(seed: int) -> dict[str, Any]:
    """Linear ones, two of which scatter or creep, and networks of several sizes and rates."""
    network = lambda *sizes, rate=1e-3, **more: MLPRegressor(  # noqa: E731
        hidden_layer_sizes=sizes, batch_size=32, learning_rate_init=rate, random_state=seed, **more
    )
    linear = lambda **more: SGDRegressor(random_state=seed, **more)  # noqa: E731
    return {
        "SGD": linear(),
        "SGD-const.01": linear(learning_rate="constant", eta0=0.01),
        "SGD-const.001": linear(learning_rate="constant", eta0=0.001),
        "SGD-huber": linear(loss="huber", epsilon=0.5),
        "SGD-epsilon": linear(loss="epsilon_insensitive"),
        "SGD-shrunk": linear(alpha=0.1),
        "MLP-32": network(32),
        "MLP-256": network(256),
        "MLP-256-128": network(256, 128),
        "MLP-256-slow": network(256, rate=1e-4),
        "MLP-64-64-64-fast": network(64, 64, 64, rate=1e-2),
        "MLP-64-tanh": network(64, activation="tanh", rate=3e-3),
    }


def river_regressors(seed: int) -> dict[str, Any]:
    """Linear models, neighbours, trees and forests, on features that are scaled as they come."""
    scaler = preprocessing.StandardScaler
    linear = lambda rate, **more: scaler() | linear_model.LinearRegression(optim.SGD(rate), **more)  # noqa: E731
    return {
        "linear-.01": linear(0.01),
        "linear-.1": linear(0.1),
        "linear-.001": linear(0.001),
        "linear-slow-intercept": linear(0.01, intercept_lr=0.001),
        "PA": scaler() | linear_model.PARegressor(C=0.01),
        "Bayesian": scaler() | linear_model.BayesianLinearRegression(),
        "KNN": scaler() | neighbors.KNNRegressor(engine=neighbors.SWINN(seed=seed)),
        "KNN-1": scaler() | neighbors.KNNRegressor(n_neighbors=1, engine=neighbors.SWINN(seed=seed)),
        "Hoeffding": tree.HoeffdingTreeRegressor(grace_period=50),
        "Hoeffding-adaptive": tree.HoeffdingAdaptiveTreeRegressor(grace_period=50, seed=seed),
        "AMF": forest.AMFRegressor(10, seed=seed),
        "ARF": forest.ARFRegressor(n_models=5, seed=seed),
    }


def friedman(seed: int, data: Path | None) -> Task:
    """A sine, a square and three straight lines, and five features that tell nothing; 313 pulls are one pass."""
    return _scaled(*make_friedman1(12_000, noise=1.0, random_state=seed), seed, size=32, held_back=2_000)


def impedance(seed: int, data: Path | None) -> Task:
    """Friedman's second problem, four features of very different sizes, with noise; 313 pulls are one pass."""
    return _scaled(*make_friedman2(12_000, noise=100.0, random_state=seed), seed, size=32, held_back=2_000)


def pixel(seed: int, data: Path | None) -> Task:
    """One of the inner pixels of Fashion-MNIST from forty others, another one for each seed; 256 pulls are one pass."""
    x, _, x_test, _ = fashion_images(data)
    rng = np.random.default_rng([seed, 99])
    target = 14 * rng.integers(4, 10) + rng.integers(4, 10)
    others = rng.choice(np.delete(np.arange(196), target), 40, replace=False)
    features, targets = (np.concatenate([part[:, which] for part in (x_test, x)]) for which in (others, target))
    return _scaled(features, targets, seed, size=234, held_back=10_000)


def diabetes(seed: int, data: Path | None) -> Task:
    """The 442 patients of scikit-learn; 41 pulls are one pass, and whoever learns them by heart predicts others badly."""
    return _scaled(*load_diabetes(return_X_y=True), seed, size=8, held_back=112)


def trump(seed: int, data: Path | None) -> Task:
    """How many approve, from six polls, a day a sample; 43 pulls are one pass."""
    rows, targets = zip(*datasets.TrumpApproval(), strict=True)
    x, y = np.array(rows, dtype=object), np.array(targets, dtype=np.float64)
    order = np.random.default_rng([seed, 99]).permutation(len(y))
    train, test = np.split(order, [int(0.7 * len(y))])
    return Task(river_regressors, seed, 16, x[train], y[train], x[test], y[test])


def _scaled(x: Any, y: Any, seed: int, *, size: int, held_back: int) -> Task:
    """Features and targets of mean zero and variance one, in random order."""
    order = np.random.default_rng([seed, 98]).permutation(len(y))
    x, y = x[order], y[order]
    x, y = ((part - part[held_back:].mean(axis=0)) / part[held_back:].std(axis=0) for part in (x, y))
    return Task(sklearn_regressors, seed, size, x[held_back:], y[held_back:], x[:held_back], y[:held_back])


REGRESSIONS: Mapping[str, Callable[[int, Path | None], Task]] = {
    "friedman": friedman,
    "impedance": impedance,
    "pixel": pixel,
    "diabetes": diabetes,
    "trump": trump,
}

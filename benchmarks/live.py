"""Real training under one budget: test error of the model that is given back, above that of the best candidate trained alone.

    python benchmarks/live.py fashion|digits [--csv benchmarks/results/live.csv] [--seeds 10] [--budget 256]

Every policy trains the same candidates on the same batches through ``select``; ``oracle`` puts the whole budget on the
candidate that ends best. ``overhead``: time that is not training, predicting or drawing batches, as a share and a pull.
"""

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.neural_network import MLPClassifier

import restsure as rs
from restsure.report.rows import write_rows
from restsure.simulation.suites.data import data_directory
from restsure.training.adapters import BatchLearner

POLICIES: dict[str, rs.Policy] = {
    "horizon": rs.HorizonLCB(),
    "halving": rs.SuccessiveHalving(),
    "explore-10": rs.FixedExploration(0.1),
    "explore-30": rs.FixedExploration(0.3),
    "explore-50": rs.FixedExploration(0.5),
    "r-sr": rs.RisingSuccessiveRejects(),
    "round-robin": rs.RoundRobin(),
}


def learners(seed: int) -> dict[str, Any]:
    """The twelve learners of the recorded runs."""
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


def load(name: str, data: Path | None, seed: int) -> tuple[Any, Any, Any, Any]:
    if name == "fashion":
        with np.load(data_directory(data) / "fashion_mnist_14x14.npz") as file:
            return file["X_train"] / 255.0, file["y_train"], file["X_test"] / 255.0, file["y_test"]
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng([seed, 99]).permutation(len(y))
    x, y = x[order] / 16.0, y[order]
    return x[:1_297], y[:1_297], x[1_297:], y[1_297:]


class Clock:
    """Time inside the learners' own training and predicting, and in drawing batches."""

    def __init__(self) -> None:
        self.inside, self.train = 0.0, BatchLearner.train

    def __enter__(self) -> "Clock":
        clock = self

        def timed(learner: BatchLearner, times: int) -> list[float]:
            start = time.perf_counter()
            losses = clock.train(learner, times)
            clock.inside += time.perf_counter() - start
            return losses

        BatchLearner.train = timed  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        BatchLearner.train = self.train  # type: ignore[method-assign]


def one_seed(name: str, data: Path | None, seed: int, budget: int) -> tuple[dict[str, float], float, float, float]:
    """Points above the oracle of every policy; the oracle's test error; overhead a pull of the default, and as a share."""
    x, y, x_test, y_test = load(name, data, seed)
    size = 234 if name == "fashion" else 32
    alone = {}
    for arm, model in learners(seed).items():
        trained = rs.select(
            {arm: model}, (x, y), budget=budget, batch_size=size, random_state=seed, progress=False
        ).model
        alone[arm] = 100 * float((trained.predict(x_test) != y_test).mean())
    oracle, points = min(alone.values()), {}
    for label, policy in POLICIES.items():
        with Clock() as clock:
            start = time.perf_counter()
            result = rs.select(
                learners(seed), (x, y), budget=budget, batch_size=size, policy=policy, random_state=seed, progress=False
            )
            took = time.perf_counter() - start
        if label == "horizon":
            overhead = took - clock.inside
            share, a_pull = overhead / took, overhead / budget
        points[label] = 100 * float((result.model.predict(x_test) != y_test).mean()) - oracle
    return points, oracle, share, 1e6 * a_pull


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data_set", choices=["fashion", "digits"])
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budget", type=int, default=256)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    runs = []
    for seed in range(options.seeds):
        runs.append(one_seed(options.data_set, options.data, seed, options.budget))
        print(
            seed,
            {name: round(value, 2) for name, value in runs[-1][0].items()},
            f"oracle {runs[-1][1]:.2f}",
            flush=True,
        )
    command = f"python benchmarks/live.py {options.data_set} --seeds {options.seeds} --budget {options.budget}"
    lines = []
    for name in POLICIES:
        values = np.array([run[0][name] for run in runs])
        lines.append(
            (
                options.data_set,
                options.budget,
                name,
                values.mean(),
                values.std(ddof=min(1, len(values) - 1)) / len(values) ** 0.5,
            )
        )
        print(f"{name:12} {values.mean():6.2f} ± {lines[-1][-1]:.2f} points above the oracle")
    share, a_pull = (float(np.mean([run[k] for run in runs])) for k in (2, 3))
    print(
        f"oracle {np.mean([run[1] for run in runs]):.2f} %; overhead {share:.1%} of the run, {a_pull:.0f} microseconds a pull"
    )
    if options.csv:
        head = ["data", "budget", "policy", "points above the oracle", "se"]
        write_rows(
            options.csv, head, [[*line[:3], f"{line[3]:.4g}", f"{line[4]:.3g}"] for line in lines], command=command
        )


if __name__ == "__main__":
    main()

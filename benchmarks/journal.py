"""What a journal costs: share of the run, bytes a training step, saved states, and the time to resume a long run.

python benchmarks/journal.py [--csv benchmarks/results/journal.csv] [--steps 100000]

Real training (scikit-learn, eight candidates on the digits) with and without a run directory, in turn; and a run of cheap
candidates that is stopped after many steps and opened again: to read and check its journal, and to play its game again.
"""

import argparse
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import restsure as rs
from restsure.journal import Journal, read_records
from restsure.report.rows import write_rows
from restsure.training.replay import replay

HEAD = ("what", "figure", "unit")


def timed(action: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    value = action()
    return time.perf_counter() - began, value


def candidates() -> dict[str, Any]:
    from sklearn.linear_model import Perceptron, SGDClassifier
    from sklearn.naive_bayes import GaussianNB, MultinomialNB
    from sklearn.neural_network import MLPClassifier

    return {
        "gaussian": GaussianNB(),
        "multinomial": MultinomialNB(),
        "perceptron": Perceptron(random_state=0),
        "svm": SGDClassifier(random_state=0),
        "logistic": SGDClassifier(loss="log_loss", random_state=0),
        "averaged": SGDClassifier(average=True, random_state=0),
        "network": MLPClassifier((32,), random_state=0),
        "wide network": MLPClassifier((256,), random_state=0),
    }


class Clock:
    """Adds up the time that records take, while it is in place of the journal's own ``append``."""

    def __init__(self) -> None:
        self.seconds, self.append = 0.0, Journal.append

    def __enter__(self) -> "Clock":
        def append(book: Journal, *arguments: Any) -> None:
            seconds, _ = timed(lambda: self.append(book, *arguments))
            self.seconds += seconds

        Journal.append = append  # type: ignore[method-assign]
        return self

    def __exit__(self, *error: object) -> None:
        Journal.append = self.append  # type: ignore[method-assign]


def real_training(rounds: int) -> list[tuple[str, float, str]]:
    """Eight candidates on the digits, a thousand steps."""
    from sklearn.datasets import load_digits

    data = load_digits(return_X_y=True)
    recorded, total, bare, sizes, states = [], [], [], [], []

    def run(folder: Path | None) -> rs.Result:
        return rs.select(
            candidates(), data, budget=1_000, batch_size=64, random_state=0, progress=False, run_dir=folder
        )

    run(None)
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            with Clock() as clock:
                total.append(timed(lambda place=place: run(place))[0])
            recorded.append(clock.seconds)
            sizes.append((place / "journal.sqlite").stat().st_size / 1_000)
            states.append(sum(record.kind == "checkpoint" for record in rs.read_run(place).records))
        bare.append(timed(lambda: run(None))[0])
    return [
        ("time of a recorded run over that of one that is not", median(total) / median(bare), "ratio"),
        ("of a recorded run, time in the journal", 100 * median(recorded) / median(total), "%"),
        ("journal, a training step", median(sizes), "bytes"),
        ("saved states in a run", median(states), "count"),
    ]


class Falling:
    """A candidate that costs nothing, with a state to save."""

    def __init__(self, alpha: float, beta: float, seed: int):
        self.alpha, self.beta, self.pulls, self.rng = alpha, beta, 0, np.random.default_rng(seed)

    def train(self, times: int) -> list[float]:
        self.pulls += times
        steps = np.arange(self.pulls - times + 1, self.pulls + 1)
        losses: list[float] = (self.alpha / steps**0.5 + self.beta + self.rng.normal(scale=0.05, size=times)).tolist()
        return losses


def long_run(steps: int) -> list[tuple[str, float, str]]:
    """Stopped just before its end."""
    rng = np.random.default_rng(0)
    make = [(float(alpha), float(beta)) for alpha, beta in rng.uniform((0.2, 0.05), (1.0, 0.4), size=(12, 2))]

    def models() -> dict[str, Any]:
        return {str(k): Falling(alpha, beta, k) for k, (alpha, beta) in enumerate(make)}

    class Stopped(BaseException):
        pass

    def stop(moment: Any) -> None:
        if not moment.over and sum(moment.game.pulls) > 0.97 * steps:
            raise Stopped

    with tempfile.TemporaryDirectory() as folder:
        with suppress(Stopped):
            rs.select(models(), budget=steps, run_dir=folder, progress=False, random_state=0, callbacks=[stop])
        size = (Path(folder) / "journal.sqlite").stat().st_size
        reading, records = timed(lambda: read_records(folder))
        playing, _ = timed(lambda: replay(records))
    return [
        (f"journal of {steps:,} steps, a step", size / (0.97 * steps), "bytes"),
        (f"resume after {steps:,} steps: read and check {len(records):,} records", reading, "s"),
        (f"resume after {steps:,} steps: play the game again", playing, "s"),
    ]


def one_record() -> list[tuple[str, float, str]]:
    """A block of four losses, on the disk when it is done."""
    with tempfile.TemporaryDirectory() as folder, Journal(folder) as book:
        book.begin({})
        body = {"arm": 3, "losses": [0.25, 0.2, 0.19, 0.21], "cost": None, "seconds": 0.01, "asked": [[3, 4]]}
        times = [timed(lambda: book.append("block", body))[0] for _ in range(2_000)]
    return [("one record, flushed to the disk", 1e6 * median(times), "microseconds")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = [*one_record(), *real_training(options.rounds), *long_run(options.steps)]
    for what, figure, unit in rows:
        print(f"{what:80} {figure:10.4g} {unit}")
    if options.csv:
        command = "python benchmarks/journal.py --csv benchmarks/results/journal.csv"
        write_rows(options.csv, HEAD, [(what, f"{figure:.4g}", unit) for what, figure, unit in rows], command=command)


if __name__ == "__main__":
    main()

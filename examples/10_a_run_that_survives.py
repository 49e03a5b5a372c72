"""A run that is killed twice, with candidates of which two are bad, and ends as if nothing had happened.

    python examples/10_a_run_that_survives.py

Each candidate trains in a process of its own, two at a time: one that hangs and one that crashes the interpreter only fail
themselves. The run is killed with -9 wherever it stands, and the same call with the same directory goes on.
"""

import multiprocessing
import os
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

from sklearn.datasets import load_digits
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.naive_bayes import MultinomialNB

import restsure as rs


class Hangs(MultinomialNB):
    """Waits for ever, some steps after it began."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> "Hangs":  # noqa: N803 - as in scikit-learn
        self.steps = getattr(self, "steps", 0) + 1
        if self.steps > 3:
            time.sleep(1_000)
        return super().partial_fit(X, y, classes)  # type: ignore[no-any-return]


class Crashes(MultinomialNB):
    """Takes its whole process with it."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> "Crashes":  # noqa: N803
        self.steps = getattr(self, "steps", 0) + 1
        if self.steps > 3:
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().partial_fit(X, y, classes)  # type: ignore[no-any-return]


def train(directory: str | None) -> rs.Result:
    candidates = {
        "perceptron": Perceptron(random_state=0),
        "logistic": SGDClassifier(loss="log_loss", average=True, random_state=0),
        "hangs": Hangs(),
        "crashes": Crashes(),
    }
    return rs.select(
        candidates,
        load_digits(return_X_y=True),
        budget=300,
        batch_size=32,
        random_state=0,
        progress=False,
        run_dir=directory,
        executor=rs.ProcessExecutor(workers=2, pull_timeout_s=3.0),
    )


def spent(directory: str) -> float:
    """How many steps the journal has, while it is written."""
    return rs.read_run(directory).progress.game.spent if (Path(directory) / "journal.sqlite").exists() else 0


def main() -> None:
    uninterrupted = train(None)
    print(uninterrupted)
    for name, reason in uninterrupted.failures.items():
        print(f"  {name} failed: {reason}")
    with tempfile.TemporaryDirectory() as folder:
        directory = str(Path(folder) / "run")
        for steps in (20, 120):
            run = multiprocessing.get_context("spawn").Process(target=train, args=[directory])
            run.start()
            while run.is_alive() and spent(directory) < steps:
                time.sleep(0.02)
            run.kill()
            run.join()
            print(f"killed after {spent(directory):g} steps")
        resumed = train(directory)
    print(resumed)
    print("The same steps, losses and winner:", list(resumed.history) == list(uninterrupted.history))


if __name__ == "__main__":
    main()

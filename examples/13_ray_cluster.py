"""Candidates on a Ray cluster, or on all cores of a laptop: the same selection, the same answer.

    python examples/13_ray_cluster.py [ADDRESS]

Each candidate is an actor with processors of its own, two of them train at a time, and the data are in the object store once.
Without an address, Ray is started on this machine and shut down again. Two actors are killed on the way: their candidates go
on from their last saved states, wherever there is room, and the run ends as if nothing had happened.
"""

import os
import signal
import sys
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.neural_network import MLPClassifier

import restsure as rs
from restsure.integrations.ray import RayExecutor


class Lightning:
    """The share of wrong predictions; but whoever finds a file here as it judges its tenth batch takes it, and is killed."""

    def __init__(self, folder: str):
        self.folder, self.batches = folder, 0

    def __call__(self, y: Any, predicted: Any) -> float:
        self.batches += 1
        for strike in Path(self.folder).glob("strike*") if self.batches == 10 else ():
            with suppress(FileNotFoundError):  # another one was quicker
                strike.unlink()
                os.kill(os.getpid(), signal.SIGKILL)
        return float(np.mean(y != predicted))


def train(executor: Any, folder: str, run_dir: str | None = None) -> rs.Result:
    candidates = {
        "bayes": MultinomialNB(),
        "perceptron": Perceptron(random_state=0),
        "logistic": SGDClassifier(loss="log_loss", random_state=0),
        "network": MLPClassifier((128,), learning_rate_init=3e-3, random_state=0),
    }
    return rs.select(
        candidates,
        load_digits(return_X_y=True),
        budget=150,
        batch_size=32,
        loss=Lightning(folder),
        random_state=0,
        progress=False,
        executor=executor,
        run_dir=run_dir,
        checkpoints=rs.Checkpoints(
            share=1.0
        ),  # steps as short as these are saved now and then only if that may take long
    )


def main() -> None:
    address = sys.argv[1] if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory() as folder:
        for strike in range(2):
            Path(folder, f"strike {strike}").touch()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", RuntimeWarning)
            result = train(RayExecutor(workers=2, num_cpus=1, address=address), folder, str(Path(folder) / "run"))
        print(result)
        print(result.pulls)
        for warning in told:
            print(f"  {warning.message}")
        again = train(rs.ProcessExecutor(workers=2), folder)  # on this machine, in fair weather
    print("The same steps, losses and winner:", list(again.history) == list(result.history))


if __name__ == "__main__":
    main()

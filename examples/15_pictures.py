"""Pictures of a run: its curves, what was predicted, who was trained when, and what another budget would have brought.

    python examples/15_pictures.py [FOLDER]

The pictures go to FOLDER, or to a directory that is deleted in the end. `result.plot("run.png")` is all that is needed for the
first; the others are parts of it alone, and a table of a benchmark. In a notebook, leave the path away.
"""

import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.neural_network import MLPClassifier

import restsure as rs
from restsure.simulation.suites import entries, in_model, run_suite


class Breaks(MultinomialNB):
    """Stops with an error on the way."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> "Breaks":  # noqa: N803 - as in scikit-learn
        self.steps = getattr(self, "steps", 0) + 1
        if self.steps > 6:
            raise FloatingPointError("diverged")
        return super().partial_fit(X, y, classes)  # type: ignore[no-any-return]


def train() -> rs.Result:
    candidates = {
        "Bayes, counts": MultinomialNB(),
        "Bayes, binary": BernoulliNB(binarize=8),
        "Bayes, Gaussian": GaussianNB(var_smoothing=1e-3),
        "Bayes, breaks": Breaks(),
        "perceptron": Perceptron(random_state=0),
        "linear, averaged": SGDClassifier(loss="log_loss", average=True, random_state=0),
        "network, 64": MLPClassifier((64,), learning_rate_init=3e-3, random_state=0),
        "network, 256": MLPClassifier((256,), learning_rate_init=3e-3, random_state=0),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some are noisy about their first batches
        return rs.select(candidates, load_digits(return_X_y=True), budget=600, batch_size=32, random_state=0)


def save(folder: Path, name: str, plot: Any, what: Any, height: float = 3.8) -> None:
    """One picture alone. A Figure of one's own needs no display; `plot(what)` alone would make one that is shown."""
    figure = Figure(figsize=(7.2, height), layout="constrained")
    plot(what, figure.subplots())
    figure.savefig(folder / f"{name}.png", dpi=140)


def main(folder: Path) -> None:
    result = train()
    print(result)
    folder.mkdir(parents=True, exist_ok=True)
    result.plot(folder / "1_run.png")
    save(folder, "2_curves", rs.report.plot_curves, result)
    save(folder, "3_outlook", rs.report.plot_outlook, result)
    save(folder, "4_ribbon", rs.report.plot_ribbon, result, height=2.6)
    save(folder, "5_what_if", rs.report.plot_what_if, result)

    rows = [row for row in in_model(None) if "crossing" in row.name and row.horizon == 1_000]
    policies = entries(["round-robin", "halving", "r-sr", "explore-30", "rest-sure", "horizon"])
    scores = list(run_suite("in-model", rows, policies, replicates=30, seed=0))
    save(folder, "6_scores", rs.report.plot_scores, scores)
    print("Drawn:", ", ".join(sorted(path.stem for path in folder.glob("*.png"))))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            main(Path(folder))

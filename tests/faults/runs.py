"""Short selections that are interrupted in every way, and what must come out of them all the same."""

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import restsure as rs
from restsure.training import Checkpoints

STEPS = 120


def sklearn_models() -> dict[str, Any]:
    from sklearn.linear_model import Perceptron, SGDClassifier
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return {
        "bayes": GaussianNB(),
        "perceptron": Perceptron(random_state=1),
        "svm": make_pipeline(StandardScaler(), SGDClassifier(random_state=2, average=True)),
        "network": MLPClassifier((8,), random_state=3),
    }


def river_models() -> dict[str, Any]:
    from river import linear_model, naive_bayes, preprocessing, tree

    return {
        "bayes": naive_bayes.GaussianNB(),
        "logistic": preprocessing.StandardScaler() | linear_model.LogisticRegression(),
        "tree": tree.HoeffdingTreeClassifier(grace_period=20),
    }


def torch_models() -> dict[str, Any]:
    import torch

    from restsure.integrations.torch import TorchLearner

    x, y = (torch.from_numpy(part) for part in blobs())
    batches = list(zip(x.float().split(16), y.split(16), strict=True))
    learners = dict[str, Any]()
    for width, rate in ((4, 0.1), (16, 0.01), (8, 0.3)):
        torch.manual_seed(width)
        model = torch.nn.Sequential(
            torch.nn.Linear(4, width), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(width, 3)
        )
        optimizer = torch.optim.Adam(model.parameters(), lr=rate)
        learners[f"{width} wide"] = TorchLearner(model, optimizer, torch.nn.CrossEntropyLoss(), batches)
    return learners


class Walk:
    """A learner that costs nothing: its losses fall like a power law, with noise from a generator of its own."""

    def __init__(self, alpha: float, beta: float, seed: int):
        self.alpha, self.beta, self.pulls = alpha, beta, 0
        self.rng = np.random.default_rng(seed)

    def train(self, times: int) -> list[float]:
        self.pulls += times
        steps = np.arange(self.pulls - times + 1, self.pulls + 1)
        losses: list[float] = (self.alpha / steps**0.5 + self.beta + self.rng.normal(scale=0.02, size=times)).tolist()
        return losses

    def save(self, directory: Path) -> None:
        (directory / "walk.json").write_text(json.dumps([self.pulls, self.rng.bit_generator.state]))

    def load(self, directory: Path) -> None:
        self.pulls, self.rng.bit_generator.state = json.loads((directory / "walk.json").read_text())


def plain_models() -> dict[str, Any]:
    return {"quick": Walk(0.2, 0.3, 0), "slow": Walk(1.0, 0.05, 1), "flat": Walk(0.0, 0.5, 2)}


def blobs() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=480)
    return rng.normal(size=(480, 4)) + 0.8 * np.eye(3, 4)[y], y


MODELS: dict[str, Callable[[], dict[str, Any]]] = {
    "plain": plain_models,
    "processes": plain_models,
    "sklearn": sklearn_models,
    "river": river_models,
    "torch": torch_models,
}


def train(kind: str, directory: Path | None, *, share: float = 0.3, **options: Any) -> rs.Result:
    """One selection; with so large a share, states are saved often."""
    if kind == "processes":
        options["executor"] = rs.ProcessExecutor(workers=2, start_method="fork")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return rs.select(
            MODELS[kind](),
            blobs() if kind in ("sklearn", "river") else None,
            budget=STEPS,
            batch_size=16,
            random_state=5,
            progress=False,
            run_dir=directory,
            checkpoints=Checkpoints(share=share),
            **options,
        )


def outcome(result: rs.Result) -> str:
    """Everything that must be the same to the last bit, the trained model included."""
    losses = [(block.name, block.pulls, [loss.hex() for loss in block.losses]) for block in result.history]
    told = result.to_dict()
    del told["notes"]
    return json.dumps([told, losses, fingerprint(result.model)])


def fingerprint(model: Any) -> str:
    """What the trained model says of points it has not seen."""
    x = np.random.default_rng(9).normal(size=(50, 4))
    if hasattr(model, "predict_one"):
        return repr([sorted(model.predict_proba_one(dict(enumerate(row))).items()) for row in x.tolist()])
    if isinstance(model, Walk):
        return repr((model.pulls, model.rng.bit_generator.state))
    if hasattr(model, "state_dict"):
        return repr([(name, value.tolist()) for name, value in model.state_dict().items()])
    inner = model[-1] if hasattr(model, "steps") else model
    learnt = [getattr(inner, name) for name in ("coef_", "coefs_", "theta_") if hasattr(inner, name)]
    return repr(
        [np.asarray(part).tolist() for found in learnt for part in (found if isinstance(found, list) else [found])]
    )

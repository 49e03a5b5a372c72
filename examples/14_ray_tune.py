"""Ray Tune with one budget for all trials: they are paused and resumed by HorizonScheduler.

    python examples/14_ray_tune.py

Eight networks of different sizes and learning rates on the digits; 240 iterations in all. Ray's own schedulers stop trials for
good, and have no total.
"""

import logging
import pickle
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import ray
from ray import tune
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from restsure.integrations.ray import HorizonScheduler, recommended


class Network(tune.Trainable):
    """An iteration is a pass over the training data; the accuracy is taken on others."""

    def setup(self, config: dict[str, Any]) -> None:
        x, y = load_digits(return_X_y=True)
        self.x, self.x_held, self.y, self.y_held = train_test_split(x / 16, y, test_size=0.3, random_state=0)
        self.model = MLPClassifier(
            (config["width"],), solver="sgd", learning_rate_init=config["rate"], batch_size=100, random_state=0
        )

    def step(self) -> dict[str, float]:
        self.model.partial_fit(self.x, self.y, classes=range(10))
        return {"accuracy": self.model.score(self.x_held, self.y_held)}

    def save_checkpoint(self, folder: str) -> None:
        Path(folder, "model").write_bytes(pickle.dumps(self.model))

    def load_checkpoint(self, folder: str) -> None:
        self.model = pickle.loads(Path(folder, "model").read_bytes())

    def reset_config(self, config: dict[str, Any]) -> bool:  # so that an actor can go on with another trial
        self.setup(config)
        return True


def main() -> None:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    scheduler = HorizonScheduler(total_budget=240)
    with tempfile.TemporaryDirectory() as folder:
        tuner = tune.Tuner(
            Network,
            param_space={"width": tune.grid_search([8, 64]), "rate": tune.grid_search([1e-4, 1e-3, 1e-2, 1e-1])},
            tune_config=tune.TuneConfig(metric="accuracy", mode="max", scheduler=scheduler, reuse_actors=True),
            run_config=tune.RunConfig(storage_path=folder, verbose=0),
        )
        results = (
            tuner.fit()
        )  # if it is interrupted: tune.Tuner.restore(results.experiment_path, trainable=Network).fit()
        best = recommended(results)
        with best.checkpoint.as_directory() as saved:  # type: ignore[union-attr]
            model = pickle.loads(Path(saved, "model").read_bytes())
    ray.shutdown()
    used = Counter({str(result.config): result.metrics["training_iteration"] for result in results})
    for config, iterations in used.most_common():
        print(f"{iterations:5} iterations of {config}")
    print(f"{used.total()} in all; {scheduler.recommendation}")
    print(f"Width {best.config['width']}, rate {best.config['rate']}: accuracy {best.metrics['accuracy']:.3f}")
    print(f"The model has learnt from {model.t_:,} samples, {model.t_ // 1_257} passes")


if __name__ == "__main__":
    main()

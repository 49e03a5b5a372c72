"""TensorBoard and MLflow: the curves of all candidates, what they are predicted to reach, and why one was chosen.

    python examples/12_tracking.py

Both are callbacks of `select`. Here they write into a directory that is deleted in the end; to look at a run while it goes on,
give them a place and start `tensorboard --logdir DIR` or `mlflow server`, and `MLflowCallback("http://127.0.0.1:5000")`.
"""

import os
import tempfile
from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.linear_model import Perceptron, SGDClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.neural_network import MLPClassifier

import restsure as rs
from restsure.integrations.tensorboard import TensorBoardCallback

os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"  # without a server; MLflow's own advice is sqlite:///mlflow.db


def main() -> None:
    from mlflow import MlflowClient

    from restsure.integrations.mlflow import MLflowCallback

    candidates = {
        "bayes": MultinomialNB(),
        "perceptron": Perceptron(random_state=0),
        "linear/averaged": SGDClassifier(average=True, random_state=0),
        "network": MLPClassifier((128,), random_state=0),
        "Bayes, wrong": MultinomialNB(alpha="none"),  # fails at its first step
    }
    with tempfile.TemporaryDirectory() as folder:
        board, store = Path(folder) / "board", f"file://{folder}/mlruns"
        watch = MLflowCallback(store, experiment="digits", run_name="five classifiers")
        callbacks = [TensorBoardCallback(board), watch]
        result = rs.select(
            candidates, load_digits(return_X_y=True), budget=300, batch_size=32, callbacks=callbacks, random_state=0
        )
        print(result)
        print("TensorBoard:", ", ".join(sorted(entry.name for entry in board.iterdir() if entry.is_dir())))

        client = MlflowClient(store)
        run = client.get_run(watch.run_id)
        nested = f"tags.`mlflow.parentRunId` = '{watch.run_id}'"
        for child in sorted(
            client.search_runs([run.info.experiment_id], nested), key=lambda child: child.info.run_name
        ):
            steps = len(client.get_metric_history(child.info.run_id, "loss"))
            print(f"MLflow: {child.info.run_name}: {child.info.status}, {steps} steps")
        print(f"MLflow: {run.info.run_name}: {run.info.status}, the winner is {run.data.tags['restsure.winner']}")


if __name__ == "__main__":
    main()

"""LightGBM, XGBoost or CatBoost? Six boosters under one budget: a training step is five trees more, on all data.

    pip install lightgbm xgboost catboost
    python examples/16_boosters.py

They are judged by rows that are held back, since every step learns from all others. Classes are numbers from zero, as XGBoost
wants them. A booster that takes large steps is ahead at first, and the one that wins in the end takes small ones.
"""

from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from sklearn.datasets import make_classification
from xgboost import XGBClassifier

import restsure as rs


def main() -> None:
    x, y = make_classification(12_000, n_features=30, n_informative=12, n_classes=4, flip_y=0.05, random_state=0)
    train, test = slice(0, 4_000), slice(4_000, None)

    # As many trees as an estimator is made with are a step; each step goes on from the trees of the last one.
    candidates = {}
    for rate in (0.1, 0.5):
        candidates |= {
            f"LightGBM {rate}": LGBMClassifier(n_estimators=5, learning_rate=rate, verbose=-1, n_jobs=1),
            f"XGBoost {rate}": XGBClassifier(n_estimators=5, learning_rate=rate, n_jobs=1),
            f"CatBoost {rate}": CatBoostClassifier(
                iterations=5, learning_rate=rate, verbose=False, allow_writing_files=False, thread_count=1
            ),
        }
    result = rs.select(
        candidates, (x[train], y[train]), budget=120, batch_size=4_000, validation=0.2, loss="log", random_state=0
    )
    print(result)
    for name, pulls in result.pulls.items():
        losses = result.history.losses(name)
        print(f"  {name:14}{5 * pulls:4} rounds, loss {losses[0]:.3f} at first, {losses[-1]:.3f} at last")
    wrong = (result.model.predict(x[test]).ravel() != y[test]).mean()
    print(f"{result.name}: {wrong:.1%} of a test set are wrong")


if __name__ == "__main__":
    main()

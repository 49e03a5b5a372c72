"""Boosting and forests: a training step is five trees more, and the loss is taken on a validation set.

    python examples/04_boosting_rounds.py

Estimators with `warm_start` are trained on all data in every step, and so there is no next batch to be judged on. Without
`validation=` they are judged on what they have learnt by heart, and that is not what makes a good one.
"""

from sklearn.datasets import make_hastie_10_2
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)

import restsure as rs


def main() -> None:
    x, y = make_hastie_10_2(n_samples=12_000, random_state=0)
    train, held_out, test = slice(0, 2_000), slice(2_000, 4_000), slice(4_000, None)

    # As many rounds as an estimator is made with are a step; select sets warm_start by itself.
    candidates = {
        "forest": RandomForestClassifier(n_estimators=5, random_state=0),
        "extra trees": ExtraTreesClassifier(n_estimators=5, random_state=0),
        "boosted stumps": GradientBoostingClassifier(n_estimators=5, max_depth=1, learning_rate=1.0, random_state=0),
        "boosted trees": GradientBoostingClassifier(n_estimators=5, max_depth=3, random_state=0),
        "boosted histograms": HistGradientBoostingClassifier(max_iter=5, early_stopping=False, random_state=0),
    }
    for title, validation in (("Without validation", None), ("With validation", (x[held_out], y[held_out]))):
        result = rs.select(
            candidates, (x[train], y[train]), budget=80, batch_size=2_000, validation=validation, random_state=0
        )
        print(f"{title}, {result}")
        for name, pulls in result.pulls.items():
            losses = result.history.losses(name)
            print(f"  {name:18}{5 * pulls:4} rounds, loss {losses[0]:.3f} at first, {losses[-1]:.3f} at last")
        wrong = (result.model.predict(x[test]) != y[test]).mean()
        print(f"  {result.name}: {wrong:.1%} of a test set are wrong")


if __name__ == "__main__":
    main()

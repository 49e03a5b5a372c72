"""Rare classes: one sample in twenty is positive, and `loss="balanced"` chooses another model than `loss="zero_one"` does.

    python examples/03_imbalanced.py

A model that overlooks half of what is rare is wrong on few samples, and does well by the share of wrong predictions.
"balanced" averages that share over the classes: a positive overlooked weighs as much as some twenty false alarms.
"""

from sklearn.datasets import make_classification
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import restsure as rs


def main() -> None:
    x, y = make_classification(
        n_samples=40_000, n_informative=8, n_redundant=4, class_sep=0.8, weights=[0.95], random_state=0
    )
    x, x_test, y, y_test = train_test_split(x, y, test_size=10_000, stratify=y, random_state=0)

    logistic = SGDClassifier(loss="log_loss", random_state=0)
    weighted = SGDClassifier(loss="log_loss", class_weight={0: 1, 1: 20}, random_state=0)
    candidates = {
        "logistic": make_pipeline(StandardScaler(), logistic),
        "weighted logistic": make_pipeline(StandardScaler(), weighted),
        "Bayes": GaussianNB(),
        "Bayes at even odds": GaussianNB(priors=[0.5, 0.5]),
    }
    for loss in ("zero_one", "balanced"):
        # The loss is taken batch by batch: large ones, so that each has some positives.
        result = rs.select(candidates, (x, y), budget=150, batch_size=200, loss=loss, random_state=0)
        print(f"By {loss}, {result}")
        print(f"  training steps: {', '.join(f'{name} {pulls}' for name, pulls in result.pulls.items())}")
        (right, alarms), (missed, found) = confusion_matrix(y_test, result.model.predict(x_test))
        print(f"  on a test set: {(alarms + missed) / len(y_test):.1%} wrong,", end=" ")
        print(f"{missed / (missed + found):.0%} of the positives missed, {alarms / (alarms + right):.0%} false alarms")
    print(f"To say 'negative' always would be wrong in {y_test.mean():.1%}, and miss all positives.")


if __name__ == "__main__":
    main()

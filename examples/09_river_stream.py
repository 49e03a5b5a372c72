"""A stream in river: six models under one budget of updates, beside river's own successive halving.

    python examples/09_river_stream.py

`SelectiveClassifier` is a river model: every sample trains one of its models, predictions are the best one's, and once the
budget is spent the winner learns alone. Halving trains all that are left on every sample: its updates are soon spent, and who
has many of them to spare gets more out of a short stream that way.
"""

from river import (
    base,
    datasets,
    evaluate,
    forest,
    linear_model,
    metrics,
    multiclass,
    naive_bayes,
    neighbors,
    optim,
    preprocessing,
    tree,
)
from river.model_selection import SuccessiveHalvingClassifier

from restsure.integrations.river import SelectiveClassifier


def models() -> list[base.Estimator]:
    """Fresh ones, since they are trained in place."""

    def linear(rate: float) -> base.Estimator:
        return multiclass.OneVsRestClassifier(linear_model.LogisticRegression(optim.SGD(rate)))

    return [
        preprocessing.StandardScaler() | linear(0.01),
        preprocessing.StandardScaler() | linear(0.1),
        preprocessing.StandardScaler() | neighbors.KNNClassifier(engine=neighbors.LazySearch(window_size=300)),
        naive_bayes.GaussianNB(),
        tree.HoeffdingTreeClassifier(grace_period=50),
        forest.ARFClassifier(n_models=5, seed=0),
    ]


def main() -> None:
    stream = datasets.ImageSegments()
    for budget in (500, 2_300):
        print(f"{budget} updates to find the best model, in a stream of {stream.n_samples} samples")
        halving = SuccessiveHalvingClassifier(models(), metrics.Accuracy(), budget)
        selective = SelectiveClassifier(models(), metrics.Accuracy(), budget)
        for name, selector in (("halving", halving), ("selective", selective)):
            accuracy = evaluate.progressive_val_score(stream, selector, metrics.Accuracy())
            print(f"  {name:10} {accuracy} over the stream, in the end by {selector.best_model}")
        print(f"  pulls of {selective.batch_size} samples: {selective.pulls}")
    print(selective.explain())


if __name__ == "__main__":
    main()

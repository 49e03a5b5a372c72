"""A budget in seconds: four models, the slowest of which takes some thirty times as long for a step as the fastest.

    python examples/06_budget_in_seconds.py

Counted in steps, large networks are the best and take the time they take. Counted in seconds, they must be worth it: `select`
measures what a step of each candidate costs while it trains, and judges it by what it could reach in the time that is left.
Since times are measured, no seed makes this repeatable: another machine may choose otherwise, and rightly.
"""

from time import perf_counter

from sklearn.datasets import make_classification
from sklearn.linear_model import SGDClassifier
from sklearn.neural_network import MLPClassifier

import restsure as rs


def main() -> None:
    data = make_classification(
        n_samples=60_000, n_informative=10, n_classes=4, n_clusters_per_class=6, class_sep=1.2, random_state=0
    )
    candidates = {
        "linear": SGDClassifier(random_state=0),
        "small network": MLPClassifier(128, learning_rate_init=0.003, batch_size=50, random_state=0),
        "large network": MLPClassifier((512, 512), batch_size=50, random_state=0),
        "huge network": MLPClassifier((1024, 1024), batch_size=50, random_state=0),
    }
    start = perf_counter()
    by_steps = rs.select(candidates, data, budget=60, batch_size=200, random_state=0)
    print(f"60 steps, which took {perf_counter() - start:.1f} s:\n  {by_steps}")

    result = rs.select(candidates, data, budget="2s", batch_size=200, random_state=0)
    print(f"2 seconds:\n  {result}\n  planned {result.budget:g} {result.unit}, spent {result.spent:.3f}")
    for name, steps in result.pulls.items():
        cost, losses = 1_000 * result.costs[name], result.history.losses(name)
        print(f"  {name:14}{steps:4} steps of {cost:5.1f} ms, loss {losses[0]:.2f} at first, {losses[-1]:.2f} at last")


if __name__ == "__main__":
    main()

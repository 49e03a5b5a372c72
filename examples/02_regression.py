"""Regression: four scaled pipelines, judged by the mean absolute error, under three budgets.

    python examples/02_regression.py

Splines are learnt at once and get no better; a network takes longer and gets further. Which is the best choice depends on the
budget, and `result.what_if` says what the best choice would come to with another one.
"""

from sklearn.datasets import make_friedman1
from sklearn.linear_model import SGDRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler

import restsure as rs


def network(rate: float) -> Pipeline:
    # 25 samples an update make eight updates in a training step of 200 samples.
    model = MLPRegressor(hidden_layer_sizes=64, batch_size=25, learning_rate_init=rate, random_state=0)
    return make_pipeline(StandardScaler(), model)


def main() -> None:
    x, y = make_friedman1(n_samples=80_000, noise=1.0, random_state=0)
    y -= y[:200].mean()  # or else the first losses tell how fast a model learns the mean, and little about its end
    candidates = {
        "linear": make_pipeline(StandardScaler(), SGDRegressor(random_state=0)),
        "splines": make_pipeline(SplineTransformer(), StandardScaler(), SGDRegressor(random_state=0)),
        "network": network(1e-2),
        "slow network": network(1e-3),
    }
    for budget in (30, 200, 400):
        result = rs.select(candidates, (x, y), budget=budget, batch_size=200, loss="absolute", random_state=0)
        loss, low, high = result.what_if(budget=2 * budget)
        print(result)
        print(f"  training steps: {', '.join(f'{name} {pulls}' for name, pulls in result.pulls.items())}")
        print(f"  with {2 * budget} steps in all, the best choice would be at {loss:.2f} ({low:.2f} to {high:.2f})")
    print("No model of these data can be better than 0.80, the mean absolute value of the noise.")


if __name__ == "__main__":
    main()

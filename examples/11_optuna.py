"""Optuna: trials pruned by where they are going, and trials that are paused and resumed under one budget.

    python examples/11_optuna.py

Small networks on digits, with learning rates from 0.0003 to 0.3. A pruner can only end a trial: one that looks ahead ends those
that cannot win any more, however they stand now. What is saved is of use if trials can also be resumed: the best one then gets
most of the steps, and its network is better than any that was trained for 30.
"""

from collections.abc import Iterator

import numpy as np
import optuna
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from restsure.integrations.optuna import HorizonPruner, optimize

STEPS, TRIALS = 30, 10
X, X_NEW, Y, Y_NEW = train_test_split(*load_digits(return_X_y=True), test_size=0.4, random_state=0)


def train(trial: optuna.Trial, networks: dict[int, MLPClassifier]) -> Iterator[float]:
    """A step is five batches of 64; its value, the error on digits held back."""
    rate = trial.suggest_float("rate", 3e-4, 3e-1, log=True)
    network = networks[trial.number] = MLPClassifier((32,), batch_size=64, learning_rate_init=rate, random_state=0)
    rng = np.random.default_rng(0)
    while True:
        rows = rng.choice(len(X), 320)
        network.partial_fit(X[rows], Y[rows], classes=range(10))
        yield 1 - network.score(X_NEW, Y_NEW)


def new_study(pruner: optuna.pruners.BasePruner | None = None) -> optuna.Study:
    return optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1), pruner=pruner)


def main() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(trial: optuna.Trial) -> float:  # as anybody writes it for Optuna
        for step, error in zip(range(STEPS), train(trial, {}), strict=False):
            trial.report(error, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return error

    for pruner in (optuna.pruners.NopPruner(), optuna.pruners.SuccessiveHalvingPruner(), HorizonPruner(STEPS)):
        study = new_study(pruner)
        study.optimize(objective, n_trials=TRIALS)
        steps = sum(len(trial.intermediate_values) for trial in study.trials)
        print(f"{type(pruner).__name__:24} {steps:3} steps, {100 * study.best_value:.1f}% wrong")
    pruned = next(trial for trial in study.trials if trial.state == optuna.trial.TrialState.PRUNED)
    print(HorizonPruner(STEPS).explain(study, pruned))

    study, networks = new_study(), dict[int, MLPClassifier]()
    result = optimize(study, lambda trial: train(trial, networks), budget=120, n_trials=TRIALS)
    print(f"Paused and resumed, {result}")
    winner = networks[result.best_trial.number]
    print(
        f"Rate {study.best_params['rate']:.4f}, {100 * (1 - winner.score(X_NEW, Y_NEW)):.1f}% wrong: the network itself"
    )


if __name__ == "__main__":
    main()

"""Optuna: a trial trains one candidate from scratch, reports a loss a pull, and is pruned or not.

Optuna runs trials one after the other and has no total budget. A user who has one can give every trial an equal share of it
("-capped"); or, since pruned trials save theirs, three shares, a quarter of the budget of twelve candidates, and stop the
study when the budget is used up; of two, three, four and six shares none is best throughout. Either way the winner is
Optuna's: the completed trial with the lowest value, which is the mean of the last quarter of its losses; if none was
completed, the lowest of all. What is left of the budget goes on training the winner: Optuna does not do that, but its user
has the model at hand.
"""

from collections.abc import Callable
from typing import Any

import optuna
from optuna.pruners import BasePruner

from benchmarks.live.tasks import Task
from restsure.training.adapters import BatchLearner

optuna.logging.set_verbosity(optuna.logging.WARNING)


def pruned_study(make_pruner: Callable[[], BasePruner], shares: int) -> Callable[[Task, int], Any]:
    """A peer: trials as long as ``shares`` equal shares of the budget, unless pruned."""

    def run(task: Task, budget: int) -> Any:
        names, left = list(task.candidates()), budget
        longest = shares * budget // len(names)
        trained = dict[int, BatchLearner]()

        def objective(trial: optuna.Trial) -> float:
            nonlocal left
            learner = trained[trial.number] = task.learner(trial.suggest_categorical("candidate", names))
            losses = list[float]()
            for step in range(longest):
                if left == 0:
                    trial.study.stop()
                    raise optuna.TrialPruned
                left -= 1
                losses += learner.train(1)
                trial.report(losses[-1], step)
                if trial.should_prune():
                    raise optuna.TrialPruned
            return last_quarter(losses)

        study = optuna.create_study(
            study_name=f"seed {task.seed}",  # Hyperband draws brackets by the name
            sampler=optuna.samplers.GridSampler({"candidate": names}, seed=task.seed),
            pruner=make_pruner(),
        )
        study.optimize(objective, n_trials=len(names))
        best = trained[_winner(study).number]
        best.train(left)
        return best.model

    return run


def _winner(study: optuna.Study) -> optuna.trial.FrozenTrial:
    if study.get_trials(deepcopy=False, states=[optuna.trial.TrialState.COMPLETE]):
        return study.best_trial
    begun = [trial for trial in study.trials if trial.intermediate_values]
    return min(begun, key=lambda trial: last_quarter(list(trial.intermediate_values.values())))


def last_quarter(losses: list[float]) -> float:
    last = losses[-max(1, len(losses) // 4) :]
    return sum(last) / len(last)

"""Who is asked for a trained model: each method is a function of a task and a budget of pulls, and returns the model.

A method is set up as somebody would who uses that tool and has that budget in all; whatever it trains counts, models that it
throws away and refits included.
"""

from collections.abc import Callable
from typing import Any

from optuna.pruners import HyperbandPruner, MedianPruner, SuccessiveHalvingPruner

import restsure as rs
from benchmarks.live import river_peer, sklearn_peer
from benchmarks.live.optuna_peer import pruned_study
from benchmarks.live.regressions import river_regressors
from benchmarks.live.tasks import Task, river_learners

Method = Callable[[Task, int], Any]

OURS = "restsure"


def selected(policy: rs.Policy | None) -> Method:
    """``select``, with the default policy or another one."""

    def run(task: Task, budget: int) -> Any:
        return rs.select(
            task.candidates(),
            (task.x, task.y),
            budget=budget,
            batch_size=task.size,
            policy=policy,
            random_state=task.seed,
            progress=False,
        ).model

    return run


METHODS: dict[str, Method] = {
    OURS: selected(None),
    "halving": selected(rs.SuccessiveHalving()),
    "r-sr": selected(rs.RisingSuccessiveRejects()),
    "round-robin": selected(rs.RoundRobin()),
    "explore-10": selected(rs.FixedExploration(0.1)),
    "explore-25": selected(rs.FixedExploration(0.25)),
    "explore-50": selected(rs.FixedExploration(0.5)),
    "explore-75": selected(rs.FixedExploration(0.75)),
    "optuna-halving": pruned_study(SuccessiveHalvingPruner, shares=3),
    "optuna-halving-capped": pruned_study(SuccessiveHalvingPruner, shares=1),
    "optuna-median": pruned_study(MedianPruner, shares=3),
    "optuna-median-capped": pruned_study(MedianPruner, shares=1),
    "optuna-hyperband": pruned_study(HyperbandPruner, shares=3),
    "optuna-hyperband-capped": pruned_study(HyperbandPruner, shares=1),
    "sklearn-halving": sklearn_peer.halving_by_samples,
    "sklearn-halving-steps": sklearn_peer.halving_by_steps,
    "river-halving": river_peer.halving,
    "river-bandit": river_peer.epsilon_greedy,
}


def applies(method: str, task: Task) -> bool:
    """scikit-learn's search takes no river models."""
    return not (method.startswith("sklearn") and task.make in (river_learners, river_regressors))

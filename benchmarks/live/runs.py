"""One seed of one task: every method with every budget, and the oracle."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.live.meter import Meter
from benchmarks.live.peers import METHODS, Method, applies
from benchmarks.live.regressions import REGRESSIONS
from benchmarks.live.tasks import OTHERS, TASKS, Task

ORACLE = "oracle"
KNOWN = {**TASKS, **OTHERS, **REGRESSIONS}


@dataclass(frozen=True)
class Outcome:
    """A method's model: its test error, and that above the oracle's, in points; pulls and seconds that it took.

    ``overhead``: seconds that were neither training nor predicting nor drawing batches.
    """

    task: str
    budget: int
    seed: int
    method: str
    error: float
    regret: float
    pulls: float
    seconds: float
    overhead: float


def one_seed(
    name: str, seed: int, budgets: Sequence[int], data: Path | None, methods: Mapping[str, Method] = METHODS
) -> list[Outcome]:
    """The outcome of every method that can be asked, and of the oracle, for every budget."""
    task, found = KNOWN[name](seed, data), list[Outcome]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # learners that have not converged after a few batches
        for budget, least in oracle(task, budgets).items():
            found.append(Outcome(name, budget, seed, ORACLE, least, 0.0, budget * len(task.candidates()), 0.0, 0.0))
            for label, method in methods.items():
                if applies(label, task):
                    found.append(outcome(name, task, budget, label, method, least))
    return found


def outcome(name: str, task: Task, budget: int, label: str, method: Method, least: float) -> Outcome:
    """What a method returns, once it is sure that it has kept to the budget."""
    with Meter(task.size) as meter:
        model = method(task, budget)
    if meter.pulls > budget:
        raise RuntimeError(f"{label} on {name}, seed {task.seed}: {meter.pulls:g} pulls of a budget of {budget}")
    error = task.error(model)
    return Outcome(name, budget, task.seed, label, error, error - least, meter.pulls, meter.seconds, meter.overhead)


def oracle(task: Task, budgets: Sequence[int]) -> dict[int, float]:
    """For each budget, the lowest test error of any candidate that gets all of it: what no method can know."""
    least = dict.fromkeys(sorted(budgets), 100.0)
    for name in task.candidates():
        learner = task.learner(name)
        for budget in least:
            learner.train(budget - learner.pulls)
            least[budget] = min(least[budget], task.error(learner.model))
    return least

"""Crossing learning curves in Optuna: which pruners drop the trial that would have ended best, and what they cost.

python benchmarks/optuna_pruner.py [--csv benchmarks/results/optuna_pruner.csv] [--orders 30] [--data DIR]

Eight learners, the loss of step s is alpha / s**.5 + beta plus noise of .01: seven fast ones (alpha .2, beta .25 to .37) and
a slow one (alpha 1, beta .05), which ends best. A trial has 100 steps, and trials run one after the other as
`study.optimize` runs them, in random orders. With the directory of recorded curves (or RESTSURE_DATA) also on some of those,
drawn at random: their best trial is often ahead by less than noise, so the regret says more than who was dropped. What
`should_prune` takes is its mean over a study, and its median in studies with 10, 100 and 1,000 trials that are complete.
"""

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import optuna
from numpy.typing import NDArray
from optuna.pruners import (
    BasePruner,
    HyperbandPruner,
    MedianPruner,
    NopPruner,
    PercentilePruner,
    SuccessiveHalvingPruner,
)

from restsure.integrations.optuna import HorizonPruner
from restsure.report.rows import write_rows
from restsure.simulation.suites.curves import curves

HEAD = ("curves", "pruner", "studies", "best dropped, %", "regret", "steps", "steps of all, %", "us a should_prune")
RECORDED = ("LCDB mean, K = 20, T = 128", "LCBench surrogate, K = 10, T = 52", "online, K = 12, T = 256")

Floats = NDArray[np.float64]


def pruners(steps: int) -> dict[str, Callable[[], BasePruner]]:
    warm = steps // 5
    return {
        "none": NopPruner,
        "MedianPruner()": MedianPruner,
        "PercentilePruner(25)": lambda: PercentilePruner(25.0),
        "SuccessiveHalvingPruner()": SuccessiveHalvingPruner,
        "HyperbandPruner()": HyperbandPruner,
        f"MedianPruner(n_warmup_steps={warm})": lambda: MedianPruner(n_warmup_steps=warm),
        f"MedianPruner(1, n_warmup_steps={warm})": lambda: MedianPruner(1, n_warmup_steps=warm),
        f"HorizonPruner({steps})": lambda: HorizonPruner(steps),
    }


@dataclass
class Tally:
    """What came of one study."""

    dropped: bool
    regret: float
    steps: int
    seconds: float
    calls: int


def crossing(orders: int) -> tuple[Floats, Floats]:
    """True and shown losses, (orders, 8, 100)."""
    alpha, beta = np.array([0.2] * 7 + [1.0]), np.array([*np.linspace(0.25, 0.37, 7), 0.05])
    steps, rng = np.arange(1, 101), np.random.default_rng(0)
    order = np.array([rng.permutation(8) for _ in range(orders)])
    losses = alpha[order][:, :, None] / steps**0.5 + beta[order][:, :, None]
    return losses, losses + rng.normal(0, 0.01, losses.shape)


def play(name: str, pruner: BasePruner, losses: Floats, shown: Floats) -> Tally:
    """One study; its outcome is the completed trial with the best last value."""
    tally = Tally(False, 0.0, 0, 0.0, 0)
    study = optuna.create_study(study_name=name, pruner=pruner)  # Hyperband draws brackets by the name

    def objective(trial: optuna.Trial) -> float:
        for step, loss in enumerate(shown[trial.number].tolist()):
            tally.steps += 1
            trial.report(loss, step)
            began = time.perf_counter()
            prune = trial.should_prune()
            tally.seconds += time.perf_counter() - began
            tally.calls += 1
            if prune:
                raise optuna.TrialPruned
        return loss

    study.optimize(objective, n_trials=len(shown))
    ends = losses[:, -1]
    tally.dropped = study.trials[int(ends.argmin())].state != optuna.trial.TrialState.COMPLETE
    tally.regret = float(ends[study.best_trial.number] - ends.min())
    return tally


def table(name: str, losses: Floats, shown: Floats) -> list[tuple[str, ...]]:
    rows = list[tuple[str, ...]]()
    studies, trials, steps = shown.shape
    for label, make in pruners(steps).items():
        tallies = [play(f"order {k}", make(), losses[k], shown[k]) for k in range(studies)]
        used = float(np.mean([tally.steps for tally in tallies]))
        cost = 1e6 * sum(tally.seconds for tally in tallies) / sum(tally.calls for tally in tallies)
        figures = (100 * float(np.mean([tally.dropped for tally in tallies])), np.mean([t.regret for t in tallies]))
        row = (name, label, str(studies), f"{figures[0]:.0f}", f"{figures[1]:.4f}", f"{used:.0f}")
        rows.append((*row, f"{100 * used / (trials * steps):.0f}", f"{cost:.0f}"))
        print("{:36} {:34} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}".format(*rows[-1]), flush=True)
    return rows


def cost(finished: int) -> list[tuple[str, ...]]:
    """A trial that is behind and not yet given up, in a study with so many that are complete; in memory."""
    rng, steps = np.random.default_rng(0), np.arange(1, 101)
    levels = rng.uniform(0.05, 0.5, finished)
    shown = 0.2 / steps**0.5 + levels[:, None] + rng.normal(0, 0.01, (finished, 100))
    rows = list[tuple[str, ...]]()
    for label, make in pruners(100).items():
        study = optuna.create_study(study_name="cost", pruner=make())
        for losses in shown.tolist():
            reports = dict(enumerate(losses))
            study.add_trial(optuna.trial.create_trial(value=losses[-1], intermediate_values=reports))
        trial, taken = study.ask(), list[float]()
        for step, loss in enumerate(1 / steps**0.5 + 0.05):
            trial.report(loss, step)
            began = time.perf_counter()
            trial.should_prune()
            taken.append(time.perf_counter() - began)
        rows.append(
            (f"{finished:,} finished trials", label, "1", "", "", "", "", f"{1e6 * float(np.median(taken)):.0f}")
        )
        print("{:36} {:34} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}".format(*rows[-1]), flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--orders", type=int, default=30)
    parser.add_argument("--data", type=Path, default=os.environ.get("RESTSURE_DATA"))
    options = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    rows = table("crossing, K = 8, T = 100", *crossing(options.orders))
    rows += [row for finished in (10, 100, 1_000) for row in cost(finished)]
    if options.data:
        for row in curves(options.data):
            if row.name in RECORDED:
                arms = row.make(options.orders, 0)
                rows += table(row.name, arms.losses, arms.seen)
    if options.csv:
        command = (
            f"python benchmarks/optuna_pruner.py --csv benchmarks/results/optuna_pruner.csv --orders {options.orders}"
        )
        write_rows(options.csv, HEAD, rows, command=command)


if __name__ == "__main__":
    main()

"""Ray Tune's schedulers beside ours: the model that an experiment gives back, and what a decision costs.

    python benchmarks/ray_tune.py [--tasks fashion,digits] [--data DIR] [--seeds 5] [--csv DIR]

Every experiment trains the same twelve candidates on the same batches, and has 256 iterations in all. Schedulers that know no
total are set up so that they need as much: ``max_t`` is the one with which they come closest to it without going beyond, when
their decisions are played on the curves of the same seed, which only a benchmark can know. From there on all is theirs, as
Ray's documentation has it; the trial is the one of ``get_best_result``, and for ours the one that it recommends.
"""

import argparse
import logging
import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import ray
from ray import tune
from ray.tune.schedulers import (
    ASHAScheduler,
    FIFOScheduler,
    HyperBandScheduler,
    MedianStoppingRule,
    TrialScheduler,
)

from benchmarks.fake_tune import FakeTune, Reports
from benchmarks.ray_trials import Online, curves_of, error_of
from restsure.integrations.ray import HorizonScheduler, recommended
from restsure.report.rows import write_rows

ROOT = Path(__file__).resolve().parents[1]
TOTAL, WORKERS = 256, 2
OURS = "HorizonScheduler"
STEPS = {"time_attr": "training_iteration", "metric": "loss", "mode": "min"}
PEERS: dict[str, Callable[[int], TrialScheduler]] = {
    "FIFO": lambda max_t: FIFOScheduler(),
    "ASHA": lambda max_t: ASHAScheduler(**STEPS, max_t=max_t, grace_period=max(1, max_t // 16)),
    "HyperBand": lambda max_t: HyperBandScheduler(**STEPS, max_t=max_t),
    "MedianStopping": lambda max_t: MedianStoppingRule(**STEPS, grace_period=max(1, max_t // 4)),
}


class SpentStopper(tune.Stopper):
    """All trials end when together they have had the total; each ends at ``max_t``."""

    def __init__(self, max_t: int | None):
        self.max_t, self.at = max_t, dict[str, int]()

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        self.at[trial_id] = result["training_iteration"]
        return self.max_t is not None and result["training_iteration"] >= self.max_t

    def stop_all(self) -> bool:
        return sum(self.at.values()) >= TOTAL


Curves = dict[str, list[float]]


def needed(make: Callable[[int], TrialScheduler], max_t: int, curves: Curves) -> int:
    """The iterations that a scheduler would take, with nobody to stop it."""

    def reports(curve: list[float]) -> Reports:
        def report(k: int) -> dict[str, float]:
            if k > max_t:
                raise StopIteration
            return {"loss": curve[k - 1]}

        return report

    played = FakeTune(make(max_t), [reports(curve) for curve in curves.values()], WORKERS)
    played.run()
    return played.steps


def longest(make: Callable[[int], TrialScheduler], curves: Curves) -> int:
    """The ``max_t`` with which a scheduler needs the total, or as little less as can be."""
    needs = {max_t: needed(make, max_t, curves) for max_t in range(2, TOTAL + 1)}
    return max((max_t for max_t, steps in needs.items() if steps <= TOTAL), key=lambda max_t: (needs[max_t], max_t))


def tuned(scheduler: TrialScheduler, max_t: int | None, space: dict[str, Any]) -> tuple[tuple[str, int, int], float]:
    """An experiment: the model it gives back, its iterations, those of all; and the seconds that it took."""
    ours = isinstance(scheduler, HorizonScheduler)
    with TemporaryDirectory() as folder:
        began = time.perf_counter()
        results = tune.Tuner(
            Online,
            param_space=space,
            tune_config=tune.TuneConfig(scheduler=scheduler, reuse_actors=True),
            run_config=tune.RunConfig(
                storage_path=folder, verbose=0, stop=None if ours else SpentStopper(max_t), callbacks=[]
            ),
        ).fit()
        took = time.perf_counter() - began
        best = recommended(results) if ours else results.get_best_result("loss", "min", scope="last")
    used = sum(result.metrics.get("training_iteration", 0) for result in results)  # some were never begun
    return (best.config["model"], best.metrics["training_iteration"], used), took


def experiments(task: str, data: str | None, count: int) -> Iterable[tuple[Any, ...]]:
    """A row for each scheduler and seed."""
    for seed in range(count):
        curves, least = curves_of(task, seed, data, TOTAL)
        schedulers: dict[str, tuple[TrialScheduler, int | None]] = {
            OURS: (HorizonScheduler(TOTAL, metric="loss", mode="min"), None)
        }
        for name, make in PEERS.items():
            max_t = longest(make, curves)
            schedulers[name] = make(max_t), max_t
        for name, (scheduler, max_t) in schedulers.items():
            space = {"model": tune.grid_search(list(curves)), "name": task, "seed": seed, "data": data}
            (model, had, used), took = tuned(scheduler, max_t, space)
            error = error_of(task, seed, data, model, had)
            row = (task, name, seed, max_t, model, had, used, round(error, 3), round(error - least, 3), round(took, 1))
            print(*row, sep="\t", flush=True)
            yield row


def decision_costs() -> Iterable[tuple[Any, ...]]:
    """Microseconds that a scheduler takes for a result: taking it in, and choosing who runs next; the best of three times."""
    for trials in (10, 100, 1_000):
        total, found = 20 * trials, dict[str, tuple[float, float, int]]()
        for name, make in (
            ("ASHA", lambda: ASHAScheduler(**STEPS, max_t=100)),
            (OURS, lambda total=total: HorizonScheduler(total, metric="loss", mode="min", workers=4)),
        ):
            found[name] = min((_timed(make(), trials, total) for _ in range(3)), key=lambda times: times[1])
        for name, (median, mean, results) in found.items():
            ratio = found[name][1] / found["ASHA"][1]
            row = (trials, name, results, round(median, 1), round(mean, 1), round(ratio, 2))
            print(*row, sep="\t", flush=True)
            yield row


def _timed(scheduler: TrialScheduler, trials: int, total: int) -> tuple[float, float, int]:
    """Median and mean over all results, of which there are ``total`` at the most."""
    rng = np.random.default_rng(0)
    alpha, beta = rng.uniform(0, 1, trials), rng.uniform(0.1, 0.5, trials)

    def reports(number: int) -> Reports:
        return lambda k: {"loss": alpha[number] / k**0.5 + beta[number] + 0.02 * rng.normal()}

    played, times = FakeTune(scheduler, [reports(number) for number in range(trials)], 4), list[float]()
    for name in ("on_trial_result", "choose_trial_to_run"):
        setattr(scheduler, name, _watched(getattr(scheduler, name), times, new=name == "on_trial_result"))
    for _ in range(trials):
        played.add()
    while played.steps < total and any(trial.status not in ("TERMINATED", "ERROR") for trial in played.trials):
        played.step()
    return 1e6 * float(np.median(times)), 1e6 * float(np.mean(times)), len(times)


def _watched(action: Callable[..., Any], times: list[float], *, new: bool) -> Callable[..., Any]:
    """The same, with its time in a list: choosing is part of the result before it."""

    def watched(*arguments: Any) -> Any:
        began = time.perf_counter()
        answer = action(*arguments)
        took = time.perf_counter() - began
        if new:
            times.append(took)
        elif times:
            times[-1] += took
        return answer

    return watched


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", default="fashion,digits", help="fashion, digits, or both")
    parser.add_argument("--data", help="where fashion_mnist_14x14.npz is")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--csv", type=Path, help="a directory for ray_tune.csv and ray_decisions.csv")
    asked = parser.parse_args()
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    os.environ["OMP_NUM_THREADS"] = "1"
    command = " ".join(["python", "benchmarks/ray_tune.py", "--tasks", asked.tasks, "--seeds", str(asked.seeds)])
    costs = list(decision_costs())
    ray.init(num_cpus=WORKERS, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    data = asked.data and str(Path(asked.data).resolve())
    rows = [row for task in asked.tasks.split(",") for row in experiments(task, data, asked.seeds)]
    ray.shutdown()
    for task, name in dict.fromkeys(row[:2] for row in rows):
        mine = [row for row in rows if row[:2] == (task, name)]
        errors, regrets = [row[7] for row in mine], [row[8] for row in mine]
        spread = np.std(errors, ddof=1) / len(errors) ** 0.5 if len(errors) > 1 else 0.0
        used = np.mean([row[6] for row in mine])
        print(
            f"{name:20} error {np.mean(errors):6.2f} +- {spread:.2f}  regret {np.mean(regrets):6.2f}  used {used:.0f}"
        )
    if asked.csv is not None:
        head = ["task", "scheduler", "seed", "max_t", "model", "iterations", "used", "test error", "regret", "seconds"]
        write_rows(asked.csv / "ray_tune.csv", head, rows, command=command)
        head = ["trials", "scheduler", "results", "median microseconds", "mean microseconds", "mean over ASHA's"]
        write_rows(asked.csv / "ray_decisions.csv", head, costs, command=command)


if __name__ == "__main__":
    main()

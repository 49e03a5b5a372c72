"""A fleet in virtual time: many candidates, many workers, skewed costs, workers that die.

python benchmarks/fleet.py [--csv benchmarks/results/fleet.csv] [--workers 256] [--most 10000] [--seed 0]

Candidates are power laws of exponent 1/2 with noise .05 and at most 100 training steps. A step takes a minute on average,
spread like a lognormal of sigma 1: one candidate in a hundred takes six minutes and more. The budget is 20 steps of each, in
seconds of work. Workers die once in 100 hours of training each; what was in hand is made again. Times of decisions are real.
"""

import argparse
import resource
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from restsure import Gaussian, HorizonLCB, PowerLawArms
from restsure.report.rows import write_rows
from restsure.simulation.tape import ArmTape
from restsure.simulation.workers import Fleet, play_by_fleet

HEAD = (
    "candidates",
    "workers",
    "decisions",
    "decisions a second",
    "us a decision",
    "over K log K, relative to the last",
    "memory, MB",
    "hours",
    "hours if never idle",
    "idle, %",
    "idle in the first half, %",
    "workers lost",
    "regret, points",
)
STEPS, LENGTH = 20, 100


def measure(n_arms: int, workers: int, seed: int) -> tuple[float, ...]:
    chance = np.random.default_rng(seed)
    arms = PowerLawArms(chance.uniform(0.1, 1, n_arms), chance.uniform(0.05, 0.6, n_arms), noise=Gaussian(0.05))
    seconds = chance.lognormal(np.log(60) - 0.5, 1, n_arms)
    budget = STEPS * float(seconds.sum())
    game = HorizonLCB().start(n_arms, budget, costs=seconds.tolist(), max_pulls=[LENGTH] * n_arms)
    fleet = Fleet(workers, seconds, failures_per_hour=0.01)
    shift = play_by_fleet(game, ArmTape(arms, np.array([0]), seed), fleet, seed=seed)
    best = game.recommend()
    could = arms.mean(0, np.arange(n_arms), np.clip(budget / seconds, 1, LENGTH)).min()
    each = shift.deciding / shift.asks
    clock, idle = shift.halfway
    return (
        shift.asks,
        1 / each,
        1e6 * each,
        each / (n_arms * np.log(n_arms)),
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        shift.clock / 3600,
        budget / workers / 3600,
        100 * shift.idle / (shift.clock * workers),
        100 * idle / (clock * workers),
        shift.deaths,
        100 * float(arms.mean(0, best.arm, best.pulls) - could),
    )


def lines(most: int, workers: int, seed: int) -> Iterator[list[object]]:
    sizes = [n for n in (10, 100, 1_000, 10_000, 100_000) if n <= most]
    found = list[list[object]]()
    for n_arms in sizes:
        figures = measure(n_arms, workers, seed)
        print(n_arms, *(f"{figure:.4g}" for figure in figures), sep="\t", flush=True)
        found.append([n_arms, workers, *figures])
    last = found[-1][5]
    for line in found:
        line[5] /= last  # type: ignore[operator]
        yield line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--workers", type=int, default=256)
    parser.add_argument("--most", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rows = list(lines(given.most, given.workers, given.seed))
    if given.csv:
        write_rows(given.csv, HEAD, rows, command="python benchmarks/fleet.py")


if __name__ == "__main__":
    main()

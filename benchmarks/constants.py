"""Where the constants of HorizonLCB come from: each is moved up and down, and the regrets are compared.

    python benchmarks/constants.py [--runs 1000] [--seed 11] [--jobs 2] [--csv benchmarks/results/constants.csv]
    python benchmarks/constants.py --scoring [--csv benchmarks/results/constants_scoring.csv]

Played on half of the data sets of LCDB, TaskSet and LCBench and on synthetic problems. Ratios are geometric means of the regret
over that with the constants as they are, by kind of problem and over all kinds; below one is better. What seems better by two
standard errors is played once more with fresh draws, for of a hundred moves some must seem so; ``again`` is what is left of it.
A move that is better twice, and worse for no kind, is one to make; where none is, this search knows no better constants.

``--scoring`` compares the rule with the one that it began with, on the other half of the data sets and fresh draws; nothing
is to be chosen by it.
"""

import argparse
import math
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from itertools import repeat
from pathlib import Path
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

import restsure as rs
from restsure.arms import Arms, Gaussian
from restsure.estimators.filters import FILTERS, KINSHIP, Filter
from restsure.report.rows import write_rows
from restsure.simulation.suites.curves import curves
from restsure.simulation.suites.in_model import in_model
from restsure.simulation.suites.rising import settings
from restsure.simulation.suites.row import Row
from restsure.simulation.suites.shapes import shapes

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.other_filters import THREE, OtherFilters

FITTING, SCORING = 0, 1
KINDS: Mapping[str, tuple[str, ...]] = {
    "LCDB mean": (
        *(f"LCDB mean, K = {k}, T = 256" for k in (5, 10, 20)),
        *(f"LCDB mean, K = 10, T = {horizon}" for horizon in (128, 512)),
    ),
    "LCDB split": tuple(f"LCDB split, K = {k}, T = 256" for k in (5, 10)),
    "TaskSet, LCBench": (
        *(f"TaskSet, K = {k}, T = 51" for k in (3, 5, 10)),
        *(f"LCBench surrogate, K = {k}, T = 52" for k in (3, 5, 10)),
    ),
    "in-model": (
        *(f"crossing, K = 8, T = 1,000, {noise}" for noise in ("Gaussian .1", "Bernoulli")),
        *(f"random, K = {k}, T = 1,000, Gaussian .1" for k in (2, 8)),
        "crossing, K = 32, T = 1,000, Gaussian .1",
    ),
    "Settings A, B": (
        *(f"Setting A, sigma {sigma}, T = {horizon}" for sigma in (0.01, 0.1) for horizon in (500, 1_000)),
        *(f"Setting B, sigma {sigma}, T = {horizon}" for sigma in (0.01, 0.1) for horizon in (200, 400)),
        "Setting B, sigma 0.1, T = 800",  # with less noise there is nothing left to lose
    ),
    "shapes": (
        *("exponents .1 to 1.2, K = 10, T = 256", "exponentials, T/3, K = 8, T = 256"),
        *("shifted by 3T/10, K = 8, T = 256", "shifted by T/10, K = 8, T = 1,000", "sigmoids, K = 8, T = 1,000"),
    ),
}
RECORDED = ("LCDB mean", "LCDB split", "TaskSet, LCBench")
MODULES = {  # where a constant is looked up
    "FEW": "restsure.policies.horizon_play",
    "LEVEL_SD": "restsure.estimators.live_filters",
    "SLOPE": "restsure.estimators.filters",
    "ALOFT": "restsure.estimators.log_trend",
    "POOLED": "restsure.estimators.roughness",
    "OWN": "restsure.estimators.roughness",
}
STEPS = (0.8, 1.25)
SMALL = 0.02  # points added to every regret: from there on it does not count how much smaller it is
CLEARLY = 2.0  # standard errors


@dataclass(frozen=True)
class Constants:
    """All that was chosen by looking at regrets."""

    filters: tuple[Filter, ...] = FILTERS
    kinship: float = KINSHIP
    patience: float = 1.0
    others: Mapping[str, float] = field(default_factory=dict)

    @property
    def policy(self) -> rs.HorizonLCB:
        return rs.HorizonLCB(OtherFilters(self.filters, self.kinship), patience=self.patience)

    def in_place(self) -> ExitStack:
        stack = ExitStack()
        for name, value in self.others.items():
            stack.enter_context(patch(f"{MODULES[name]}.{name}", value))
        return stack


FIRST = Constants(THREE, 1e9, 0.9, {"FEW": math.inf, "LEVEL_SD": 1.0, "ALOFT": math.inf})
"""Those that this rule began with; how it takes noise and scale, and what is at the floor, are no constants."""


def moves() -> Iterator[tuple[str, float, float, Constants]]:
    """Each constant, its value, another value, and the constants with that."""
    now = Constants()
    for k, each in enumerate(FILTERS, start=1):
        for name, value in each._asdict().items():
            for step in STEPS if value else ():
                other = [*FILTERS]
                other[k - 1] = each._replace(**{name: step * value})
                total = sum(f.weight for f in other)
                rescaled = tuple(f._replace(weight=f.weight / total) for f in other)
                yield f"filter {k}: {name}", value, step * value, replace(now, filters=rescaled)
    for step in STEPS:
        yield "patience", now.patience, step * now.patience, replace(now, patience=step * now.patience)
        yield "KINSHIP", KINSHIP, step * KINSHIP, replace(now, kinship=step * KINSHIP)
        for name, module in MODULES.items():
            value = getattr(import_module(module), name)
            yield name, value, step * value, replace(now, others={name: step * value})


@cache
def problems(half: int, runs: int, seed: int) -> dict[str, tuple[Row, Arms, int]]:
    """The problems by name: their arms, and how many runs of each; synthetic ones have a quarter of the runs."""
    rows = {row.name: row for row in (*curves(None, half), *in_model(None), *shapes(None))}
    rows |= {f"{row.group}, {row.name}": row for row in settings((500, 1_000), (200, 400, 800), Gaussian)}
    played = dict[str, tuple[Row, Arms, int]]()
    for kind, names in KINDS.items():
        count = runs if kind in RECORDED else max(runs // 4, 1)
        played |= {name: (rows[name], rows[name].make(count, seed), count) for name in names}
    return played


Regrets = dict[str, NDArray[np.float64]]


def regrets(constants: Constants, half: int, runs: int, seed: int) -> Regrets:
    """Of every run of every problem, in its unit."""
    with constants.in_place():
        return {
            name: row.scale * rs.simulate(constants.policy, arms, row.horizon, count, seed).regret
            for name, (row, arms, count) in problems(half, runs, seed).items()
        }


@dataclass(frozen=True)
class Ratio:
    """Regret over that of others on the same draws: by kind, over all kinds, and the standard error of its logarithm."""

    kinds: dict[str, float]
    all: float
    error: float

    @property
    def clearly_better(self) -> bool:
        return math.log(self.all) < -CLEARLY * self.error


def ratio(ours: Regrets, theirs: Regrets) -> Ratio:
    logs, variances = dict[str, float](), list[float]()
    for kind, names in KINDS.items():
        found, spread = list[float](), list[float]()
        for name in names:
            mine, other = ours[name].mean() + SMALL, theirs[name].mean() + SMALL
            found.append(math.log(mine / other))
            spread.append(float(np.var(ours[name] / mine - theirs[name] / other)) / len(ours[name]))
        logs[kind] = sum(found) / len(found)
        variances.append(sum(spread) / len(spread) ** 2)
    overall = sum(logs.values()) / len(logs)
    kinds = {kind: math.exp(value) for kind, value in logs.items()}
    return Ratio(kinds, math.exp(overall), math.sqrt(sum(variances)) / len(logs))


def line(name: str, value: float, tried: float, found: Ratio, again: Ratio | None) -> list[str]:
    shares = [f"{share:.3f}" for share in (*found.kinds.values(), found.all)]
    moved = [f"{each:.4g}" if math.isfinite(each) else "" for each in (value, tried)]
    return [name, *moved, *shares, f"{found.error:.3f}", f"{again.all:.3f}" if again else ""]


HEAD = ["constant", "value", "tried", *KINDS, "all", "se", "again"]


def search(pool: ProcessPoolExecutor, runs: int, seed: int) -> Iterator[list[str]]:
    options = tuple(repeat(each) for each in (FITTING, runs, seed))
    fresh = (FITTING, runs, seed + 1)
    tried = [("the rule it began with", math.nan, math.nan, FIRST), *moves()]
    now_again = pool.submit(regrets, Constants(), *fresh)
    results = pool.map(regrets, (Constants(), *(constants for *_, constants in tried)), *options)
    now = next(results)
    for (name, value, other, constants), found in zip(tried, results, strict=True):
        first, again = ratio(found, now), None
        if first.clearly_better:
            again = ratio(pool.submit(regrets, constants, *fresh).result(), now_again.result())
        yield line(name, value, other, first, again)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1_000)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--scoring", action="store_true")
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else 21 if options.scoring else 11
    lines = list[list[str]]()
    with ProcessPoolExecutor(options.jobs) as pool:
        if options.scoring:
            now, first = pool.map(regrets, (Constants(), FIRST), repeat(SCORING), repeat(options.runs), repeat(seed))
            found = [line("the rule over the one it began with", math.nan, math.nan, ratio(now, first), None)]
        else:
            found = search(pool, options.runs, seed)
        for each in found:
            lines.append(each)
            print("  ".join(f"{cell:>8}" if k else f"{cell:28}" for k, cell in enumerate(each)), flush=True)
    if options.csv:
        scoring = " --scoring" if options.scoring else ""
        command = f"python benchmarks/constants.py{scoring} --runs {options.runs} --seed {seed}"
        write_rows(options.csv, HEAD, lines, command=command)


if __name__ == "__main__":
    main()

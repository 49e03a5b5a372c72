"""The rule as it was first written down, in plain Python, beside the rule as it is, on the same losses.

    python benchmarks/first_rule.py [--replicates 1000] [--group-replicates 200] [--seed 1] [--jobs 2]
        [--csv benchmarks/results/first_rule.csv]

Three filters with one exponent and one process noise, a reach of all that is left, a width of .9, nothing shared by the arms.
Nothing here is shared with the package but the arms and their losses: what the first version was said to reach, ``noted``
below, is reproduced by it, and what has been won since then is the difference.
"""

import argparse
import math
import re
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

import restsure as rs
from restsure.problem import pseudo_regret
from restsure.report.rows import write_rows
from restsure.simulation.suites.curves import curves
from restsure.simulation.suites.in_model import in_model
from restsure.simulation.suites.rising import settings
from restsure.simulation.suites.row import Row
from restsure.simulation.suites.shapes import shapes
from restsure.simulation.tape import Tape, tape_for

RHO, WIDTH, BLOCK, LEVEL_NOISE, TREND_NOISE = 0.5, 0.9, 0.05, 0.05, 0.10
FILTERS = ((0.0, 0.6, 0.3), (1 / 20, 0.3, 0.6), (1 / 2, 0.1, 0.6))  # s0 / T, prior weight, slope prior sd / L
LCDB = r"LCDB mean, .*|LCDB split, K = \d+, T = 256|LCDB split, K = 10, T = 128"
NOTED = {  # points of regret that were noted of the first rule, in the mean of some rows, and which these are
    "LCDB mean, K = 5, T = 256": (0.65, curves, "LCDB mean, K = 5, T = 256"),
    "LCDB mean, K = 10, T = 256": (1.08, curves, "LCDB mean, K = 10, T = 256"),
    "LCDB mean, K = 20, T = 256": (1.78, curves, "LCDB mean, K = 20, T = 256"),
    "crossing, K = 8, T = 10,000, Gaussian .1": (0.12, in_model, r"crossing, K = 8, T = 10,000, Gaussian \.1"),
    "crossing, K = 8, T = 10,000, Bernoulli": (0.22, in_model, "crossing, K = 8, T = 10,000, Bernoulli"),
    "in the model, 24 rows": (0.64, in_model, r"(random|crossing), K = \d+, T = (1,000|10,000), .*"),
    "online, 3 rows": (1.16, curves, "online, .*"),
    "LCDB of both versions, 13 rows (which?)": (1.39, curves, LCDB),
    "TaskSet, LCBench and such, 9 rows (which?)": (1.86, curves, "(TaskSet|LCBench|neural|Pythia).*"),
    "Settings A and B, 12 rows (which?)": (14.3, lambda data: settings((500, 1_000, 2_000), (200, 400, 800)), ".*"),
    "other shapes, 10 rows (which?)": (1.32, shapes, ".*"),
}


class FirstArm:
    """The losses of an arm, and its three filters as they stand after all of them."""

    def __init__(self, horizon: int):
        self.horizon, self.losses, self.fed = horizon, list[float](), 0
        self.total = self.weighed = self.weights = 0.0  # of the losses, and of their second differences
        self.scale = self.noise = math.nan  # with which the filters were started
        self.filters = list[list[float]]()  # level, drop, P11, P12, P22, log-likelihood

    def tell(self, losses: list[float]) -> None:
        for loss in losses:
            self.losses.append(loss)
            self.total += loss
            if (s := len(self.losses)) > 2:
                bend = loss - 2 * self.losses[-2] + self.losses[-3]
                self.weighed += (s - 1) * bend * bend / 6
                self.weights += s - 1

    def run(self, scale: float, noise: float) -> None:
        """Feed what is new; all of it again if scale or noise have left [.8, 1.25] times what the filters started with."""
        if not (0.8 <= scale / self.scale <= 1.25 and 0.8 <= noise / self.noise <= 1.25):
            self.scale, self.noise, self.fed = scale, noise, 0
            self.filters = [[scale, 0.1 * scale, scale**2, 0.0, (sd * scale) ** 2, 0.0] for _, _, sd in FILTERS]
        for state, (offset, _, _) in zip(self.filters, FILTERS, strict=True):
            self._feed(state, offset * self.horizon)
        self.fed = len(self.losses)

    def _feed(self, state: list[float], s0: float) -> None:
        level, drop, p11, p12, p22, likelihood = state
        low, high, noise = 0.02 * self.scale, 2 * self.scale, self.noise
        for n in range(self.fed, len(self.losses)):
            if n:
                du = math.log((n + 1 + s0) / (n + s0))
                f = math.exp(-RHO * du)
                g, q = (1 - f) / RHO, min(max(level, low), high)
                level, drop = level - g * drop, drop * f
                p11 += -2 * g * p12 + g * g * p22 + (LEVEL_NOISE * q) ** 2 * du
                p12 = f * (p12 - g * p22)
                p22 = f * f * p22 + (TREND_NOISE * q) ** 2 * du
            variance, error = p11 + noise, self.losses[n] - level
            likelihood -= 0.5 * (math.log(variance) + error * error / variance)
            gain, drop_gain = p11 / variance, p12 / variance
            level, drop = level + gain * error, drop + drop_gain * error
            p11, p12, p22 = p11 - gain * p11, p12 - gain * p12, p22 - drop_gain * p12
        state[:] = level, drop, p11, p12, p22, likelihood

    def predict(self, pulls: float) -> tuple[float, float]:
        """Mean and variance after so many pulls, the filters mixed by prior weight times likelihood."""
        best, n = max(state[-1] for state in self.filters), len(self.losses)
        mixed = list[tuple[float, float, float]]()
        for (level, drop, p11, p12, p22, likelihood), (offset, prior, _) in zip(self.filters, FILTERS, strict=True):
            d = math.log((pulls + offset * self.horizon) / (n + offset * self.horizon))
            f = math.exp(-RHO * d)
            g, q = (1 - f) / RHO, min(max(level, 0.02 * self.scale), 2 * self.scale)
            wander = LEVEL_NOISE**2 * d + TREND_NOISE**2 * (d - 2 * g + (1 - f * f) / (2 * RHO)) / RHO**2
            variance = p11 - 2 * g * p12 + g * g * p22 + q * q * wander
            mixed.append((prior * math.exp(likelihood - best), level - max(drop, 0.0) * g, variance))
        whole = sum(weight for weight, _, _ in mixed)
        mean = sum(weight * each for weight, each, _ in mixed) / whole
        return mean, sum(weight * (spread + (each - mean) ** 2) for weight, each, spread in mixed) / whole


def play(tape: Tape, first_cell: int, n_arms: int, horizon: int) -> tuple[int, list[int]]:
    """One game: the arm that it returns, and the pulls of all arms."""
    arms, spent = [FirstArm(horizon) for _ in range(n_arms)], 0

    def pull(arm: int, times: int) -> None:
        nonlocal spent
        spent += times
        while times:
            block = min(times, tape.width)
            arms[arm].tell(tape.read(np.array([first_cell + arm]), block)[0].tolist())
            times -= block

    for arm in range(n_arms):
        pull(arm, min(2 if 4 * n_arms <= horizon else 1, horizon - spent))
    while True:
        take_stock(arms)
        if spent == horizon:
            now = [arm.predict(len(arm.losses))[0] for arm in arms]
            return now.index(min(now)), [len(arm.losses) for arm in arms]
        index = list[float]()
        for arm in arms:
            n, left = len(arm.losses), horizon - spent
            mean, variance = arm.predict(n + left)
            index.append(mean - WIDTH * math.sqrt(2 * math.log(1 + left / (n_arms * n)) * variance))
        best = index.index(min(index))
        pull(best, min(max(1, int(BLOCK * len(arms[best].losses))), horizon - spent))


def take_stock(arms: list[FirstArm]) -> None:
    """Scale and noise of all arms as they are now; then the filters run."""
    means = [arm.total / len(arm.losses) for arm in arms]
    median = float(np.median(means))
    scale = max(min(median, max(8 * float(np.std(means)), median / 10)), 1e-9)
    counts = [min(len(arm.losses) - 2, 10) if arm.weights else 0 for arm in arms]
    own = [arm.weighed / arm.weights if arm.weights else 0.0 for arm in arms]
    pooled = (sum(count * each for count, each in zip(counts, own, strict=True)) + (0.02 * scale) ** 2) / (
        sum(counts) + 1
    )
    for arm, each in zip(arms, own, strict=True):
        extra = max(len(arm.losses) - 2, 0)
        arm.run(scale, max((20 * pooled + extra * each) / (20 + extra), (0.001 * scale) ** 2))


def regrets(row: Row, replicates: int, seed: int, runs: range) -> list[float]:
    """Of the first rule, in some runs of a row."""
    arms, some = row.make(replicates, seed), np.array(runs)
    tape = tape_for(arms, some, seed, row.horizon)
    found = [play(tape, k * arms.n_arms, arms.n_arms, row.horizon) for k in range(len(runs))]
    chosen, pulls = np.array([arm for arm, _ in found]), np.array([pulls[arm] for arm, pulls in found])
    regret = pseudo_regret(arms.mean(some, chosen, pulls), arms.means(some, row.horizon))
    return list(row.scale * np.asarray(regret))


def part(name: str, row: int, replicates: int, seed: int, runs: range) -> list[float]:
    return regrets(rows_of(name)[row], replicates, seed, runs)


def rows_of(name: str) -> list[Row]:
    _, suite, pattern = NOTED[name]
    return [row for row in suite(None) if re.fullmatch(pattern, row.name)]


def mean_and_error(rows: list[Any]) -> tuple[float, float]:
    """Of the mean over rows that were drawn apart."""
    squares = sum(float(np.var(row, ddof=1)) / len(row) for row in rows)
    return float(np.mean([np.mean(row) for row in rows])), squares**0.5 / len(rows)


def both_rules(pool: ProcessPoolExecutor, name: str, replicates: int, seed: int) -> tuple[list[Any], list[Any]]:
    """Regrets of the first rule and of the rule as it is, in every row of that name."""
    first, now = list[Any](), list[Any]()
    for k, row in enumerate(rows_of(name)):
        count = min(replicates, row.replicates or replicates)
        parts = [range(start, min(start + 20, count)) for start in range(0, count, 20)]
        first.append(np.concatenate(list(pool.map(part, *map(repeat, (name, k, count, seed)), parts))))
        played = rs.simulate(rs.HorizonLCB(), row.make(count, seed), row.horizon, count, seed)
        now.append(row.scale * played.regret)
    return first, now


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=1_000)
    parser.add_argument("--group-replicates", type=int, default=200, help="runs of each row of a group")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    seed, lines = options.seed, list[tuple[Any, ...]]()
    with ProcessPoolExecutor(options.jobs) as pool:
        for name, (noted, _, _) in NOTED.items():
            count = options.group_replicates if "rows" in name else options.replicates
            first, now = both_rules(pool, name, count, seed)
            apart = [ours - theirs for ours, theirs in zip(now, first, strict=True)]
            figures = [noted, *mean_and_error(first), *mean_and_error(now), *mean_and_error(apart)]
            lines.append((name, count, *(f"{figure:.3f}" for figure in figures)))
            print(
                "{:42} {} runs: noted {}, first rule {} ± {}, now {} ± {}, difference {} ± {}".format(*lines[-1]),
                flush=True,
            )
    if options.csv:
        head = ["row", "runs", "noted", "first rule", "se", "now", "se of now", "difference", "se of it"]
        sizes = f"--replicates {options.replicates} --group-replicates {options.group_replicates}"
        write_rows(options.csv, head, lines, command=f"python benchmarks/first_rule.py {sizes} --seed {seed}")


if __name__ == "__main__":
    main()

"""The rule as it was first written down, in plain Python, beside the rule as it is, on the same losses.

    python benchmarks/first_rule.py [--replicates 1000] [--seed 1] [--jobs 2] [--csv benchmarks/results/first_rule.csv]

Three filters with one exponent and one process noise, a reach of all that is left, a width of .9, nothing shared by the arms.
Nothing here is shared with the package but the arms and their losses: what the first version was said to reach, ``noted``
below, is reproduced by it, and what has been won since then is the difference.
"""

import argparse
import math
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

import restsure as rs
from restsure.problem import pseudo_regret
from restsure.report.rows import write_rows
from restsure.simulation.suites import SUITES, Row
from restsure.simulation.tape import Tape, tape_for

RHO, WIDTH, BLOCK, LEVEL_NOISE, TREND_NOISE = 0.5, 0.9, 0.05, 0.05, 0.10
FILTERS = ((0.0, 0.6, 0.3), (1 / 20, 0.3, 0.6), (1 / 2, 0.1, 0.6))  # s0 / T, prior weight, slope prior sd / L
NOTED = {  # points of regret that were noted of the first rule, in the mean of some rows of a suite
    ("curves", "LCDB mean, K = 5, T = 256"): 0.65,
    ("curves", "LCDB mean, K = 10, T = 256"): 1.08,
    ("curves", "LCDB mean, K = 20, T = 256"): 1.78,
    ("curves", "online"): 1.16,
    ("in-model", "crossing, K = 8, T = 10,000, Gaussian .1"): 0.12,
    ("in-model", "crossing, K = 8, T = 10,000, Bernoulli"): 0.22,
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


def part(suite: str, name: str, replicates: int, seed: int, runs: range) -> list[float]:
    """The mean over the rows of a suite that begin so."""
    return list(np.mean([regrets(row, replicates, seed, runs) for row in rows_of(suite, name)], axis=0))


def rows_of(suite: str, name: str) -> list[Row]:
    return [row for row in SUITES[suite](None) if row.name.startswith(name)]


def mean_and_error(values: Any) -> tuple[float, float]:
    return float(np.mean(values)), float(np.std(values, ddof=1) / len(values) ** 0.5)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    count, seed, lines = options.replicates, options.seed, list[tuple[Any, ...]]()
    for (suite, name), noted in NOTED.items():
        parts = [range(k, min(k + 20, count)) for k in range(0, count, 20)]
        with ProcessPoolExecutor(options.jobs) as pool:
            first = np.concatenate(list(pool.map(part, *(repeat(each) for each in (suite, name, count, seed)), parts)))
        rows, rule = rows_of(suite, name), rs.HorizonLCB()
        now = np.mean(
            [row.scale * rs.simulate(rule, row.make(count, seed), row.horizon, count, seed).regret for row in rows],
            axis=0,
        )
        figures = [noted, *mean_and_error(first), *mean_and_error(now), *mean_and_error(now - first)]
        lines.append((name, count, *(f"{figure:.3f}" for figure in figures)))
        print(
            "{:42} {} runs: noted {}, first rule {} ± {}, now {} ± {}, difference {} ± {}".format(*lines[-1]),
            flush=True,
        )
    if options.csv:
        head = ["row", "runs", "noted", "first rule", "se", "now", "se of now", "difference", "se of it"]
        command = f"python benchmarks/first_rule.py --replicates {count} --seed {seed}"
        write_rows(options.csv, head, lines, command=command)


if __name__ == "__main__":
    main()

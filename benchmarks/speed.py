"""How fast it is: one round at many arms, and the time a simulated pull takes beside others who simulate.

    python benchmarks/speed.py [--csv benchmarks/results/speed.csv]       (needs Optuna: pip install '.[bench]')

Times depend on the machine; the ratios are what is claimed. One core: numpy runs these sizes without threads.
"""

import argparse
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import restsure as rs
from restsure.estimators import compiled, live_filters, live_trend
from restsure.policies.lines import line_11_eliminate
from restsure.report.rows import write_rows
from restsure.simulation.suites.rising import SETTING_A, rising_arms
from tests.paper import reference

Line = tuple[str, str, float, float]  # benchmark, quantity, value, ratio
FILTERS = {compiled.LiveFilters: ""} if compiled.COMPILED else {}
FILTERS[live_filters.LiveFilters] = ", interpreted"  # as without a C compiler


def seconds(action: Callable[[], object], at_least_s: float = 0.3) -> float:
    """Best time of one call, over enough calls to fill ``at_least_s``."""
    best, total = math.inf, 0.0
    while total < at_least_s:
        start = time.perf_counter()
        action()
        took = time.perf_counter() - start
        best, total = min(best, took), total + took
    return best


def crossing(rng: np.random.Generator, shape: tuple[int, ...] | int) -> tuple[np.ndarray, np.ndarray]:
    alpha = rng.random(shape)
    return alpha, np.clip(0.5 - 0.45 * alpha + rng.normal(0, 0.02, shape), 0, 1)


def live_round(n_arms: int) -> float:
    """Ask, tell and decide: one whole round of a live game in which all arms are still active."""
    rng = np.random.default_rng(0)
    alpha, beta = crossing(rng, n_arms)
    horizon = 100 * n_arms
    game = rs.RestSure(bound=rs.bounds.ExactWeights(0.1)).start(n_arms, horizon)
    rounds = iter(alpha[:, None] * np.arange(1, 100) ** -0.5 + beta[:, None] + rng.normal(0, 0.1, (n_arms, 99)))
    table = list(rounds)
    best = math.inf
    for s in range(6):  # with so few losses nobody is eliminated yet
        start = time.perf_counter()
        for _ in range(n_arms):
            pull = game.ask()
            assert pull is not None
            game.tell(pull.arm, [float(table[pull.arm][s])])
        _ = game.over  # the decision after the round
        if s >= 2:
            best = min(best, time.perf_counter() - start)
    assert not game.log
    return best


def live_horizon(n_arms: int, horizon: int, decisions: int | None = None) -> tuple[float, float]:
    """A live game of HorizonLCB: the median time of a decision (ask and tell) after the start, and the time a pull."""
    rng = np.random.default_rng(0)
    alpha, beta = crossing(rng, n_arms)
    game, told, times, pulls = rs.HorizonLCB().start(n_arms, horizon), np.zeros(n_arms, dtype=int), list[float](), 0
    while decisions is None or len(times) < decisions:
        start = time.perf_counter()
        pull = game.ask()
        asked = time.perf_counter() - start
        if pull is None:
            break
        s = told[pull.arm] + np.arange(1, pull.times + 1)
        losses = (alpha[pull.arm] * s**-0.5 + beta[pull.arm] + rng.normal(0, 0.1, pull.times)).tolist()
        told[pull.arm] += pull.times
        start = time.perf_counter()
        game.tell(pull.arm, losses)
        if min(told) >= 2:
            times.append(asked + time.perf_counter() - start)
            pulls += pull.times
    return float(np.median(times[1:])), sum(times) / pulls


class Prepared:
    """A candidate that takes no time to train: its losses are known."""

    def __init__(self, losses: list[float]):
        self.losses, self.pulls = losses, 0

    def train(self, times: int) -> list[float]:
        self.pulls += times
        return self.losses[self.pulls - times : self.pulls]


def selection(count: int, steps: int) -> float:
    """The median time of a step of ``select`` over ten problems, where training takes none."""
    times = list[float]()
    for seed in range(10):
        rng = np.random.default_rng(seed)
        alpha, beta = crossing(rng, (count, 1))
        losses = alpha * np.arange(1.0, steps + 1) ** -0.5 + beta + rng.normal(0, 0.1, (count, steps))
        candidates = {f"candidate {k}": Prepared(each) for k, each in enumerate(losses.tolist())}
        start = time.perf_counter()
        rs.select(candidates, budget=steps, progress=False)
        times.append((time.perf_counter() - start) / steps)
    return float(np.median(times))


def optuna_step(pruner: object, trials: int = 12, steps: int = 60) -> float:
    """The median time of ``report`` and ``should_prune``, in memory."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study, times = optuna.create_study(pruner=pruner), list[float]()
    for _ in range(trials):
        trial = study.ask()
        for step in range(steps):
            start = time.perf_counter()
            trial.report(0.5 * (step + 1) ** -0.5, step)
            trial.should_prune()
            times.append(time.perf_counter() - start)
        study.tell(trial, 0.3)
    return float(np.median(times))


def decisions() -> list[Line]:
    """What a decision costs in a live game, beside Optuna's; the ratio is to the median pruner's time."""
    import optuna

    median = optuna_step(optuna.pruners.MedianPruner())
    halving = optuna_step(optuna.pruners.SuccessiveHalvingPruner())
    found = [
        ("Optuna, MedianPruner", "report + should_prune: microseconds", median),
        ("Optuna, SuccessiveHalvingPruner", "report + should_prune: microseconds", halving),
    ]
    for filters, how in FILTERS.items():
        with patch.object(live_trend, "LiveFilters", filters):
            few, few_a_pull = min(live_horizon(12, 10_000) for _ in range(3))
            found += [
                (f"HorizonLCB, live, K = 12, T = 1e4{how}", "ask + tell: microseconds a decision", few),
                (f"HorizonLCB, live, K = 12, T = 1e4{how}", "the same, a pull", few_a_pull),
            ]
            for steps in (256, 512):
                what = f"{steps} steps: microseconds a step that are not training"
                found.append((f"select, 12 candidates{how}", what, selection(12, steps)))
    many, _ = live_horizon(10_000, 100_000, decisions=1_500)
    found.append(("HorizonLCB, live, K = 10,000, T = 1e5", "ask + tell: microseconds a decision after the start", many))
    return [(label, what, 1e6 * took, took / median) for label, what, took in found]


def elimination(n_arms: int, *, on_the_envelope: bool) -> float:
    """Line 11 alone; at worst every arm is the best one somewhere, so that the envelope has as many corners as arms."""
    rng = np.random.default_rng(1)
    alpha, beta = crossing(rng, n_arms)
    if on_the_envelope:
        alpha = rng.permutation(np.linspace(0.3, 1, n_arms))
        beta = 0.5 * (1 - alpha) ** 2  # tangents of the concave curve x - x^2 / 2
    call = lambda: line_11_eliminate(  # noqa: E731
        alpha, beta, pulls=2, reach=10**6, rho=0.5, gap=lambda x: np.full_like(x, 0.05)
    )
    return seconds(call)


def growth(times: dict[int, float]) -> list[tuple[int, float, float]]:
    """Time, and time over K log K relative to the largest K."""
    last = max(times)
    unit = times[last] / (last * math.log(last))
    return [(k, t, t / (k * math.log(k)) / unit) for k, t in times.items()]


def nanoseconds(policy: rs.Policy, arms: rs.arms.Arms, horizon: int, runs: int) -> float:
    """Time a pull of a whole simulation, drawing and deciding included; the better of two, the first warms up memory."""

    def once() -> float:
        start = time.perf_counter()
        rs.simulate(policy, arms, horizon, runs, seed=0)
        return 1e9 * (time.perf_counter() - start) / (runs * horizon)

    return min(once(), once())


def naive() -> float:
    """The pseudocode in plain Python: the same policy, K and T as below, one game, losses drawn one by one."""
    rng = np.random.default_rng(0)
    alpha, beta = (part[0] for part in crossing(rng, (1, 8)))
    start = time.perf_counter()
    table = [[alpha[i] * s**-0.5 + beta[i] + 0.1 * rng.standard_normal() for s in range(1, 1_251)] for i in range(8)]
    radius = reference.Theorem2(8, 10_000, 0.5, 1.0, 1e-4, 1.0)
    played = reference.Naive(table, 10_000, 0.5, reference.two_window, radius).rest_sure()
    assert played.pulls == [1_250] * 8
    return 1e9 * (time.perf_counter() - start) / 10_000


def plain_loop() -> float:
    """A plain loop over eight arms that draws each loss and updates two sums of its arm; no decision is made."""
    rng = np.random.default_rng(0)
    alpha, beta = (part.tolist() for part in crossing(rng, 8))
    pulls, first, second = [0] * 8, [0.0] * 8, [0.0] * 8
    times = 300_000
    start = time.perf_counter()
    for t in range(times):
        i = t % 8
        pulls[i] += 1
        x = pulls[i] ** -0.5
        loss = rng.normal(alpha[i] * x + beta[i], 0.1)
        first[i] += loss
        second[i] += loss * x
    return 1e9 * (time.perf_counter() - start) / times


PUBLIC_US = {"R-UCBE": 15.0, "R-SR": 8.0, "R-ed-UCB": 36.0, "REST-SURE": 270.0}
"""Microseconds a pull of the rising-bandit papers' public simulators, measured once; REST-SURE's at T = 800, growing with T."""


def simulations() -> list[Line]:
    """Nanoseconds a pull, and how many times faster than the naive pseudocode, the plain loop or the public simulators."""
    rows, slow, loop = list[Line](), naive(), plain_loop()
    rows.append(("naive pseudocode, published REST-SURE", "K = 8, T = 1e4: ns a pull", slow, 1.0))
    rows.append(("plain Python loop, two sums, no decision", "K = 8: ns a pull", loop, 1.0))
    drawn = rs.PowerLawArms(*crossing(np.random.default_rng(0), (1_000, 8)), noise=rs.Gaussian(0.1))
    for label, policy in (
        ("round robin", rs.RoundRobin()),
        ("published ETC", rs.ExploreThenCommit.as_published()),
        ("published REST-SURE", rs.RestSure.as_published()),
        ("REST-SURE, least squares, Theorem 2", rs.RestSure(bound=rs.bounds.Theorem2())),
        ("REST-SURE, least squares, exact width", rs.RestSure(bound=rs.bounds.ExactWeights(0.1))),
        ("successive halving", rs.SuccessiveHalving()),
        ("R-SR", rs.RisingSuccessiveRejects()),
        ("HorizonLCB, known shape", rs.HorizonLCB(rs.PowerLaw(0.5, 0.1))),
        ("HorizonLCB", rs.HorizonLCB()),
    ):
        took = nanoseconds(policy, drawn, 10_000, 1_000)
        rows.append((f"{label}: over the plain loop", "K = 8, T = 1e4, 1,000 runs: ns a pull", took, loop / took))
        if label == "published REST-SURE":
            rows.append((f"{label}: over the naive pseudocode", "the same", took, slow / took))
    setting = rising_arms(SETTING_A, rs.Gaussian(0.01))
    for label, policy in (
        ("R-UCBE", rs.RisingUCBE(sigma=0.01, a=20.0, factor=10)),
        ("R-SR", rs.RisingSuccessiveRejects()),
        ("R-ed-UCB", rs.RisingUCB(sigma=0.01)),
        ("REST-SURE", rs.RestSure.as_published(0.8)),
    ):
        for horizon in (800, 6_400):
            took = nanoseconds(policy, setting, horizon, 1_000)
            what = f"Setting A, K = 5, T = {horizon:,}, 1,000 runs: ns a pull"
            rows.append((f"{label}: over its public simulator", what, took, 1e3 * PUBLIC_US[label] / took))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    rows, sizes = list[Line](), (10, 100, 1_000, 10_000)
    for label, timed in (
        ("one REST-SURE round, live", {k: live_round(k) for k in sizes}),
        ("elimination (line 11), crossing arms", {k: elimination(k, on_the_envelope=False) for k in sizes}),
        ("elimination (line 11), every arm on the envelope", {k: elimination(k, on_the_envelope=True) for k in sizes}),
    ):
        rows += [(label, f"K = {k:,}: microseconds", 1e6 * t, ratio) for k, t, ratio in growth(timed)]
    rows += decisions() + simulations()
    for label, what, value, ratio in rows:
        print(f"{label:50}  {what:50} {value:14,.1f} {ratio:10.2f}")
    print(
        "Last column: time over K log K relative to K = 10,000; for decisions, the time over Optuna's median pruner's;"
    )
    print("for simulations, how many times faster.")
    if options.csv:
        lines = [(label, what, f"{value:.4g}", f"{ratio:.4g}") for label, what, value, ratio in rows]
        head = ["benchmark", "quantity", "value", "ratio"]
        write_rows(options.csv, head, lines, command="python benchmarks/speed.py")


if __name__ == "__main__":
    main()

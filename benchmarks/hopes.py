"""What HorizonLCB expects of the arms that it does not pull, and what they would have come to.

    python benchmarks/hopes.py [--runs 300] [--seed 5] [--csv benchmarks/results/hopes.csv]

Games are stopped after two fifths and after seven tenths of the budget. The leader is the arm that would be pulled next. A
*hope* is how much lower than the leader another arm would end, if either got all that is left: ``E max(0, M_lead - X_i)`` by
the predicted mean and spread, on average over the other arms, beside what the recorded curves say. The *price* of a look at
others is what the leader loses without a tenth of what is left, as predicted and as it is.
"""

import argparse
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import restsure as rs
from restsure.arms import TableArms
from restsure.policies.horizon_play import HorizonLCBPlay
from restsure.report.rows import write_rows
from restsure.simulation.suites.curves import curves

ROWS = (
    *(f"LCDB mean, K = {k}, T = 256" for k in (5, 10, 20)),
    *(f"LCDB split, K = {k}, T = 256" for k in (5, 10)),
    *(f"TaskSet, K = {k}, T = 51" for k in (3, 10)),
    *(f"LCBench surrogate, K = {k}, T = 52" for k in (3, 10)),
    "online, K = 12, T = 256",
)
MOMENTS = (0.4, 0.7)
HEAD = ["row", "after", "hope", "came true", "price", "paid", "runs"]


def moments(arms: TableArms, run: int, horizon: int) -> Iterator[tuple[float, float, float, float]]:
    """Hope and what came true of it, price and what it is, at each moment of one game."""
    shown, truth = arms.seen[run], arms.losses[run]
    game = rs.HorizonLCB().start(len(truth), horizon)
    due = [moment * horizon for moment in MOMENTS]
    while due and (pull := game.ask()) is not None:
        if game.spent >= due[0]:
            due.pop(0)
            assert isinstance(game._play, HorizonLCBPlay)
            yield expected(game._play, pull.arm, truth)
        had = game.pulls[pull.arm]
        game.tell(pull.arm, shown[pull.arm, had : had + pull.times])


def expected(play: HorizonLCBPlay, lead: int, truth: np.ndarray) -> tuple[float, float, float, float]:
    had = play.pulls[0]
    left = play.horizon - had.sum()
    others = np.arange(len(truth)) != lead
    mean, sd = play.curves.predict(slice(None), (had + left).astype(np.float64))
    less, _ = play.curves.predict(slice(None), had + 0.9 * left)
    ends = truth[np.arange(len(truth)), had + left - 1]
    hope = [gain(mean[lead] - mean[k], sd[k]) for k in np.flatnonzero(others)]
    without = truth[lead, had[lead] + round(0.9 * left) - 1]
    return (
        float(np.mean(hope)),
        float(np.maximum(ends[lead] - ends[others], 0).mean()),
        float(less[lead] - mean[lead]),
        float(without - ends[lead]),
    )


def gain(ahead: float, sd: float) -> float:
    """``E max(0, ahead + sd Z)``."""
    z = ahead / sd
    return float(ahead * 0.5 * math.erfc(-z / math.sqrt(2)) + sd * math.exp(-z * z / 2) / math.sqrt(2 * math.pi))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    rows, lines = {row.name: row for row in curves(None)}, list[list[str]]()
    for name in ROWS:
        row = rows[name]
        arms = row.make(options.runs, options.seed)
        found = np.array([list(moments(arms, run, row.horizon)) for run in range(options.runs)])
        for moment, figures in zip(MOMENTS, row.scale * found.mean(axis=0), strict=True):
            lines.append([name, f"{moment:g} T", *(f"{figure:.3f}" for figure in figures), str(options.runs)])
            print("  ".join(f"{cell:>9}" if k else f"{cell:36}" for k, cell in enumerate(lines[-1])), flush=True)
    if options.csv:
        command = f"python benchmarks/hopes.py --runs {options.runs} --seed {options.seed}"
        write_rows(options.csv, HEAD, lines, command=command)


if __name__ == "__main__":
    main()

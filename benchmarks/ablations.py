"""What each part of HorizonLCB is worth: leave it out or change it, and compare the regrets.

    python benchmarks/ablations.py [--csv benchmarks/results/ablations.csv] [--replicates 200] [--seed 1]

Geometric means of the regret relative to the rule, over the rows of each kind; below one is better than the rule.
"""

import argparse
import math
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import restsure as rs
from restsure.estimators.filters import FILTERS
from restsure.report.rows import write_rows
from restsure.simulation.suites import SUITES

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.other_filters import THREE, OtherFilters

ROWS = {
    "in-model": ("in-model", ("crossing, K = 8, T = 1,000", "random, K = 8, T = 1,000", "crossing, K = 32, T = 1,000")),
    "Settings A, B": ("rising", ("0.1, T = 1000", "0.01, T = 500", "0.1, T = 400", "0.01, T = 400", "0.1, T = 800")),
    "LCDB": (
        "curves",
        ("LCDB mean, K = 5, T = 256", "LCDB mean, K = 10", "LCDB mean, K = 20, T = 256", "LCDB split, K = 10"),
    ),
    "other curves": (
        "curves",
        ("TaskSet, K = 5", "TaskSet, K = 10", "LCBench surrogate, K = 5", "online, K = 8", "Pythia"),
    ),
    "shapes": ("shapes", ("exponent", "shifted", "sigmoids")),
}
BANKS = {
    "one filter": OtherFilters(filters=FILTERS[:1]),
    "three filters": OtherFilters(filters=THREE),
    "no straight line": OtherFilters(filters=tuple(f for f in FILTERS if f.rho > 0)),
    "exponent 1/2 alone": OtherFilters(filters=tuple(f for f in FILTERS if f.rho == 0.5)),
    "no process noise": OtherFilters(filters=tuple(f._replace(level_noise=0.0, trend_noise=0.0) for f in FILTERS[:-1])),
    "process noise doubled": OtherFilters(
        filters=tuple(f._replace(level_noise=2 * f.level_noise, trend_noise=2 * f.trend_noise) for f in FILTERS)
    ),
    "prior not shared by the arms": OtherFilters(kinship=1e9),
}


def constant(name: str, value: float) -> Callable[[], Any]:
    return lambda: patch(f"restsure.policies.horizon_play.{name}", value)


VARIANTS: dict[str, tuple[rs.Policy, Callable[[], Any]]] = {
    "the rule": (rs.HorizonLCB(), nullcontext),
    **{name: (rs.HorizonLCB(bank), nullcontext) for name, bank in BANKS.items()},
    "reach: all that is left": (rs.HorizonLCB(), constant("FEW", math.inf)),
    "reach: 2/K of it": (rs.HorizonLCB(), constant("FEW", 2)),
    "nobody may hope to go straight": (rs.HorizonLCB(), constant("STRAIGHT", 0)),
    "everybody may hope to go straight": (rs.HorizonLCB(), constant("STRAIGHT", math.inf)),
    **{f"patience {p:g}": (rs.HorizonLCB(patience=p), nullcontext) for p in (0, 0.6, 0.8, 1.25, 2)},
    "blocks of a tenth": (rs.HorizonLCB(), constant("BLOCK", 10)),
    "bank of power laws, patience 2": (rs.HorizonLCB(rs.CurveBank(), patience=2), nullcontext),
    "exponent 1/2 known": (rs.HorizonLCB(rs.PowerLaw(0.5)), nullcontext),
    "three filters, full reach, patience .9": (
        rs.HorizonLCB(OtherFilters(filters=THREE), patience=0.9),
        constant("FEW", math.inf),
    ),
    "successive halving": (rs.SuccessiveHalving(), nullcontext),
    "explore half, then commit": (rs.FixedExploration(0.5), nullcontext),
}


def regrets(replicates: int, seed: int) -> dict[str, dict[str, list[float]]]:
    """Mean regret of every variant on every row: by variant, then by kind."""
    found: dict[str, dict[str, list[float]]] = {name: {kind: [] for kind in ROWS} for name in VARIANTS}
    for kind, (suite, names) in ROWS.items():
        for row in SUITES[suite](None):
            if not any(name in f"{row.group}, {row.name}" for name in names):
                continue
            arms = row.make(replicates, seed)
            for variant, (policy, changed) in VARIANTS.items():
                with changed():
                    out = rs.simulate(policy, arms, row.horizon, replicates, seed)
                found[variant][kind].append(100 * float(out.regret.mean()))
            print(f"{row.group}, {row.name}: {found['the rule'][kind][-1]:.3g}", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--replicates", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    found = regrets(options.replicates, options.seed)
    lines = []
    for variant, by_kind in found.items():
        ratios = {
            kind: np.exp(np.mean(np.log((np.array(values) + 0.02) / (np.array(found["the rule"][kind]) + 0.02))))
            for kind, values in by_kind.items()
        }
        overall = math.exp(sum(math.log(ratio) for ratio in ratios.values()) / len(ratios))
        lines.append([variant, *(f"{ratio:.3g}" for ratio in ratios.values()), f"{overall:.3g}"])
    command = f"python benchmarks/ablations.py --replicates {options.replicates} --seed {options.seed}"
    head = ["variant", *ROWS, "all"]
    for line in [head, *lines]:
        print("  ".join(f"{cell:>14}" if k else f"{cell:40}" for k, cell in enumerate(line)))
    if options.csv:
        write_rows(options.csv, head, lines, command=command)


if __name__ == "__main__":
    main()

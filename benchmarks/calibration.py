"""How often the 90 % interval of HorizonLCB covers the true loss of the arm it returns.

python benchmarks/calibration.py [--csv benchmarks/results/calibration.csv] [--replicates 200] [--seed 1]
"""

import argparse
from pathlib import Path

import numpy as np

import restsure as rs
from restsure.policies.horizon_play import COVER, HorizonLCBPlay
from restsure.report.rows import write_rows
from restsure.simulation.engine import play_out
from restsure.simulation.suites import SUITES, Row
from restsure.simulation.tape import tape_for


def covered(row: Row, replicates: int, seed: int) -> tuple[float, float]:
    """Share of runs in which the interval covers, and the mean of (truth - estimate) / spread."""
    arms = row.make(replicates, seed)
    everyone = np.arange(replicates)
    play = rs.HorizonLCB().play(arms.n_arms, row.horizon, replicates)
    assert isinstance(play, HorizonLCBPlay)
    play_out(play, tape_for(arms, everyone, seed, row.horizon))
    mean, sd = play.estimate(everyone)
    truth = arms.mean(everyone, play.choice, play.pulls[everyone, play.choice])
    z = (truth - mean[everyone, play.choice]) / sd[everyone, play.choice]
    return float((np.abs(z) <= COVER).mean()), float(z.mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--replicates", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    lines = []
    for suite, make in SUITES.items():
        by_group: dict[str, list[tuple[float, float]]] = {}
        for row in make(None):
            if row.horizon <= 3_200 and row.replicates is None:
                found = covered(row, options.replicates, options.seed)
                by_group.setdefault(row.group, []).append(found)
        for group, found in by_group.items():
            cover, bias = np.mean(found, axis=0)
            lines.append((suite, group, str(len(found)), f"{cover:.3f}", f"{bias:.2f}"))
            print(
                f"{suite:10} {group:24} {len(found):3} rows: {cover:.1%} covered, bias {bias:+.2f} spreads", flush=True
            )
    if options.csv:
        command = f"python benchmarks/calibration.py --replicates {options.replicates} --seed {options.seed}"
        write_rows(options.csv, ["suite", "group", "rows", "covered", "bias"], lines, command=command)


if __name__ == "__main__":
    main()

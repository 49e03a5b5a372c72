"""What several workers do to the regret, and what they save in time: delayed feedback in virtual time.

python benchmarks/parallel.py [--csv benchmarks/results/parallel.csv] [--replicates 100] [--seed 5] [--data DIR]

Every pull takes one unit of time; workers get pulls of distinct arms as soon as they are free, and the game is told in the
order in which pulls end. The budget is the same number of pulls in all, whatever the number of workers. Runs meet the same
losses with any number of workers, so that the standard error is that of the difference. Recorded curves are read from
the directory or RESTSURE_DATA.
"""

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from restsure import HorizonLCB
from restsure.report.rows import write_rows
from restsure.simulation import simulate_workers
from restsure.simulation.suites import SUITES, Row

HEAD = ("row", "workers", "speculative", "regret", "ratio", "se of ratio", "time", "idle, %")
WORKERS, SPECULATING = (1, 2, 4, 8, 16), (4, 16)
ROWS = {
    "in-model": ("random, K = 8, T = 1,000, Gaussian", "crossing, K = 8, T = 1,000, Gaussian"),
    "shapes": ("exponents .1 to 1.2, K = 10",),
    "curves": (
        "LCDB mean, K = 5, T = 256",
        "LCDB mean, K = 10, T = 256",
        "LCDB mean, K = 20, T = 256",
        "LCDB split, K = 10, T = 512",
        "TaskSet, K = 5",
        "TaskSet, K = 10",
        "LCBench surrogate, K = 10",
        "online, K = 8",
    ),
}


def rows(data: str | None) -> Iterator[Row]:
    for suite, parts in ROWS.items():
        for part in parts:
            [row] = [row for row in SUITES[suite](data) if row.name.startswith(part)]
            yield row


def measure(row: Row, replicates: int, seed: int) -> Iterator[tuple[object, ...]]:
    arms, alone = row.make(replicates, seed), np.zeros(0)
    for speculative, sizes in ((False, WORKERS), (True, SPECULATING)):
        for workers in sizes:
            policy = HorizonLCB(speculative=speculative)
            out, times = simulate_workers(policy, arms, row.horizon, replicates, seed, workers=workers)
            alone = alone if len(alone) else out.regret
            more = (out.regret - alone).std(ddof=1) / replicates**0.5 / alone.mean()
            time = float(times.mean()) / row.horizon
            yield (
                row.name,
                workers,
                "yes" if speculative else "no",
                row.scale * float(out.regret.mean()),
                float(out.regret.mean() / alone.mean()),
                float(more),
                time,
                100 * (1 - 1 / (workers * time)),
            )


def summary(found: list[tuple[object, ...]]) -> Iterator[tuple[object, ...]]:
    """All rows together: the geometric mean of the ratios, mean time and idle share."""
    for key in dict.fromkeys((line[1], line[2]) for line in found):
        lines = [line for line in found if (line[1], line[2]) == key]
        ratio = np.exp(np.mean([np.log(line[4]) for line in lines]))
        spread = np.sqrt(np.sum([(line[5] / line[4]) ** 2 for line in lines])) / len(lines) * ratio
        time, idle = (float(np.mean([line[k] for line in lines])) for k in (6, 7))
        yield "all, geometric mean", *key, "", ratio, spread, time, idle


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--replicates", type=int, default=100)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--data", default=os.environ.get("RESTSURE_DATA"))
    given = parser.parse_args()
    found = list[tuple[object, ...]]()
    for row in rows(given.data):
        for line in measure(row, given.replicates, given.seed):
            print(*line, sep="\t", flush=True)
            found.append(line)
    found += summary(found)
    for line in found[-len(WORKERS) - len(SPECULATING) :]:
        print(*line, sep="\t")
    if given.csv:
        write_rows(given.csv, HEAD, found, command="python benchmarks/parallel.py")


if __name__ == "__main__":
    main()

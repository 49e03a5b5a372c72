"""Every named policy on every row of a suite, scored."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from restsure.simulation.engine import Simulation, simulate
from restsure.simulation.suites.line_up import Entry
from restsure.simulation.suites.row import Row


@dataclass(frozen=True, slots=True)
class Score:
    """One policy on one row; regrets are in the row's unit (points: loss times 100).

    ``within``: share of runs with a regret of at most one unit. ``error``: share that return another arm than the one that
    would have been best after all pulls. ``pulls``: pulls of the arm returned, as a share of the budget.
    """

    suite: str
    group: str
    row: str
    policy: str
    runs: int
    regret: float
    se: float
    p90: float
    within: float
    error: float
    pulls: float
    seconds: float


def run_suite(
    suite: str,
    rows: Sequence[Row],
    policies: Mapping[str, Entry],
    *,
    replicates: int,
    seed: int,
    n_jobs: int = 1,
    progress: Callable[[str, str], None] | None = None,
) -> Iterator[Score]:
    """Play and score row by row; all policies meet the same instances and losses. ``progress(row, policy)`` says who plays."""
    for row in rows:
        runs = replicates if row.replicates is None else min(replicates, row.replicates)
        arms = row.make(runs, seed)
        for name, entry in policies.items():
            if progress:
                progress(row.name, name)
            start = time.perf_counter()
            out = simulate(entry(row, arms), arms, row.horizon, runs, seed, n_jobs=n_jobs)
            yield _score(suite, row, name, out, time.perf_counter() - start)


def _score(suite: str, row: Row, policy: str, out: Simulation, seconds: float) -> Score:
    regret = row.scale * out.regret
    return Score(
        suite=suite,
        group=row.group,
        row=row.name,
        policy=policy,
        runs=len(regret),
        regret=float(regret.mean()),
        se=float(regret.std(ddof=1) / np.sqrt(len(regret))) if len(regret) > 1 else 0.0,
        p90=float(np.quantile(regret, 0.9)),
        within=float((regret <= 1).mean()),
        error=float(out.error.mean()),
        pulls=float(out.pulls.mean() / row.horizon),
        seconds=seconds,
    )

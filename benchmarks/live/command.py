"""With the same total of training steps, whose trained model has the lowest test error?

    python benchmarks/live [--tasks fashion,digits,bananas,phishing] [--budgets 256,512] [--seeds 10] [--first 0]
                           [--jobs 2] [--data DIR] [--csv benchmarks/results/live.csv]          (needs pip install '.[bench]')

Twelve candidates share a budget of pulls, which are training steps on a batch, and every method gives back one model. It is
scored by its test error above that of the oracle, the candidate that ends best with the whole budget for itself, in points;
the error of a regression is in percent of the variance.
Overhead is processor time that is neither training nor predicting nor drawing batches. Who the methods are: peers.py.
"""

import argparse
import multiprocessing
import sys
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.live.peers import METHODS, OURS
from benchmarks.live.regressions import REGRESSIONS
from benchmarks.live.runs import KNOWN, ORACLE, Outcome, one_seed
from benchmarks.live.tasks import OTHERS, TASKS
from restsure.errors import RestSureError
from restsure.report.rows import write_rows

HEAD = ["task", "budget", "seeds", "method", "regret", "se", "error", "pulls", "overhead", "microseconds a pull"]


def main() -> None:
    options = parsed(sys.argv[1:])
    found = list[Outcome]()
    try:
        for outcomes in played(options):
            found += outcomes
            for budget in options.budgets:
                print(progress([one for one in outcomes if one.budget == budget]), flush=True)
    except (RestSureError, FileNotFoundError) as error:
        sys.exit(str(error))
    rows = list[list[Any]]()
    for task, budget in product(options.tasks, options.budgets):
        rows += summary([one for one in found if (one.task, one.budget) == (task, budget)])
        print(table(rows[-len(METHODS) - 1 :]))
    if options.csv:
        command = "python benchmarks/live --tasks {} --budgets {} --seeds {}".format(
            ",".join(options.tasks), ",".join(map(str, options.budgets)), options.seeds
        )
        command += f" --first {options.first}" if options.first else ""
        write_rows(options.csv, HEAD, ([figure(cell) for cell in row] for row in rows), command=command)


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python benchmarks/live", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--tasks",
        type=lambda text: text.split(","),
        default=list(TASKS),
        help=f"{','.join(TASKS)}; or others: {','.join(OTHERS)}; or regressions: {','.join(REGRESSIONS)}",
    )
    parser.add_argument(
        "--budgets", type=lambda text: [int(part) for part in text.split(",")], default=[256, 512], help="256,512"
    )
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="of the seeds: fresh ones begin where others end")
    parser.add_argument("--jobs", type=int, default=2, help="processes; scores do not depend on it")
    parser.add_argument("--data", type=Path, help="directory of fashion_mnist_14x14.npz; RESTSURE_DATA if not given")
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args(arguments)
    for name in options.tasks:
        if name not in KNOWN:
            parser.error(f"--tasks: {name!r} must be one of {', '.join(KNOWN)}")
    if min(options.budgets) < 48:
        parser.error("--budgets: must be at least 48, four pulls for each candidate")
    if options.seeds < 1 or options.jobs < 1 or options.first < 0:
        parser.error("--seeds and --jobs: must be at least 1, --first at least 0")
    return options


def played(options: argparse.Namespace) -> Iterator[list[Outcome]]:
    """All seeds of all tasks, as they end."""
    seeds = range(options.first, options.first + options.seeds)
    work = [(name, seed, options.budgets, options.data) for name, seed in product(options.tasks, seeds)]
    if options.jobs == 1:
        yield from map(_one_seed, work)
        return
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        yield from pool.imap_unordered(_one_seed, work)


def _one_seed(work: tuple[Any, ...]) -> list[Outcome]:
    return one_seed(*work)


def progress(outcomes: Sequence[Outcome]) -> str:
    """One line for a seed."""
    by_method = {one.method: one for one in outcomes}
    ours = by_method[OURS]
    peer = min((one for one in outcomes if one.method not in (OURS, ORACLE)), key=lambda one: one.error)
    seconds = sum(one.seconds for one in outcomes)
    return (
        f"{ours.task}, {ours.budget} pulls, seed {ours.seed}: oracle {by_method[ORACLE].error:.2f} %; above it "
        f"{OURS} {ours.regret:.2f}, {peer.method} {peer.regret:.2f} (best peer here); {seconds:.0f} s"
    )


def summary(outcomes: Sequence[Outcome]) -> list[list[Any]]:
    """A row of HEAD for each method, empty where it does not apply, and for the oracle."""
    task, budget, seeds = outcomes[0].task, outcomes[0].budget, len({one.seed for one in outcomes})
    rows = []
    for method in [*METHODS, ORACLE]:
        mine = [one for one in outcomes if one.method == method]
        row: list[Any] = [task, budget, seeds, method]
        if not mine:
            rows.append(row + [None] * (len(HEAD) - len(row)))
            continue
        regret = np.array([one.regret for one in mine])
        row += [regret.mean(), regret.std(ddof=min(1, seeds - 1)) / seeds**0.5, np.mean([one.error for one in mine])]
        row += [np.mean([one.pulls for one in mine])]
        spent, overhead = (sum(getattr(one, name) for one in mine) for name in ("seconds", "overhead"))
        timed = method != ORACLE
        row += [overhead / spent, 1e6 * overhead / sum(one.pulls for one in mine)] if timed else [None, None]
        rows.append(row)
    return rows


def table(rows: Sequence[Sequence[Any]]) -> str:
    """A task and a budget: methods from best to worst, and how ours compares with the best of the others."""
    of = {row[3]: dict(zip(HEAD, row, strict=True)) for row in rows}
    task, budget, seeds, *_ = rows[0]
    lines = [f"\n{task}, {budget} pulls, {seeds} seeds: points above the oracle ({of[ORACLE]['error']:.2f} % wrong)"]
    for row in sorted(of.values(), key=lambda row: (row["regret"] is None, row["regret"])):
        if row["method"] == ORACLE:
            continue
        if row["regret"] is None:
            lines.append(f"  {row['method']:24}      does not apply")
            continue
        lines.append(f"  {row['method']:24} {row['regret']:6.2f} ± {row['se']:.2f}   {row['pulls']:7.1f} pulls spent")
    ours = of[OURS]
    peer = min(
        (row for row in of.values() if row["method"] not in (OURS, ORACLE) and row["regret"] is not None),
        key=lambda row: row["regret"],
    )
    share = f"{ours['regret'] / peer['regret']:.0%}" if peer["regret"] > 0 else "not a share"
    lines.append(
        f"  regret of {OURS} in that of the best peer ({peer['method']}): {share}; overhead of {OURS}: "
        f"{ours['overhead']:.1%} of the run, {ours['microseconds a pull']:.0f} microseconds a pull"
    )
    return "\n".join(lines)


def figure(cell: Any) -> str:
    return "" if cell is None else f"{cell:.4g}" if isinstance(cell, float) else str(cell)

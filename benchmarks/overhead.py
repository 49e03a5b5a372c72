"""What ``select`` takes beside training: processor time that is neither training nor predicting nor drawing batches.

    python benchmarks/overhead.py [--tasks fashion,digits,bananas,phishing] [--budgets 256,512] [--seeds 5] [--csv FILE]

One process, one thread, the tasks of benchmarks/live. Round robin is what ``select`` takes when nothing is decided: checking
data and candidates, copying them, judging, the record of what happened. Where the filters are compiled, they are measured
interpreted too. The meter's own calls, some five microseconds a step, are in all figures.
"""

import argparse
import os
import sys
import warnings
from dataclasses import replace
from pathlib import Path
from statistics import median
from unittest.mock import patch

for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{library}_NUM_THREADS"] = "1"  # before numpy is there
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import restsure as rs  # noqa: E402
from benchmarks.live.meter import Meter  # noqa: E402
from benchmarks.live.peers import selected  # noqa: E402
from benchmarks.live.tasks import TASKS  # noqa: E402
from restsure.estimators import compiled, live_filters, live_trend  # noqa: E402
from restsure.report.rows import write_rows  # noqa: E402

HEAD = ["task", "steps", "policy", "microseconds a step", "share of the run", "milliseconds a step in all"]
POLICIES = {
    "HorizonLCB": (rs.HorizonLCB(), compiled.LiveFilters),
    "HorizonLCB, interpreted": (rs.HorizonLCB(), live_filters.LiveFilters),
    "RoundRobin": (rs.RoundRobin(), compiled.LiveFilters),
}


def measured(name: str, steps: int, policy: str, seeds: int, data: Path | None) -> list[float]:
    """Medians over the seeds."""
    rule, filters = POLICIES[policy]
    found = list[tuple[float, float, float]]()
    for seed in range(seeds):
        task = TASKS[name](seed, data)
        candidates = task.candidates()  # are the user's, and made before, as the data are read
        task = replace(task, make=lambda _, made=candidates: made)
        assert task.stream
        with patch.object(live_trend, "LiveFilters", filters), Meter(task.size) as meter:
            selected(rule)(task, steps)
        found.append((1e6 * meter.overhead / steps, meter.overhead / meter.seconds, 1e3 * meter.seconds / steps))
    return [median(column) for column in zip(*found, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=lambda text: text.split(","), default=list(TASKS), help=",".join(TASKS))
    parser.add_argument("--budgets", type=lambda text: [int(part) for part in text.split(",")], default=[256, 512])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--data", type=Path, help="directory of fashion_mnist_14x14.npz; RESTSURE_DATA if not given")
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # learners that have not converged after a few batches
    policies = [name for name in POLICIES if compiled.COMPILED or name != "HorizonLCB, interpreted"]
    rows = list[list[str]]()
    for name in options.tasks:
        for steps in options.budgets:
            for policy in policies:
                a_step, share, whole = measured(name, steps, policy, options.seeds, options.data)
                rows.append([name, str(steps), policy, f"{a_step:.1f}", f"{share:.4f}", f"{whole:.2f}"])
                print(
                    f"{name:10} {steps:5} {policy:24} {a_step:8.1f} us a step {share:7.2%} of {whole:.2f} ms",
                    flush=True,
                )
    if options.csv:
        command = f"python benchmarks/overhead.py --seeds {options.seeds}"
        write_rows(options.csv, HEAD, rows, command=command)


if __name__ == "__main__":
    main()

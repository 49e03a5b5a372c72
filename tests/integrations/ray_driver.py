"""Kill the driver of a run on a Ray cluster, and go on: ``python -m tests.integrations.ray_driver ADDRESS KILLS DIR``.

Everything is imported once; each attempt is a fork that connects to the cluster by itself.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import restsure as rs
from restsure.integrations.ray import RayExecutor
from restsure.training import Checkpoints
from tests.faults.runs import Walk, outcome
from tests.integrations.ray_learners import Known


def models(pids: Path | None = None) -> dict[str, Any]:
    lines = {"quick": (0.2, 0.3), "slow": (1.0, 0.05), "flat": (0.0, 0.5), "middle": (0.5, 0.2)}
    return {
        name: Walk(*line, seed) if pids is None else Known(*line, seed, pids)
        for seed, (name, line) in enumerate(lines.items())
    }


def run(executor: Any, folder: Path | None = None, pids: Path | None = None) -> rs.Result:
    """One selection; its states are saved as often as ever."""
    return rs.select(
        models(pids),
        budget=120,
        run_dir=folder,
        executor=executor,
        checkpoints=Checkpoints(share=1.0),
        progress=False,
        random_state=0,
    )


def attempt(address: str, folder: Path) -> int:
    """Begin or resume in a process of its own; its number."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        (folder / "told").write_text(outcome(run(RayExecutor(2, address=address), folder / "run", folder)))
        code = 0
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    os._exit(code)


def steps(folder: Path) -> float:
    return rs.read_run(folder).progress.game.spent if (folder / "journal.sqlite").exists() else 0.0


def main(address: str, kills: int, folder: Path) -> None:
    """Killed as soon as it has got some steps further, and once more the moment that follows; then it may end."""
    rng, at = random.Random(0), list[float]()
    while len(at) < kills:
        child, goal = attempt(address, folder), (len(at) + 1) * 100 / (kills + 1)
        while steps(folder / "run") < goal:
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.1))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        at.append(steps(folder / "run"))
    _, status = os.waitpid(attempt(address, folder), 0)
    print(json.dumps({"killed at": at, "ended": os.waitstatus_to_exitcode(status)}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))

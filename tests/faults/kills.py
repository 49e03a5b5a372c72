"""Kill a selection with -9, again and again, and go on: ``python -m tests.faults.kills KIND KILLS SEED DIR`` prints JSON.

Everything is imported once; each attempt is a fork, so that a kill costs no more than the training it interrupts.
"""

import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from restsure.journal import JOURNAL, Journal, journal, read_records
from restsure.journal.files import Files
from restsure.training import findings
from tests.faults.runs import outcome, train
from tests.faults.sqlite_calls import before_each_write


def attempt(kind: str, directory: Path, prepare: Callable[[], None] = lambda: None) -> int:
    """Begin or resume in a process of its own; its number."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        prepare()
        (directory.parent / f"{directory.name}.told").write_text(outcome(train(kind, directory)))
        code = 0
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    os._exit(code)


def told(directory: Path) -> str:
    return (directory.parent / f"{directory.name}.told").read_text()


def ended(child: int) -> bool:
    """Wait for it; whether it came to its end, and not by a kill."""
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise SystemExit("a resumed run has failed")
    return os.WIFEXITED(status)


def at_random_times(kind: str, kills: int, seed: int, folder: Path) -> dict[str, int]:
    """Kill after a random time, resume, kill again, until the run is over; compare; and once more."""
    rng, done, runs = random.Random(seed), 0, 0
    began = time.perf_counter()
    assert ended(attempt(kind, folder / "whole"))
    length, expected = time.perf_counter() - began, told(folder / "whole")
    while done < kills:
        directory = folder / f"run{runs}"
        while True:
            child = attempt(kind, directory)
            time.sleep(rng.uniform(0.02, 0.9 * length))
            os.kill(child, signal.SIGKILL)
            if ended(child):
                break
            done += 1
        assert told(directory) == expected, f"{directory} differs"
        shutil.rmtree(directory)
        runs += 1
    return {"kills": done, "runs": runs}


class Telling(Files):
    """Says when a journal is about to take its name."""

    def __init__(self, to: int):
        self.to = to

    def rename(self, old: Path, new: Path) -> None:
        os.write(self.to, b".")
        super().rename(old, new)


def at_the_beginning(kills: int, seed: int, folder: Path) -> dict[str, int]:
    """Kill within some thousandths of a second after a journal has got its name: it is there, whole, or not at all."""
    rng = random.Random(seed)
    for run in range(kills):
        directory, (heard, said) = folder / f"begun{run}", os.pipe()
        if not (child := os.fork()):
            with Journal(directory, files=Telling(said)) as new:
                new.begin({})
                new.append("block", {})
            os._exit(0)
        os.read(heard, 1)
        time.sleep(rng.uniform(0, 0.006))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        if (directory / JOURNAL).exists():
            assert read_records(directory)[0].kind == "begin"
        with Journal(directory) as again:
            assert [record.kind for record in again.records] in ([], ["begin"], ["begin", "block"])
        shutil.rmtree(directory)
        os.close(heard)
        os.close(said)
    return {"kills": kills}


class Trap(Files):
    """Kills its own process at the n-th file call."""

    def __init__(self, at: int):
        self.at = at

    def about_to(self, call: str, path: Path) -> None:
        self.at -= 1
        if self.at == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def trap_in_files(at: int) -> None:
    journal.FILES = Trap(at)


def trap_in_sqlite(at: int) -> None:
    """At the n-th time that SQLite itself is about to change a file: in the middle of a statement, too."""
    trap = Trap(at)

    def count() -> int:
        trap.about_to("write", Path())
        return 0

    before_each_write(count)


def at_every_call(kind: str, every: int, folder: Path, trap: Callable[[int], None] = trap_in_files) -> dict[str, int]:
    """Kill at the first, second, third ... file call of a run, and resume; each ``every``-th of them is tried."""
    assert ended(attempt(kind, folder / "whole"))
    expected, at, kills = told(folder / "whole"), 1, 0
    while True:
        directory = folder / f"call{at}"
        if ended(attempt(kind, directory, partial(trap, at))):
            break
        if (directory / JOURNAL).exists():
            assert findings(directory) == [], f"something is wrong after a kill at call {at}"
        assert ended(attempt(kind, directory))
        assert told(directory) == expected, f"differs after a kill at call {at}"
        shutil.rmtree(directory)
        at, kills = at + every, kills + 1
    return {"kills": kills, "calls": at}


if __name__ == "__main__":
    kind, count, seed, folder = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
    if kind == "beginnings":
        found = at_the_beginning(count, seed, folder)
    elif kind == "within SQLite":
        train("plain", folder / "warm-up")
        found = at_every_call("plain", -count, folder, trap_in_sqlite)
    else:
        train(kind, folder / "warm-up")  # so that all is imported
        found = at_random_times(kind, count, seed, folder) if count > 0 else at_every_call(kind, -count, folder)
    print(json.dumps(found))

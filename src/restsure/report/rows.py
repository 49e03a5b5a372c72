"""Tables that are kept under version control."""

import csv
import subprocess
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any


def write_rows(path: Path, head: Sequence[str], rows: Iterable[Sequence[Any]], *, command: str) -> None:
    """A table that is kept: every row with the commit and the command it was made by."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*head, "commit", "command"])
        writer.writerows([*row, _commit(), command] for row in rows)


@cache
def _commit() -> str:
    """The commit of the checkout this package runs from; empty where it was installed without one."""
    here = Path(__file__).parent
    done = subprocess.run(
        ["git", "-C", here, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    return done.stdout.strip()

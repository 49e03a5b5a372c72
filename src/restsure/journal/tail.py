"""Following a journal while it is written: every record is read once, checked, and in pieces of bounded size."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from restsure.errors import DamagedRun
from restsure.journal.journal import in_use, looking_at
from restsure.journal.records import START, Record, checked

_ROW = "SELECT number, epoch, kind, at_s, body, chain FROM record"


class Tail:
    """Where a reader of a run directory stands.

    ``generation`` counts how often another run was found in its place; ``cut``: whether the last reading left some.
    """

    def __init__(self, directory: Path | str):
        self.directory, self.generation, self.cut = Path(directory), 0, False
        self._after: tuple[int, bytes] = (0, START)

    @property
    def number(self) -> int:
        """How many records have been read."""
        return self._after[0]

    def read(self, *, most_bytes: int = 1 << 21) -> list[Record]:
        """The next records, of about so many bytes at the most; none, where all have been read.

        Records that were read must still be there: where they are not, another run has taken the place of this one, and is
        read from its beginning.
        """
        with looking_at(self.directory) as (database, head):
            if self.number:
                [*there] = database.execute("SELECT chain FROM record WHERE number = ?", [self.number])
                if there != [(self._after[1],)]:
                    self.generation, self._after = self.generation + 1, (0, START)
            self.cut = False
            if head == self._after:
                return []
            rows, size, last = list[tuple[Any, ...]](), 0, head
            for row in database.execute(f"{_ROW} WHERE number > ? ORDER BY number", [self.number]):
                rows.append(row)
                size += len(str(row[4]))
                if size > most_bytes:
                    last, self.cut = (row[0], row[5]), row[0] < head[0]
                    break
            records = list(checked(rows, last, self._after))
        if not self.number and records[0].kind != "begin":
            raise DamagedRun(f"{self.directory}: the journal does not begin with what the run was told")
        self._after = last
        return records


@dataclass(frozen=True, slots=True)
class Peek:
    """A run at a glance: how many candidates and records, begun and last written when; "running", "stopped" or "over"."""

    candidates: int
    budget: float
    unit: str
    records: int
    began_s: float
    last_s: float
    state: str


def peek(directory: Path | str) -> Peek:
    """A glance at a run, which takes as long for a long one as for a short one; only what it tells is looked at."""
    folder = Path(directory)
    busy = in_use(folder)
    with looking_at(folder) as (database, (number, _)):
        rows = database.execute(f"{_ROW} WHERE number IN (1, ?) ORDER BY number", [number]).fetchall()
        try:
            (*_, began_s, body, _), (_, _, kind, last_s, *_) = rows[0], rows[-1]
            begin = json.loads(body)
            return Peek(
                len(begin["candidates"]),
                float(begin["budget"]),
                str(begin["unit"]),
                int(number),
                float(began_s),
                float(last_s),
                "over" if kind == "end" else "running" if busy else "stopped",
            )
        except (LookupError, TypeError, ValueError) as error:
            raise DamagedRun(f"{folder}: the journal is damaged ({error})") from None

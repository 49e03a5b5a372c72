"""One line of a benchmark suite: a problem that every policy plays."""

from collections.abc import Callable
from dataclasses import dataclass

from restsure.arms import Arms


@dataclass(frozen=True, slots=True)
class Row:
    """A named problem. ``make(replicates, seed)`` builds its arms, with an instance a run where instances are drawn.

    Arms are built when they are played, not when the suite is listed. ``unit`` is what a regret of one is called; ``scale``
    turns a loss into that unit (100 for points of an error rate). ``replicates`` caps the runs of rows that have no more
    to give (a table that is the same in every run).
    """

    group: str
    name: str
    horizon: int
    make: Callable[[int, int], Arms]
    scale: float = 100.0
    unit: str = "points"
    replicates: int | None = None

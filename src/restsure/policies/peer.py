"""What the peers' policies share: they estimate losses without an interval, and return the lowest estimate."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from restsure.policies.play import Play
from restsure.problem import Decision

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


class PeerPlay(Play, ABC):
    """A play that ranks arms by a number."""

    @abstractmethod
    def standing(self, rows: Rows) -> Floats:
        """Each arm's loss as this policy sees it, for the runs ``rows``: shape (runs, arms), infinite where unknown."""

    def best(self, rows: Rows, allowed: NDArray[np.bool_] | None = None) -> NDArray[np.intp]:
        """The lowest standing among arms that have not failed (and are allowed)."""
        out = self.failed[rows] if allowed is None else self.failed[rows] | ~allowed
        known = np.minimum(self.standing(rows), 1e300)  # an arm without losses comes after all others, but not out
        return np.asarray(np.where(out, np.inf, known).argmin(axis=1))

    def choose(self, rows: Rows, arms: NDArray[np.intp], rule: str) -> None:
        """Settle what these runs return, and give it all that is left."""
        left = self.horizon - self.spent(rows)
        self.choice[rows] = arms
        self.wanted[rows, arms] = left
        self.done[rows] = left == 0
        self.note(rows, arms, rule)

    def note(self, rows: Rows, arms: NDArray[np.intp], rule: str) -> None:
        """Write decisions into the log, where one is kept."""
        if self.log is not None:
            for row, arm in zip(rows.tolist(), arms.tolist(), strict=True):
                self.log.append(Decision(self.spent()[row].item(), rule, arm))

    def fail(self, run: int, arm: int) -> None:
        self.failed[run, arm], self.wanted[run, arm] = True, 0
        if self.failed[run].all():
            self.done[run] = True
        elif self.choice[run] == arm:
            row = np.array([run])
            self.choose(row, self.best(row), "best of the others: the chosen arm failed")

    def leader(self, run: int) -> int:
        row = np.array([run])
        return int(self.best(row, self.pulls[row] > 0)[0])

    def interval(self, run: int, arm: int) -> tuple[float, float, float, str]:
        loss = float(self.standing(np.array([run]))[0, arm])
        return loss, -np.inf, np.inf, "this policy gives no interval"

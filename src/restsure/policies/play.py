"""The state of many games of one policy at once."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from restsure.errors import InvalidParameter, OutOfTurn
from restsure.estimators import Cells
from restsure.problem import Decision


class Row:
    """The first run of a play, which is that of a live game, in plain numbers: the memory is that of the play's arrays.

    Between two decisions a model is trained, and numpy is not in the processor's caches any more: to fetch it takes longer
    than what there is to reckon.
    """

    def __init__(self, play: "Play"):
        self.pulls, self.wanted, self.failed = play.pulls[0].data, play.wanted[0].data, play.failed[0].data
        self.done = play.done.data


class Play(ABC):
    """``runs`` games of one policy, advanced together; a live game is the case of one run.

    The loop around it is always the same: :meth:`decide` writes into ``wanted`` how often each arm is to be pulled before
    the next decision (or into ``all_want``, when all arms of all runs are pulled alike), :meth:`observe` takes the losses,
    and when all that was wanted has been seen it is time to decide again, until ``done``. Within that, pulls may be made in
    any order (Fact 1 of the paper).
    """

    in_step = True
    """Whether all runs must be decided together; if not, those that have spent least are, which can be far less work."""

    overlaps = False
    """Whether it can decide again while pulls are out: ``wanted`` then holds those, and only what is added is new."""

    ends = False
    """Whether an arm may come to its end before the budget does: then :meth:`finish` says so."""

    measured = False
    """Whether pulls cost what they are told to have cost."""

    def __init__(self, n_arms: int, horizon: Any, runs: int, *, log: bool = False):
        self.n_arms, self.runs = n_arms, runs
        self.horizon = horizon  # a whole number, unless pulls have costs
        self.pulls = np.zeros((runs, n_arms), dtype=np.int64)
        self.wanted = np.zeros((runs, n_arms), dtype=np.int64)
        self.failed = np.zeros((runs, n_arms), dtype=np.bool_)
        self.active = np.ones((runs, n_arms), dtype=np.bool_)  # false for what a rule has dropped for good
        self.choice = np.full(runs, -1, dtype=np.intp)  # the arm to return, once that is settled
        self.done = np.zeros(runs, dtype=np.bool_)
        self.all_want = 0  # instead of ``wanted``: every arm of every run is to be pulled so often
        self.log: list[Decision] | None = [] if log else None
        self.misfits = dict[int, str]()  # arms of a live game whose losses do not go as the policy believes, and how

    @cached_property
    def row(self) -> Row:
        return Row(self)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "row"}  # a copy has a memory of its own

    def fresh(self, out: Mapping[int, tuple[int, int]]) -> list[tuple[int, int]]:
        """What a live game wants beyond what is ``out``: arms, and how many pulls of each."""
        new = self.wanted[0]
        if out:
            new = new.copy()
            for arm, (now, later) in out.items():
                new[arm] -= now + later
        arms = new.nonzero()[0]
        return list(zip(arms.tolist(), new[arms].tolist(), strict=True))

    def stands(self, run: int) -> NDArray[np.bool_]:
        """Arms that may still be pulled, as long as none fails."""
        if (chosen := self.choice[run]) >= 0:
            return np.asarray(np.arange(self.n_arms) == chosen)
        return np.asarray(self.active[run] & ~self.failed[run])

    @property
    def settled(self) -> NDArray[np.bool_]:
        """Runs in which no loss still to come can change what is pulled or returned."""
        return self.choice >= 0

    def spent(self, rows: Any = slice(None)) -> NDArray[Any]:
        """How much of the budget each run has used: pulls, unless they have costs."""
        return np.asarray(self.pulls[self.pick(rows)].sum(axis=1))

    def used(self) -> float:
        """How much of the budget the first run has used, which is that of a live game."""
        used: float = self.spent()[0].item()
        return used

    def pick(self, rows: Any) -> Any:
        """The same rows, as a slice where they are all of them: no copy is made then."""
        return slice(None) if isinstance(rows, np.ndarray) and rows.size == self.runs else rows

    def cells_of(self, rows: NDArray[np.intp]) -> Cells:
        """The cells of some runs, all arms of each."""
        if rows.size == self.runs:
            return slice(None)
        return np.asarray((rows[:, None] * self.n_arms + np.arange(self.n_arms)).reshape(-1))

    def observe(self, cells: Cells, losses: NDArray[np.float64]) -> None:
        """The next losses of each cell (run times n_arms plus arm): shape (number of cells, block)."""
        self.skip(cells, losses.shape[1])
        self.learn(cells, losses)

    def observe_one(self, arm: int, losses: list[float]) -> None:
        """The next losses of one arm of the first run, which is that of a live game."""
        self.observe(slice(arm, arm + 1), np.array([losses]))

    def observe_all(self, losses: NDArray[np.float64]) -> None:
        """The next losses of every cell, as ``all_want`` asked for: shape (runs times arms, block)."""
        self.pulls += losses.shape[1]
        self.learn(slice(None), losses)

    def skip(self, cells: Cells, times: Any) -> None:
        """Count pulls whose losses nobody needs."""
        self.pulls.reshape(-1)[cells] += times
        self.wanted.reshape(-1)[cells] -= times

    @abstractmethod
    def decide(self, rows: NDArray[np.intp]) -> None:
        """For runs that have seen all they wanted: want more, or be done."""

    @abstractmethod
    def learn(self, cells: Cells, losses: NDArray[np.float64]) -> None:
        """Take the losses in; counting is done by :meth:`observe`."""

    @abstractmethod
    def fail(self, run: int, arm: int) -> None:
        """That arm of that run is out for good."""

    def finish(self, run: int, arm: int) -> None:
        """That arm of that run has had all the pulls that it can have."""
        raise InvalidParameter(f"arm={arm}: must not end in a game whose policy knows no ends")

    @abstractmethod
    def leader(self, run: int) -> int:
        """The arm to return if the run ended now: best by what has been seen, never by extrapolation."""

    @abstractmethod
    def interval(self, run: int, arm: int) -> tuple[float, float, float, str]:
        """Loss of an arm at the pulls it has had, low, high, and a word on what the interval rests on."""

    @property
    def costs(self) -> NDArray[np.float64]:
        """What a pull of each arm costs."""
        return np.ones(self.n_arms)

    @property
    def longest(self) -> NDArray[np.float64]:
        """How many pulls each arm can have at the most, whatever the budget."""
        return np.full(self.n_arms, np.inf)

    def pay(self, arm: int, times: int, cost: float) -> None:
        """What ``times`` pulls of ``arm`` have cost, where that is measured."""
        raise OutOfTurn(f"cost={cost!r}: is not measured in this game")

    def outlook(self, run: int, pulls: Any) -> list[tuple[float, float, float]] | None:
        """Each arm's loss after ``pulls`` pulls (for each arm, or alike), low and high; None if nothing is predicted.

        Where an arm has had more, it is its loss now.
        """
        return None

    def explain(self, run: int) -> str:
        """Why these arms are next, in a few sentences."""
        if self.done[run]:
            return f"The game is over; arm {self.choice[run]} is returned."
        arms = ", ".join(map(str, np.flatnonzero(self.wanted[run])))
        return f"The rule wants arms {arms} next." if arms else "The rule waits for losses."

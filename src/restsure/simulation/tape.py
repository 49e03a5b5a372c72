"""The losses of simulated arms: the s-th loss of an arm in a run is fixed by the seed, whoever asks and whenever."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.random import SFC64, Generator, SeedSequence
from numpy.typing import NDArray

from restsure.arms import Arms, RoundNoise
from restsure.estimators import Cells


class Tape(ABC):
    """Where the losses of a simulation come from."""

    width: int
    """The most losses of a cell that can be read at once."""

    @abstractmethod
    def read(self, cells: Cells, times: int) -> NDArray[np.float64]:
        """The next ``times`` (at most ``width``) losses of each cell: shape (number of cells, times)."""


def tape_for(arms: Arms, runs: NDArray[np.intp], seed: int, horizon: int) -> Tape:
    """The tape that fits the noise."""
    if isinstance(arms.noise, RoundNoise):
        return RoundTape(arms, arms.noise, runs, horizon)
    return ArmTape(arms, runs, seed)


class ArmTape(Tape):
    """One stream of random numbers for each arm of each run, read forward in blocks.

    Arms are rested, so a loss belongs to (run, arm, pull) and not to the moment it is asked for. Hence policies are
    compared on the same losses, a run does not depend on the other runs, and neither blocks nor chunks change a loss.
    Memory is constant: ``width`` losses a cell.
    """

    _CELLS_BUFFERED = 2**20

    def __init__(self, arms: Arms, runs: NDArray[np.intp], seed: int):
        self.arms, self.runs = arms, runs
        cells = len(runs) * arms.n_arms
        self.width = int(np.clip(self._CELLS_BUFFERED // cells, 16, 1024))
        self.run, self.arm = np.repeat(runs, arms.n_arms), np.tile(np.arange(arms.n_arms), len(runs))
        self.streams = (
            []
            if arms.noise is None
            else [
                Generator(SFC64(SeedSequence(seed, spawn_key=(run, arm))))
                for run in runs.tolist()
                for arm in range(arms.n_arms)
            ]
        )
        self.buffer = np.empty((cells, self.width))
        self.used = np.full(cells, self.width)  # position in the buffer
        self.drawn = np.zeros(cells, dtype=np.int64)  # losses put into the buffer so far

    def read(self, cells: Cells, times: int) -> NDArray[np.float64]:
        short = self.used[cells] + times > self.width
        if short.any():
            self._refill(np.arange(len(self.used))[cells][short])
        position = self.used[cells].copy()  # a slice would give a view, which moves with the next line
        self.used[cells] += times
        start = int(position[0])
        if isinstance(cells, slice) and (position == start).all():
            return self.buffer[cells, start : start + times]
        rows = np.arange(len(self.used))[cells]
        picked: NDArray[np.float64] = self.buffer[rows[:, None], position[:, None] + np.arange(times)]
        return picked

    def _refill(self, cells: NDArray[np.intp]) -> None:
        """Move what is unread to the front and draw the rest, for cells that have as much unread together."""
        for used in np.unique(self.used[cells]).tolist():
            group = cells[self.used[cells] == used]
            kept = self.width - used
            fresh = self._draw(group, used)
            if kept:
                self.buffer[group, :kept] = self.buffer[group, used:]
            self.buffer[group, kept:] = fresh
            self.used[group] = 0

    def _draw(self, cells: NDArray[np.intp], times: int) -> NDArray[np.float64]:
        pulls = self.drawn[cells][:, None] + np.arange(1, times + 1)
        if (self.drawn[cells] == self.drawn[cells[0]]).all():
            pulls = pulls[:1]  # in step: one row of pull counts serves all
        if self.arms.longest is not None:
            pulls = np.minimum(pulls, self.arms.longest)  # a buffer may reach past the last pull; nobody reads that far
        means = self.arms.observed(self.run[cells][:, None], self.arm[cells][:, None], pulls)
        self.drawn[cells] += times
        if self.arms.noise is None:
            return means
        return self.arms.noise.sample([self.streams[cell] for cell in cells.tolist()], means)


class RoundTape(Tape):
    """Losses under :class:`~restsure.arms.RoundNoise`: the noise of a loss is that of the round in which it is pulled.

    Pulls of a block that several arms share are made in turn, arm by arm in the order of their numbers.
    """

    width = 1  # a block of one: a round ends where the next decision or the next arm begins

    def __init__(self, arms: Arms, noise: RoundNoise, runs: NDArray[np.intp], horizon: int):
        self.arms, self.runs = arms, runs
        self.noise = np.stack([noise.rounds(run, horizon) for run in runs.tolist()])
        self.pulls = np.zeros(len(runs) * arms.n_arms, dtype=np.int64)
        self.round = np.zeros(len(runs), dtype=np.int64)

    def read(self, cells: Cells, times: int) -> NDArray[np.float64]:
        flat = np.arange(len(self.pulls))[cells]
        row, arm = np.divmod(flat, self.arms.n_arms)
        self.pulls[flat] += 1
        first = np.searchsorted(row, row)  # cells come sorted: position of the run's first cell
        at = self.round[row] + np.arange(len(row)) - first
        np.add.at(self.round, row, 1)
        losses: NDArray[np.float64] = self.arms.observed(self.runs[row], arm, self.pulls[flat]) + self.noise[row, at]
        return losses[:, None]

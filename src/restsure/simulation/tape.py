"""The losses of simulated arms: the s-th loss of an arm in a run is fixed by the seed, whoever asks and whenever."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.random import SFC64, Generator, SeedSequence
from numpy.random.bit_generator import ISeedSequence
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

    _BUFFERED, _TOGETHER = 2**21, 2**13  # losses held in all; losses drawn together

    def __init__(self, arms: Arms, runs: NDArray[np.intp], seed: int):
        self.arms, self.runs = arms, runs
        cells = len(runs) * arms.n_arms
        self.width = int(np.clip(self._BUFFERED // cells, 16, 1024))
        self.run, self.arm = np.repeat(runs, arms.n_arms), np.tile(np.arange(arms.n_arms), len(runs))
        self.streams = [] if arms.noise is None else _streams(seed, runs.tolist(), arms.n_arms)
        self.buffer = np.empty((self.width, cells))  # a row is one pull of every cell: what a round reads
        self.used = np.full(cells, self.width)  # the first unread row; what is unread ends with the last row
        self.drawn = np.zeros(cells, dtype=np.int64)  # losses put into the buffer so far
        self.in_step: int | None = self.width  # ``used`` of all cells, as long as they are only read together

    def read(self, cells: Cells, times: int) -> NDArray[np.float64]:
        if self.in_step is not None and isinstance(cells, slice):
            return self._read_all(self.in_step, times)
        if self.in_step is not None:
            self.used[:], self.in_step = self.in_step, None
        columns = np.arange(len(self.used)) if isinstance(cells, slice) else cells
        position = self.used[columns]
        short = position + times > self.width
        if short.any():
            self._refill(columns[short], times)
            position = self.used[columns]
        self.used[columns] = position + times
        picked: NDArray[np.float64] = self.buffer[position + np.arange(times)[:, None], columns]
        return picked.T

    def _read_all(self, start: int, times: int) -> NDArray[np.float64]:
        if start + times > self.width:
            self.used[:] = start
            self._refill(np.arange(len(self.used)), times)
            start = int(self.used[0])
        self.in_step = start + times
        return self.buffer[start : start + times].T

    def _refill(self, cells: NDArray[np.intp], times: int) -> None:
        """Draw more for cells that have less than ``times`` unread: as much again as before, so that little is drawn in vain.

        A few cells at a time: their losses then stay in the cache from the first draw to the last sum, several times faster.
        """
        unread, drawn = self.width - self.used[cells], self.drawn[cells]
        alike = unread + (self.width + 1) * drawn
        for key in np.unique(alike).tolist():
            group = cells[alike == key]
            before, kept = divmod(key, self.width + 1)
            more = min(self.width - kept, max(times - kept, min(max(before, 32), self.width)))
            start, size = self.width - kept - more, max(1, self._TOGETHER // more)
            for few in (group[k : k + size] for k in range(0, len(group), size)):
                if kept:
                    self.buffer[start : start + kept, few] = self.buffer[self.width - kept :, few]
                self.buffer[start + kept :, few] = self._draw(few, more).T
            self.used[group] = start

    def _draw(self, cells: NDArray[np.intp], times: int) -> NDArray[np.float64]:
        drawn = self.drawn[cells]
        if (drawn == drawn[0]).all():
            drawn = drawn[:1]  # in step: one row of pull counts serves all
        pulls = drawn[:, None] + np.arange(1, times + 1)
        if self.arms.longest is not None:
            pulls = np.minimum(pulls, self.arms.longest)  # a buffer may reach past the last pull; nobody reads that far
        means = self.arms.observed(self.run[cells][:, None], self.arm[cells][:, None], pulls)
        self.drawn[cells] += times
        if self.arms.noise is None:
            return means
        return self.arms.noise.sample([self.streams[cell] for cell in cells.tolist()], means)


class _Words(ISeedSequence):
    """Ready-made words as the seed of a generator: four times faster than a SeedSequence for each."""

    def __init__(self, words: NDArray[Any]):
        self.words = words

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> NDArray[Any]:
        return self.words


def _streams(seed: int, runs: list[int], n_arms: int) -> list[Generator]:
    """A generator for each arm of each run. An arm's words depend on (seed, run, arm) and not on how many arms there are."""
    words = (SeedSequence(seed, spawn_key=(run,)).generate_state(3 * n_arms, np.uint64) for run in runs)
    return [Generator(SFC64(_Words(arm))) for run in words for arm in run.reshape(n_arms, 3)]  # type: ignore[arg-type]


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

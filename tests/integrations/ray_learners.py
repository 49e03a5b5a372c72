"""Learners for actors, in a module that an actor imports in no time."""

import os
import random
import time
from pathlib import Path

from tests.faults.runs import Walk
from tests.training.learners import Counter


class Dawdling(Walk):
    """Takes a random time for each pull, another one in every run."""

    def train(self, times: int) -> list[float]:
        time.sleep(random.SystemRandom().uniform(0, 0.01))
        return super().train(times)


class Known(Walk):
    """Says in which process it trains, and takes a while."""

    def __init__(self, alpha: float, beta: float, seed: int, folder: Path):
        super().__init__(alpha, beta, seed)
        self.folder = folder

    def train(self, times: int) -> list[float]:
        (self.folder / f"{os.getpid()}.pid").touch()
        time.sleep(0.02)
        return super().train(times)


class Elsewhere(Counter):
    """Saves two files, one in a folder of its own; it is told a directory that the other side does not have."""

    def save(self, directory: Path) -> None:
        self.was = directory
        (directory / "deep" / "er").mkdir(parents=True)
        (directory / "deep" / "er" / "pulls").write_bytes(bytes([self.pulls, 0, 255]))
        (directory / "empty").touch()

    def load(self, directory: Path) -> None:
        assert directory != self.was
        assert sorted(path.name for path in directory.iterdir()) == ["deep", "empty"]
        self.pulls = (directory / "deep" / "er" / "pulls").read_bytes()[0]

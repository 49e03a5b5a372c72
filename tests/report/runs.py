"""Runs to look at: cheap learners whose curves are known."""

import time
from pathlib import Path

import numpy as np

import restsure as rs

HOSTILE = {
    "script": "<script>document.title='owned'</script>",
    "close": "</script><img src=x onerror=\"document.title='owned'\">",
    "quotes": 'it\'s "quoted" `${1}` &amp; \\u003c',
    "long": "very long " * 60,
    "rtl": "\u202e\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "line": "two\u2028lines\nand\ttabs",
    "surrogate": "\ud800 half",
    "markup": "{{7*7}} <b>bold</b>",
}


class Gate:
    """Lets so many training steps of all candidates pass as a file says, and holds the others until it says more."""

    def __init__(self, file: Path):
        self.file, self.passed = file, 0

    def allow(self, steps: int) -> None:
        draft = self.file.with_name(f"{self.file.name}.part")
        draft.write_text(str(steps))
        draft.replace(self.file)

    def __call__(self, times: int) -> None:
        self.passed += times
        while self.passed > int(self.file.read_text()):
            time.sleep(0.01)


class Curve:
    """Loss ``floor + drop / sqrt(s)`` with a little noise; ``wait(times)`` before steps; raises at step ``fails_at``."""

    def __init__(self, floor: float, drop: float = 0.4, *, seed: int = 0, wait=None, fails_at: int = 0):
        self.floor, self.drop, self.wait, self.fails_at = floor, drop, wait, fails_at
        self.steps, self.chance = 0, np.random.default_rng(seed)

    def train(self, times: int) -> list[float]:
        if self.wait is not None:
            self.wait(times)
        steps = np.arange(self.steps + 1, self.steps + times + 1)
        self.steps += times
        if self.fails_at and self.steps >= self.fails_at:
            raise ValueError("out of <memory>")
        return (self.floor + self.drop / np.sqrt(steps) + 0.02 * self.chance.standard_normal(times)).tolist()


def curves(count: int, **more) -> dict[str, Curve]:
    return {f"model {k}": Curve(0.2 + 0.05 * k, seed=k, **more) for k in range(count)}


def hostile() -> dict[str, Curve]:
    return {name: Curve(0.2 + 0.05 * k, seed=k) for k, name in enumerate(HOSTILE.values())}


def recorded(directory: Path, *, candidates=None, budget: int | str = 400, **more) -> rs.Result:
    candidates = curves(4) if candidates is None else candidates
    return rs.select(candidates, budget=budget, run_dir=directory, progress=False, random_state=0, **more)

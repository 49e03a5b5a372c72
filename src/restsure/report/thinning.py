"""Long runs as few numbers: what is kept grows with the logarithm of a curve, and is the same however losses come in."""

import math
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_RATIO = 1.04  # of one step that is kept to the one before: all of the first 25, some 300 of a million
_LAST = 10  # losses that the last loss is the mean of
_COVER = 1.645  # standard deviations on each side of a 90 % interval


def _marks() -> NDArray[np.int64]:
    marks = [1]
    while marks[-1] < 2**52:
        marks.append(max(marks[-1] + 1, math.ceil(marks[-1] * _RATIO)))
    return np.array(marks)


MARKS = _marks()
"""The steps whose losses are kept, for every curve alike, so that a longer curve keeps what a shorter one has."""


class ThinCurve:
    """The losses of one candidate: its first, its last and those at :data:`MARKS` as they are, and sums in between."""

    def __init__(self) -> None:
        self.steps = 0
        self.kept = list[float]()  # the loss at each mark
        self._sums = [(0.0, 0.0)]  # of losses less the first, and of their squares, up to each mark; none at first
        self._latest = 0.0, 0.0
        self._tail = deque[float](maxlen=_LAST)
        self._base = 0.0

    def add(self, losses: NDArray[np.float64]) -> None:
        """The next losses."""
        if not self.steps:
            self._base = float(losses[0])
        apart = losses - self._base
        # sums one after the other, from where they stood: the same bits however the losses are cut into blocks
        sums, squares = (
            np.add.accumulate(np.concatenate(([start], part)))[1:]
            for start, part in zip(self._latest, (apart, apart * apart), strict=True)
        )
        first, last = np.searchsorted(MARKS, [self.steps, self.steps + len(losses)], side="right")
        at = MARKS[first:last] - self.steps - 1
        self.kept += losses[at].tolist()
        self._sums += zip(sums[at].tolist(), squares[at].tolist(), strict=True)
        self._latest = float(sums[-1]), float(squares[-1])
        self._tail.extend(losses[-_LAST:].tolist())
        self.steps += len(losses)

    @property
    def last(self) -> float | None:
        """The mean of the last ten losses; None before the first."""
        return sum(self._tail) / len(self._tail) if self._tail else None

    def points(self) -> tuple[list[int], list[float]]:
        """Some steps and their losses, the first and the last among them."""
        steps, losses = MARKS[: len(self.kept)].tolist(), list(self.kept)
        if steps and steps[-1] != self.steps:
            steps.append(self.steps)
            losses.append(self._tail[-1])
        return steps, losses

    def smooth(self) -> list[float]:
        """At each of the points, the mean of about the last fifth of the losses up to there."""
        steps, _ = self.points()
        return [self._window(step, int(0.8 * step) - 1)[0] for step in steps]

    def standing(self) -> tuple[float, float, float] | None:
        """The mean of about the last fifth of all losses, three at least, with a 90 % interval; None before the first."""
        if not self.steps:
            return None
        mean, variance, count = self._window(self.steps, self.steps - max(3, self.steps // 5))
        spread = _COVER * math.sqrt(variance / count) if count > 1 else math.inf
        return mean, mean - spread, mean + spread

    def _window(self, end: int, start: int) -> tuple[float, float, int]:
        """Mean, variance and number of the losses from the mark at or before ``start`` to ``end``, a point."""
        from_mark = int(np.searchsorted(MARKS, max(start, 0), side="right"))
        to_mark = int(np.searchsorted(MARKS, end, side="right"))
        begin = int(MARKS[from_mark - 1]) if from_mark else 0
        total, squares = self._latest if end == self.steps else self._sums[to_mark]
        total, squares = total - self._sums[from_mark][0], squares - self._sums[from_mark][1]
        count = end - begin
        variance = max(squares - total * total / count, 0.0) / max(count - 1, 1)
        return self._base + total / count, variance, count


@dataclass
class Ribbon:
    """When a candidate was trained, as spans of the budget; gaps of less than ``gap`` are closed."""

    gap: float
    spans: list[list[float]]

    def add(self, start: float, end: float) -> None:
        """Trained from ``start`` to ``end``."""
        if self.spans and start - self.spans[-1][1] <= self.gap:
            self.spans[-1][1] = end
        else:
            self.spans.append([start, end])


def number(value: Any, digits: int = 6) -> float | int | None:
    """A number for JSON, of so many digits; None for what is none, or infinite."""
    if value is None or not math.isfinite(value):
        return None
    return value if isinstance(value, int) else float(f"{value:.{digits}g}")


def numbers(values: Any) -> list[float | int | None]:
    """The same of many."""
    return [number(value) for value in values]


def ends_kept(values: list[float]) -> list[float | int | None]:
    """The same of many, the first and the last to the last bit."""
    return [values[0], *numbers(values[1:-1]), values[-1]] if len(values) > 1 else list(values)

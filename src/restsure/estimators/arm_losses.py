"""The losses of one arm of a live game, in plain numbers: how large and how noisy they are, and thinned.

What :class:`Roughness` and :class:`ThinnedLosses` keep of many arms in arrays; the formulas are in their docstrings.
"""

import math
from collections.abc import Iterable, Sequence

from restsure.estimators.roughness import FADES, HEIGHT, OWN, POOLED, RUNAWAY
from restsure.estimators.thinned import Groups


class ArmLosses:
    """Losses as they come, one after the other; memory grows with the logarithm of their number."""

    def __init__(self, groups: Groups):
        self.groups = groups
        self.pulls, self.before, self.last = 0, 0.0, 0.0
        self.total, self.highest = 0.0, -math.inf
        self.squares, self.older = 0.0, 0.0  # weighed squares of second differences, of this age and of the one before
        self.ends, self.skipped = 16, 2.0  # when the next age begins; twice the weights of losses before these ages
        self.sums = list[float]()  # of each group

    def add(self, losses: Iterable[float], height: float) -> None:
        """The next losses; those above ``height`` do not count as noise."""
        for loss in losses:
            self.pulls += 1
            if self.pulls > 2:
                if self.pulls == self.ends:
                    self._turn_age()
                if loss <= height and self.last <= height and self.before <= height:
                    bend = loss - 2 * self.last + self.before
                    self.squares += (self.pulls - 1) * bend * bend
            self.before, self.last = self.last, loss
            self.total += loss
            self.highest = max(self.highest, loss)
            if self.pulls > self.edge:
                self.groups.reach(self.pulls)
                self.sums.append(0.0)
            self.sums[-1] += loss

    def _turn_age(self) -> None:
        self.older, self.squares = self.squares, 0.0
        began = self.ends / 2  # the age before this one
        self.skipped = (began - 1) * (began - 2) if began > 8 else 2.0
        self.ends *= 2

    @property
    def edge(self) -> int:
        """How many losses there are when the last group is full."""
        return int(self.groups.edges[len(self.sums)])

    @property
    def complete(self) -> int:
        """How many groups are full."""
        return len(self.sums) - (self.pulls < self.edge)

    @property
    def mean(self) -> float:
        """Of all losses, at most four times the last ones; infinite before the first."""
        if not self.pulls:
            return math.inf
        mean, latest = self.total / self.pulls, max(self.before, self.last)
        return min(mean, FADES * latest) if latest > 0 else mean

    def noise(self) -> tuple[int, float]:
        """How many second differences there are, and the variance of a loss by the last of them."""
        weights = max((self.pulls * (self.pulls - 1) - self.skipped) / 2, 1.0)
        return max(self.pulls - 2, 0), (self.squares + self.older) / (6 * weights)

    def windows(self) -> tuple[list[float], list[float]]:
        """How many losses there are before each quarter of the pulls and in all, and what they come to."""
        quarter = self.pulls // 4
        ends = [int(self.groups.of_loss[self.pulls - k * quarter]) for k in (4, 3, 2, 1)]
        counts = [float(self.groups.edges[end]) for end in ends]
        return [*counts, float(self.pulls)], [*(sum(self.sums[:end]) for end in ends), sum(self.sums)]


def scale_of(arms: Sequence[ArmLosses]) -> tuple[float, float]:
    """The scale L of a run, and the height above which its losses are far too high."""
    means = sorted(arm.mean for arm in arms if arm.pulls)
    count = len(means)
    if not count:
        return 1e-9, math.inf
    lower, upper = means[(count - 1) // 2], means[count // 2]
    if lower > 0:
        upper = RUNAWAY * min(upper / RUNAWAY, lower)
    median = abs(lower + upper) / 2
    height = HEIGHT * median if median > 0 else math.inf
    means = [min(mean, height) for mean in means]  # a runaway is not to set the scale
    middle = sum(means) / count
    spread = math.sqrt(sum((mean - middle) * (mean - middle) for mean in means) / count)
    scale = min(median, max(8 * spread, median / 10)) if count > 1 else median
    return max(scale, 1e-3 * max(abs(means[0]), abs(means[-1])), 1e-9), height


def noises_of(arms: Sequence[ArmLosses], scale: float) -> list[float]:
    """The variance of one loss of each arm, drawn towards that of all."""
    found, square = [arm.noise() for arm in arms], scale * scale
    counted = sum(min(extra, OWN) for extra, _ in found)
    pooled = (sum(min(extra, OWN) * own for extra, own in found) + 0.02**2 * square) / (counted + 1)
    return [max((POOLED * pooled + extra * own) / (POOLED + extra), 0.001**2 * square) for extra, own in found]

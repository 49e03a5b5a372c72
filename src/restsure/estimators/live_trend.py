"""The filters of one live game: the steps that :class:`LogTrendStates` takes for many games, in plain numbers.

Arrays pay off where many arms have new losses at a time. In a live game one has, and a handful of numbers is reckoned with
sooner one by one.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from restsure.estimators.arm_losses import ArmLosses, noises_of, scale_of
from restsure.estimators.base import Cells, indices_of
from restsure.estimators.curve_model import Floats
from restsure.estimators.filters import (
    ALOFT,
    LEAST_SIZE,
    MOST_SIZE,
    STALE,
    WEIGHT,
    FilteredCurves,
    begin,
    wander,
)
from restsure.estimators.kalman import Step, advance
from restsure.estimators.log_time import LogTime
from restsure.estimators.misfit import FEWEST
from restsure.estimators.roughness import STOCK
from restsure.estimators.thinned import Groups

MOST_ARMS = 128  # with more, taking stock of all is sooner done in arrays

State = tuple[float, float, float, float, float, float]
"""A filter: level, its variance, trend, their covariance, variance of the trend, twice the log of weight and likelihood."""


@dataclass(slots=True)
class LiveArm:
    """An arm: its losses, its filters after all complete groups of them, and with what they were started."""

    losses: ArmLosses
    time: LogTime
    filters: list[State] = field(default_factory=list)
    done: int = 0  # groups that the filters have run over
    scale: float = math.nan
    noise: float = math.nan
    height: float = math.nan


class LiveTrend(FilteredCurves):
    """The filters of the arms of one run."""

    def __init__(self, lengths: Floats):
        super().__init__(1, lengths)
        self.groups = Groups()
        times = {  # arms of one length share what they look up
            length: LogTime(self.groups, self.s0[:, k, None], self.rho, *self.noises)
            for k, length in enumerate(lengths.tolist())
        }
        self.arms = [LiveArm(ArmLosses(self.groups), times[length]) for length in lengths.tolist()]
        self.alone = [[0.0] * len(self.prior) for _ in self.arms]  # weights of the filters, each arm by itself
        self.ways = [  # what filters differ in
            tuple(column)
            for column in np.hstack((self.slope, self.slope_variance, self.drift, self.curb, *self.falling)).tolist()
        ]
        self.weights = self.prior[:, 0].tolist()
        self.height, self.stock_at = math.inf, 0.0

    def update(self, cells: Cells, losses: Floats) -> None:
        for arm, block in zip(indices_of(cells, len(self.arms)).tolist(), losses.tolist(), strict=True):
            self.arms[arm].losses.add(block, self.height)

    def means(self, cells: Cells) -> Floats:
        return np.array([self.arms[arm].losses.mean for arm in indices_of(cells, len(self.arms)).tolist()])

    def refresh(self, runs: NDArray[np.intp]) -> NDArray[np.intp]:
        pulls, seen = [arm.losses.pulls for arm in self.arms], self.seen.tolist()
        new = [k for k, (told, before) in enumerate(zip(pulls, seen, strict=True)) if before < told]
        if sum(pulls) >= self.stock_at or any(not seen[k] for k in new):
            self.stock_at = STOCK * sum(pulls)
            new = sorted({*new, *self._take_stock(new)})
        ahead = [self._run(k) for k in new]
        shared = [
            sum(of_all) / prior + self.kinship
            for of_all, prior in zip(zip(*self.alone, strict=True), self.weights, strict=True)
        ]
        for k, rows in zip(new, ahead, strict=True):
            self._write(k, rows, shared)
        return np.array(new, dtype=np.intp)

    def _take_stock(self, new: list[int]) -> list[int]:
        """Back to the prior where scale or noise have moved: which arms that are. ``new``: those with new losses."""
        losses = [arm.losses for arm in self.arms]
        scale, self.height = scale_of(losses)
        self._look_for_misfits([k for k in new if losses[k].pulls >= FEWEST])
        stale = list[int]()
        for k, (arm, noise) in enumerate(zip(self.arms, noises_of(losses, scale), strict=True)):
            if arm.losses.pulls and self._has_moved(arm, scale, noise):
                self._start_again(arm, scale, noise)
                stale.append(k)
        return stale

    def _has_moved(self, arm: LiveArm, scale: float, noise: float) -> bool:
        if not (_near(scale, arm.scale) and _near(noise, arm.noise)):
            return True
        high = arm.losses.highest > min(self.height, arm.height)
        return high and not _near(self.height, arm.height)

    def _start_again(self, arm: LiveArm, scale: float, noise: float) -> None:
        own = abs(_flat(arm.losses.mean, self.height))
        steep = own if own > ALOFT * scale else scale  # who is far above can fall far
        arm.scale, arm.noise, arm.height, arm.done = scale, noise, self.height, 0
        arm.filters = [
            (*begin(scale, steep, slope, variance), 2 * math.log(weight))
            for (slope, variance, *_), weight in zip(self.ways, self.weights, strict=True)
        ]

    def _look_for_misfits(self, grown: list[int]) -> None:
        if grown:
            count, total = zip(*(self.arms[k].losses.windows() for k in grown), strict=True)
            noise = np.array([self.arms[k].noise for k in grown])
            self.note_bends(np.array(grown), np.array(count).T, np.array(total).T, noise)

    def _run(self, k: int) -> list[list[float]]:
        """Feed complete groups that the filters have not seen, then what there is of the next one, on trial.

        Returns what predictions need of each filter but its weight.
        """
        arm = self.arms[k]
        losses, groups, filters = arm.losses, self.groups, arm.filters
        complete = losses.complete
        steps, ends = arm.time.plain()
        for group in range(arm.done, complete):
            size = int(groups.sizes[group])
            filters = _fed(arm, filters, steps[group], losses.sums[group] / size, arm.noise / size)
        arm.filters, arm.done = filters, complete
        at, since = float(groups.middles[complete - 1]), ends[complete - 1]
        if complete < len(losses.sums):
            first = int(groups.edges[complete])
            size = losses.pulls - first
            at = first + (size + 1) / 2
            since, step = arm.time.plain_step(at, since)
            filters = _fed(arm, filters, step, losses.sums[complete] / size, arm.noise / size)
        self.seen[k], self.at[k] = losses.pulls, at
        best = max(state[-1] for state in filters)
        odds = [math.exp(0.5 * (state[-1] - best)) for state in filters]
        total = sum(odds)
        self.alone[k] = [each / total for each in odds]
        rows = list[list[float]]()
        for (level, p11, trend, p12, p22, _), (_, _, drift, curb, low, high), when in zip(
            filters, self.ways, since, strict=True
        ):
            falls = low if trend < low else high if trend > high else trend
            terms = wander(_size(level, arm.scale), p12, p22, drift, curb)
            rows.append([level, p11, when, falls, *terms, 0.0 if level >= 0 else -math.inf])
        return rows

    def _write(self, k: int, rows: list[list[float]], shared: list[float]) -> None:
        """The outlook of an arm, its filters weighed by how often their kind of curve is met among all arms."""
        weight = [each * of_all for each, of_all in zip(self.alone[k], shared, strict=True)]
        total = sum(weight)
        for row, each in zip(rows, weight, strict=True):
            row.append(each / total)
        self.outlook[: WEIGHT + 1, :, k] = np.array(rows).T

    def variance_of_a_loss(self, cell: int) -> float:
        return self.arms[cell].noise


def _fed(arm: LiveArm, filters: list[State], steps: Sequence[Step], loss: float, noise: float) -> list[State]:
    """Filters after a step each, to a loss of that variance."""
    loss, after = _flat(loss, arm.height), list[State]()
    for (level, p11, trend, p12, p22, likelihood), step in zip(filters, steps, strict=True):
        size = _size(level, arm.scale)
        level, p11, trend, p12, p22, error, variance = advance(level, p11, trend, p12, p22, size, step, loss, noise)
        after.append((level, p11, trend, p12, p22, likelihood - (math.log(variance) + error * error / variance)))
    return after


def _size(level: float, scale: float) -> float:
    """What process noise is a share of, squared: the level, within reason."""
    square, unit = level * level, scale * scale
    return (
        LEAST_SIZE * unit if square < LEAST_SIZE * unit else MOST_SIZE * unit if square > MOST_SIZE * unit else square
    )


def _flat(loss: float, height: float) -> float:
    return height * (1 + math.log(loss / height)) if loss > height else loss


def _near(now: float, before: float) -> bool:
    """Whether a number is within a quarter of what it was; none is near to NaN."""
    return max(now / before, before / now) <= STALE

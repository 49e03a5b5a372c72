"""Curves that no curve model here follows: losses that rise, or fall faster and faster."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from restsure.estimators.thinned import ThinnedLosses

Floats = NDArray[np.float64]

FEWEST = 12  # losses before a window of a quarter says anything
SURE = 4.0  # standard errors
WORTH = 0.05  # of the loss: what is less is true of every curve, and of no consequence
FOLLOWS, RISES, SPEEDS_UP = range(3)
QUARTERS = np.arange(4, 0, -1)[:, None]  # of the pulls, before the end: where the windows begin
MISFIT = {RISES: "its losses rise", SPEEDS_UP: "its losses fall faster and faster"}


class Bends(NamedTuple):
    """How some curves bend: ``kind`` is one of FOLLOWS, RISES, SPEEDS_UP.

    Where a curve that does not follow the model could go: from ``level`` after ``at`` pulls down by ``fall`` a pull; as it
    falls now, or as it fell before it rose. Zeros if all of them follow it.
    """

    kind: NDArray[np.int8]
    level: Floats
    fall: Floats
    at: Floats


def windows(losses: ThinnedLosses, cells: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """How many losses of each cell there are before each quarter of its pulls and in all, and what they come to.

    The first window takes in what is left over; windows end where groups of losses do.
    """
    pulls, groups = losses.pulls[cells], losses.groups
    ends = groups.complete(pulls - QUARTERS * (pulls // 4))
    sums = np.add.accumulate(losses.sums.take(cells, axis=0), axis=1)
    total = np.concatenate((np.where(ends > 0, sums[np.arange(len(cells)), ends - 1], 0.0), sums[:, -1:].T))
    return np.concatenate((groups.edges[ends], pulls[None])), total


def bends(count: Floats, total: Floats, noise: Floats) -> Bends:
    """Compare the means ``w1, w2, w3`` of the last three quarters of the pulls of each cell.

    Every falling convex curve, and so each ``alpha (s + s0)**-rho + beta``, has ``w1 - w2 >= w2 - w3 >= 0``. A curve rises if
    ``w3 - min(w1, w2)``, and speeds up if ``(w2 - w3) - max(w1 - w2, 0)``, is above four of its standard errors and 5 % of the
    loss. ``count`` and ``total`` are those of :func:`windows`.
    """
    size = np.maximum(count[1:] - count[:-1], 1.0)
    start, first, second, third = (total[1:] - total[:-1]) / size
    wobble = noise / size
    before, now = np.maximum(first - second, 0.0), second - third
    worth, lower = WORTH * np.abs(second), np.minimum(first, second)
    rises = third - lower > np.maximum(SURE * np.sqrt(np.maximum(wobble[1], wobble[2]) + wobble[3]), worth)
    surprise = SURE * np.sqrt(wobble[1] + 4 * wobble[2] + wobble[3])
    bent = rises | (now - before > np.maximum(surprise, worth))
    bent &= count[-1] >= FEWEST
    if not np.count_nonzero(bent):
        nothing = np.zeros(len(noise))
        return Bends(nothing.astype(np.int8), nothing, nothing, nothing)
    kind = np.where(bent, np.where(rises, RISES, SPEEDS_UP), FOLLOWS).astype(np.int8)
    _, one, two, three = (count[1:] + count[:-1]) / 2
    earlier = np.maximum(before, start - first)  # the rise may have begun in the second window
    fall = np.where(rises, earlier / (two - one), now / (three - two))
    return Bends(kind, np.where(rises, lower, third), fall, np.where(rises, two, three))

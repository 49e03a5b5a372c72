"""Curves that no curve model here follows: losses that rise, or fall faster and faster."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from restsure.estimators.thinned import ThinnedLosses

Floats = NDArray[np.float64]

FEWEST = 12  # losses before a window of a quarter says anything
SURE = 4.0  # standard errors
WORTH = 0.05  # of the loss: what is less is true of every curve, and of no consequence
FOLLOWS, RISES, SPEEDS_UP = range(3)
MISFIT = {RISES: "its losses rise", SPEEDS_UP: "its losses fall faster and faster"}


@dataclass(frozen=True)
class Bends:
    """How some curves bend: ``kind`` is one of FOLLOWS, RISES, SPEEDS_UP.

    Where a curve that does not follow the model could go: from ``level`` after ``at`` pulls down by ``fall`` a pull; as it
    falls now, or as it fell before it rose.
    """

    kind: NDArray[np.int8]
    level: Floats
    fall: Floats
    at: Floats


def bends(losses: ThinnedLosses, cells: NDArray[np.intp], noise: Floats) -> Bends:
    """Compare the means ``w1, w2, w3`` of the last three quarters of the pulls of each cell.

    Every falling convex curve, and so each ``alpha (s + s0)**-rho + beta``, has ``w1 - w2 >= w2 - w3 >= 0``. A curve rises if
    ``w3 - min(w1, w2)``, and speeds up if ``(w2 - w3) - max(w1 - w2, 0)``, is above four of its standard errors and 5 % of the
    loss. Windows end where groups of losses do.
    """
    pulls = losses.pulls[cells]
    quarter = pulls // 4
    enough = pulls >= FEWEST
    groups = losses.groups
    ends = np.stack([groups.complete(pulls - k * quarter) for k in (4, 3, 2, 1)])
    count = np.concatenate((groups.edges[ends], pulls[None]))
    width = losses.sums.shape[1]
    sums = np.concatenate((np.zeros((len(cells), 1)), np.cumsum(losses.sums[cells], axis=1)), axis=1)
    total = np.concatenate((np.take_along_axis(sums, np.minimum(ends, width).T, axis=1).T, sums[:, -1][None]))
    size = np.maximum(np.diff(count, axis=0), 1)
    start, first, second, third = np.diff(total, axis=0) / size
    size, middle = size[1:], ((count[1:] + count[:-1]) / 2)[1:]
    wobble = noise / size
    before, now = np.maximum(first - second, 0.0), second - third
    worth = WORTH * np.abs(second)
    rise = third - np.minimum(first, second)
    rises = rise > np.maximum(SURE * np.sqrt(np.maximum(wobble[0], wobble[1]) + wobble[2]), worth)
    surprise = SURE * np.sqrt(wobble[0] + 4 * wobble[1] + wobble[2])
    speeds_up = now - before > np.maximum(surprise, worth)
    kind = np.where(enough & rises, RISES, np.where(enough & speeds_up, SPEEDS_UP, FOLLOWS)).astype(np.int8)
    level = np.where(rises, np.minimum(first, second), third)
    earlier = np.maximum(before, start - first)  # the rise may have begun in the second window
    fall = np.where(rises, earlier / (middle[1] - middle[0]), now / (middle[2] - middle[1]))
    return Bends(kind, level, fall, np.where(rises, middle[1], middle[2]))

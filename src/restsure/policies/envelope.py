"""Which arms are worse than some rival at every state still reachable: exact, in O(K log K), without scanning m.

In ``x = m**-rho`` every estimated curve is a line, and the best of all arms is their lower envelope, which is concave and
piecewise linear. An arm is eliminated when ``mu^_i(m) - envelope(m) > gap(m)`` for all whole ``m`` in [first, last]. Where
the envelope is one line, the left side is linear and the gap convex in ``x``, so their difference is concave and its
least value is at an end. Hence only the whole numbers next to the envelope's corners, and ``first`` and ``last``, matter.
An arm survives when its line passes below or through one of the points ``(x, envelope + gap)`` there, and the point to
look at is found on the upper hull of these points by the arm's slope.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Elimination:
    """For every arm: whether it is dominated, and where it comes closest to surviving.

    ``at`` is that pull count, ``rival`` the best arm there, ``behind`` the distance to it and ``needed`` the gap.
    """

    dominated: NDArray[np.bool_]
    at: NDArray[np.int64]
    rival: NDArray[np.intp]
    behind: Floats
    needed: Floats


def dominated_arms(
    alpha: Floats, beta: Floats, *, first: int, last: int, rho: float, gap: Callable[[Floats], Any]
) -> Elimination:
    """Judge the arms ``mu^_i(m) = alpha_i m**-rho + beta_i`` over whole ``m`` in [first, last].

    >>> flat = lambda x: np.full_like(x, 0.1)
    >>> dominated_arms(np.array([0., 1., 1.]), np.array([.5, .1, .3]), first=4, last=100, rho=.5, gap=flat).dominated
    array([False, False,  True])
    """
    owners, corners = lower_envelope(alpha, beta, last**-rho, first**-rho)
    below = np.floor(corners ** (-1 / rho))
    pulls = np.unique(np.clip(np.concatenate(([first, last], below, below + 1)), first, last))[::-1]
    x = pulls**-rho
    rivals = owners[np.searchsorted(corners, x)]
    envelope = alpha[rivals] * x + beta[rivals]
    needed = np.asarray(gap(x), dtype=np.float64)
    limit = envelope + needed
    hull = lower_hull(x, -limit)
    slopes = np.diff(limit[hull]) / np.diff(x[hull])
    nearest = hull[np.searchsorted(-slopes, -alpha)]
    losses = alpha * x[nearest] + beta
    return Elimination(
        dominated=losses > limit[nearest],
        at=pulls[nearest].astype(np.int64),
        rival=rivals[nearest],
        behind=losses - envelope[nearest],
        needed=needed[nearest],
    )


def lower_envelope(alpha: Floats, beta: Floats, low: float, high: float) -> tuple[NDArray[np.intp], Floats]:
    """The lines that are lowest somewhere in [low, high], from left to right, and the corners between them.

    A line is a point (value at ``low``, value at ``high``); the envelope is the lower left hull of these points.
    """
    at_low, at_high = alpha * low + beta, alpha * high + beta
    order = np.lexsort((at_high, at_low))
    ends = at_high[order]
    better = np.concatenate(([True], ends[1:] < np.minimum.accumulate(ends)[:-1]))
    stairs = order[better]  # no line of these is worse than another one at both ends
    owners = stairs[lower_hull(at_low[stairs], at_high[stairs])]
    gain, loss = np.diff(at_low[owners]), -np.diff(at_high[owners])
    return owners, low + gain / (gain + loss) * (high - low)


def lower_hull(x: Floats, y: Floats) -> NDArray[np.intp]:
    """Indices of the lower convex hull of points sorted by strictly increasing ``x`` (Andrew's monotone chain)."""
    if len(x) <= 2:
        return np.arange(len(x))
    hull = list[int]()
    xs, ys = x.tolist(), y.tolist()
    for k, (px, py) in enumerate(zip(xs, ys, strict=True)):
        while len(hull) > 1:
            i, j = hull[-2], hull[-1]
            if (xs[j] - xs[i]) * (py - ys[i]) > (ys[j] - ys[i]) * (px - xs[i]):
                break
            hull.pop()
        hull.append(k)
    return np.array(hull)

"""Steps along log-time, from group to group of losses."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from restsure.estimators.kalman import AT, S0, Floats, Step
from restsure.estimators.thinned import Groups, Ints

FEW = 16  # cells that are fed together, however many losses each has: more of them are sorted by that
AT_ONCE = 2**13  # groups of losses of all cells that are fed together, at the most
NO_STEP = np.array([[1.0], [0.0], [1.0], [0.0], [0.0]])  # to where one is


class LogTime:
    """What steps along ``u = log(s + s0)`` do to filters of several offsets ``s0`` and exponents.

    Groups of losses are the same for all arms: where arms have the same offsets too, which is so unless pulls have costs or
    arms have ends, steps between complete groups are looked up.
    """

    def __init__(self, groups: Groups, s0: Floats, rho: Floats, level_noise: Floats, trend_noise: Floats):
        """``s0``: a row a filter, a column an arm; the process noises are for an e-fold."""
        self.groups, self.minus_rho, self.noises = groups, -rho, (level_noise, trend_noise)
        self.s0 = s0[:, :1] if (s0 == s0[:, :1]).all() else None  # of all arms alike
        self.known = np.empty((1, 5, len(s0)))  # steps to each group, and at the end what changes nothing
        self.ends = np.empty((len(s0), 0))  # where they lead

    def step(self, before: Floats, after: Floats) -> Step:
        """What a step from one place along log-time to another one does."""
        length, (level_noise, trend_noise) = after - before, self.noises
        stay = np.exp(self.minus_rho * length)
        return stay, 1 - stay, stay * stay, level_noise * length, trend_noise * length

    def steps(self, state: Floats, group: Ints, waits: NDArray[np.bool_] | None) -> tuple[Any, Floats]:
        """Steps to complete groups from those before them, and where along log-time the last one leads.

        ``group``: of shape (steps, cells); none is made where a cell ``waits``.
        """
        if self.s0 is None:
            when = np.log(self.groups.middles[group].reshape(-1, 1, state.shape[2]) + state[S0])
            if waits is not None:
                np.copyto(when, state[AT], where=waits[:, None])
            before = np.concatenate((state[None, AT], when[:-1]))
            return list(zip(*self.step(before, when), strict=True)), when[-1]
        self._look_further(self.s0)
        known = self.known.take(group if waits is None else np.where(waits, -1, group), axis=0)
        return np.ascontiguousarray(known.transpose(0, 2, 3, 1)), self.ends.take(group[-1], axis=1)

    def _look_further(self, s0: Floats) -> bool:
        """Look up steps to all groups that there are by now; whether there are new ones."""
        if self.ends.shape[1] == len(self.groups.middles):
            return False
        self.ends = np.log(self.groups.middles + s0)
        parts = self.step(np.concatenate((self.ends[:, :1], self.ends[:, :-1]), axis=1), self.ends)
        self.known = np.concatenate((np.transpose(parts, (2, 0, 1)), np.broadcast_to(NO_STEP, (1, 5, len(s0)))))
        return True


def for_each(losses: Floats, state: Floats) -> list[Floats]:
    """The same for each filter, so that no array has to be stretched at every step."""
    return list(np.repeat(losses[:, None], state.shape[1], axis=1))


def batches(count: Ints) -> Iterator[NDArray[np.intp]]:
    """Positions of cells to feed together: of few all that have a count, of many those that have about as many groups."""
    some = count.nonzero()[0]
    if len(some) <= FEW:
        yield some
        return
    length = np.frexp(count[some] - 0.5)[1]
    for each in np.unique(length).tolist():
        alike = some[length == each]
        size = max(1, AT_ONCE >> each)
        yield from (alike[k : k + size] for k in range(0, len(alike), size))

"""The losses of many arms, thinned: singly at first, later as means of groups that grow with the number of pulls."""

import numpy as np
from numpy.typing import NDArray

from restsure.estimators.base import Cells, indices_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SHARE = (
    20  # a group that starts after n losses holds n / 20 of them: 5 % of the pulls, nothing along a curve in log-time
)


class Groups:
    """Which losses stand together. Group k holds the losses after the ``edges[k]``-th up to the ``edges[k + 1]``-th.

    Every loss up to the 40th stands alone; n losses make about ``40 + 20 log(n / 40)`` groups.
    """

    def __init__(self) -> None:
        self._lay_out(list(range(2 * SHARE + 1)))

    def _lay_out(self, edges: list[int]) -> None:
        self.edges = np.array(edges, dtype=np.float64)  # as floats, which is what they are reckoned with
        self.sizes = np.diff(self.edges)
        self.middles = self.edges[:-1] + (self.sizes + 1) / 2
        self.of_loss = np.repeat(np.arange(len(edges) - 1), np.diff(edges))  # the group of each loss, from 0

    def reach(self, losses: int) -> None:
        """Extend the tables to so many losses at least."""
        if losses < len(self.of_loss):
            return
        edges = self.edges.astype(np.int64).tolist()
        while edges[-1] < 2 * losses:
            edges.append(edges[-1] + edges[-1] // SHARE)
        self._lay_out(edges)

    def complete(self, losses: Ints) -> Ints:
        """How many groups are full after so many losses: those before the group of the next one."""
        return self.of_loss[losses]


class ThinnedLosses:
    """Sums of the losses in each group, for many cells; memory grows with the logarithm of the pulls."""

    def __init__(self, cells: int):
        self.groups = Groups()
        self.sums = np.zeros((cells, 16))
        self.pulls = np.zeros(cells, dtype=np.int64)

    def update(self, cells: Cells, losses: Floats) -> None:
        """The next losses of each cell: shape (number of cells, block)."""
        block, n = losses.shape[1], self.pulls[cells]
        most = int(n.max()) + block
        self.groups.reach(most)
        while self.groups.of_loss[most - 1] >= self.sums.shape[1]:
            self.sums = np.concatenate((self.sums, np.zeros_like(self.sums)), axis=1)
        which = indices_of(cells, len(self.pulls))
        if block == 1:
            self.sums[which, self.groups.of_loss[n]] += losses[:, 0]
        else:
            group = self.groups.of_loss[n[:, None] + np.arange(block)]
            np.add.at(self.sums, (which[:, None], group), losses)
        self.pulls[cells] = n + block

    def means(self, cells: NDArray[np.intp], group: Ints) -> tuple[Floats, Floats]:
        """Of complete groups of some cells: the mean of the losses, and how many they are."""
        size = self.groups.sizes[group]
        return self.sums[cells, group] / size, size

    def begun(self, cells: NDArray[np.intp], group: Ints) -> tuple[Floats, Floats, Floats]:
        """Of the last group of some cells: the mean of the losses so far, how many they are, and their middle pull."""
        first = self.groups.edges[group]
        size = self.pulls[cells] - first
        return self.sums[cells, group] / size, size, first + (size + 1) / 2

"""Equal pulls for all."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from restsure import checks
from restsure.description import settle
from restsure.estimators import Cells
from restsure.policies.peer import Floats, PeerPlay, Rows
from restsure.policies.policy import Policy
from restsure.policies.windows import divided


@dataclass(frozen=True)
class RoundRobin(Policy):
    """Pull all arms equally often and return the best mean.

    The first ``T mod K`` arms get one pull more. Arms are ranked by the mean of all their losses, or with ``eps`` by that of
    the last ``floor(eps n)`` ("RR-SW" for ``eps = .25``). The paper's algorithms with the paper's constants play like this.
    ``stuck_losses``: see :class:`RisingSuccessiveRejects`.

    Known weakness: the arm that is returned has had a K-th of the budget.
    """

    eps: float | None = None
    stuck_losses: int = 0

    def __post_init__(self) -> None:
        if self.eps is not None:
            settle(self, eps=checks.real("eps", self.eps, above=0, at_most=1))
        settle(self, stuck_losses=checks.whole("stuck_losses", self.stuck_losses, at_least=0))

    def play(self, n_arms: int, horizon: int, runs: int, *, log: bool = False) -> "RoundRobinPlay":
        return RoundRobinPlay(self, n_arms, horizon, runs, log=log)


class RoundRobinPlay(PeerPlay):
    """Many games of round robin; each arm's share, and so its window, is known in advance."""

    def __init__(self, policy: RoundRobin, n_arms: int, horizon: int, runs: int, *, log: bool = False):
        super().__init__(n_arms, horizon, runs, log=log)
        share = _shares(horizon, n_arms)
        window = share if policy.eps is None else np.maximum((policy.eps * share).astype(np.int64), 1)
        self.before_window = np.tile(share - window, runs)
        self.stuck = policy.stuck_losses
        self.sums = np.zeros(runs * n_arms)

    def learn(self, cells: Cells, losses: Floats) -> None:
        after = self.pulls.reshape(-1)[cells]
        skipped = self.before_window[cells]
        if (skipped == 0).all():
            self.sums[cells] += losses.sum(axis=1)
            return
        pull = (after - losses.shape[1])[:, None] + np.arange(1, losses.shape[1] + 1)
        counted = (pull > skipped[:, None]) | (pull <= self.stuck)
        self.sums[cells] += np.where(counted, losses, 0.0).sum(axis=1)

    def standing(self, rows: Rows) -> Floats:
        shape = (self.runs, self.n_arms)
        counted = self.pulls[rows] - self.before_window.reshape(shape)[rows]
        return divided(self.sums.reshape(shape)[rows], counted)

    def decide(self, rows: Rows) -> None:
        if not self.pulls.any() and not self.failed.any() and self.horizon >= self.n_arms:
            self.all_want = self.horizon // self.n_arms
            return
        left = self.horizon - self.spent(rows)
        for amount in np.unique(left[left > 0]).tolist():
            here = rows[left == amount]
            for row in here.tolist() if self.failed[here].any() else ():
                alive = np.flatnonzero(~self.failed[row])
                self.wanted[row, alive] = _shares(amount, len(alive))
            if not self.failed[here].any():
                self.wanted[here] = _shares(amount, self.n_arms)
        ended = rows[left == 0]
        if ended.size:
            self.choose(ended, self.best(ended), "best mean after equal pulls")


def _shares(pulls: int, n_arms: int) -> NDArray[np.int64]:
    """Equal shares; the first arms take what does not divide."""
    return pulls // n_arms + (np.arange(n_arms) < pulls % n_arms)

"""Rules that are fixed beforehand but for who survives: so many pulls each, then the worst are dropped."""

import math
from dataclasses import dataclass

import numpy as np

from restsure.estimators import Cells
from restsure.policies.peer import Floats, PeerPlay, Rows
from restsure.policies.windows import divided


@dataclass(frozen=True, slots=True)
class Phase:
    """Pull every arm that is left until it has had ``pulls`` pulls, then keep the best ``survivors``."""

    pulls: int
    survivors: int


class PhasesPlay(PeerPlay):
    """Many games of one schedule.

    Arms are ranked by the mean of their last ``floor(eps n)`` losses (one at least), or of all losses if ``eps`` is None; the
    first ``stuck`` losses are added to every window. The schedule says in advance at which pull counts arms are compared,
    so only the sums over those windows are kept: memory does not grow with the horizon.
    """

    def __init__(
        self,
        schedule: list[Phase],
        n_arms: int,
        horizon: int,
        runs: int,
        *,
        eps: float | None,
        stuck: int = 0,
        log: bool = False,
    ):
        super().__init__(n_arms, horizon, runs, log=log)
        self.schedule, self.stuck = schedule, stuck
        self.phase = np.zeros(runs, dtype=np.int64)
        ends = [phase.pulls for phase in self.schedule]
        starts = [0 if eps is None else end - max(1, math.floor(eps * end)) for end in ends]
        self.windows = list(zip(starts, ends, strict=True))
        cells = runs * n_arms
        self.sums = np.zeros((len(ends), cells))
        self.first = np.zeros(cells)  # of the losses that stay in every window
        self.total, self.last = np.zeros(cells), np.full(cells, np.inf)  # of all losses; the latest mean of a window

    def learn(self, cells: Cells, losses: Floats) -> None:
        after = self.pulls.reshape(-1)[cells]
        before = after - losses.shape[1]
        self.total[cells] += losses.sum(axis=1)
        in_step = bool((before == before[0]).all())
        for k, (start, end) in enumerate([*self.windows, (0, self.stuck)]):
            into = self.sums[k] if k < len(self.windows) else self.first
            if in_step:
                part = losses[:, max(start - int(before[0]), 0) : max(end - int(before[0]), 0)]
                if part.shape[1]:
                    into[cells] += part.sum(axis=1)
            else:
                pull = before[:, None] + np.arange(1, losses.shape[1] + 1)
                into[cells] += np.where((pull > start) & (pull <= end), losses, 0.0).sum(axis=1)

    def standing(self, rows: Rows) -> Floats:
        """The mean of the last finished window; before there is one, the mean of all losses."""
        shape = (self.runs, self.n_arms)
        mean = divided(self.total.reshape(shape)[rows], self.pulls[rows])
        last = self.last.reshape(shape)[rows]
        return np.where(np.isfinite(last), last, mean)

    def decide(self, rows: Rows) -> None:
        rows = rows[~self.failed[rows].all(axis=1)]
        open_rows = rows[self.choice[rows] < 0]
        for k in np.unique(self.phase[open_rows]).tolist():
            self._decide_in_phase(open_rows[self.phase[open_rows] == k], k)
        settled = rows[self.choice[rows] >= 0]
        self.done[settled] = self.spent(settled) == self.horizon

    def _decide_in_phase(self, rows: Rows, k: int) -> None:
        """Start phase k, or end it and start the next one."""
        if k < len(self.schedule):
            missing = np.where(self.active[rows], self.schedule[k].pulls - self.pulls[rows], 0)
            going = (missing > 0).any(axis=1)
            self.wanted[rows[going]] = np.maximum(missing[going], 0)
            ended = rows[~going]
            if ended.size:
                self._end_phase(ended, k)
                self.phase[ended] += 1
                self._decide_in_phase(ended, k + 1)
        else:
            arms = self.best(rows, self.active[rows] | ~self.active[rows].any(axis=1, keepdims=True))
            self.choose(rows, arms, "last survivor: the rest of the budget")

    def _end_phase(self, rows: Rows, k: int) -> None:
        """Rank the arms that are left by their windows and drop all but the survivors."""
        start, end = self.windows[k]
        shape = (self.runs, self.n_arms)
        sums = self.sums[k].reshape(shape)[rows] + (self.first.reshape(shape)[rows] if self.stuck else 0.0)
        active = self.active[rows]
        means = np.where(active, sums / (end - start), np.inf)
        last = self.last.reshape(shape)
        last[rows] = np.where(active, means, last[rows])
        order = np.argsort(means, axis=1, kind="stable")
        rank = np.empty_like(order)
        np.put_along_axis(rank, order, np.arange(self.n_arms)[None, :], axis=1)
        kept = active & (rank < self.schedule[k].survivors)
        if self.log is not None:
            where, dropped = np.nonzero(active & ~kept)
            self.note(rows[where], dropped, f"phase {k + 1}: not among the best")
        self.active[rows] = kept

    def fail(self, run: int, arm: int) -> None:
        self.active[run, arm] = False
        super().fail(run, arm)


def rejects_schedule(n_arms: int, horizon: int) -> list[Phase]:
    """Phases of successive rejects: ``N_j = ceil((T - K) / (logbar(K) (K + 1 - j)))``, one arm dropped after each."""
    logbar = 0.5 + sum(1 / i for i in range(2, n_arms + 1))
    pulls = [math.ceil((horizon - n_arms) / (logbar * (n_arms + 1 - j))) for j in range(1, n_arms)]
    return [Phase(max(each, 1), n_arms - j) for j, each in enumerate(pulls, start=1)]

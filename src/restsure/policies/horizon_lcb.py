"""Optimism at the reach: the policy this package is about."""

import math
from dataclasses import KW_ONLY, dataclass

import numpy as np

from restsure import checks
from restsure.description import settle
from restsure.estimators import Cells, CurveModel, LogTrend
from restsure.policies.peer import Floats, PeerPlay, Rows
from restsure.policies.policy import Policy

WIDTH = 0.9  # factor of the bonus; with it the width shrinks by itself, where constant widths suit different problems
GROWTH = 0.05  # share of its pulls that an arm gets at a time; up to a tenth costs nothing that can be measured


@dataclass(frozen=True)
class HorizonLCB(Policy):
    """Pull the arm with the lowest optimistic loss at the furthest state it can still reach.

    With ``m_i = n_i + (T - t)`` the reach of arm i, and ``M_i``, ``S_i`` the mean and standard deviation that ``curve``
    predicts there, the index is

        I_i = M_i - patience * 0.9 * sqrt(2 log(1 + (T - t) / (K n_i))) * S_i

    The arm with the lowest index gets ``max(1, floor(.05 n_i))`` pulls; every pull given to another arm shortens the reach, so
    that waiting is punished and commitment happens by itself. The pulls that the curve needs to say anything come first
    (one of each arm if that is more than half of the budget). In the end the lowest estimated loss at the pulls that were
    made is returned.

    ``curve``: how learning curves look: :class:`~restsure.LogTrend`, or :class:`~restsure.PowerLaw` when the exponent is known.
    ``floor``: a known lower bound of the losses, from which they are measured. ``patience`` widens or narrows the bonus. The
    interval it reports is an estimate and not certified.
    """

    curve: CurveModel = LogTrend()
    _: KW_ONLY
    patience: float = 1.0
    floor: float = 0.0

    def __post_init__(self) -> None:
        checks.instance("curve", self.curve, CurveModel)
        settle(
            self,
            patience=checks.real("patience", self.patience, at_least=0),
            floor=checks.real("floor", self.floor),
        )

    def losses_kept(self, n_arms: int, horizon: int) -> int:
        return n_arms * horizon if isinstance(self.curve, LogTrend) else n_arms

    def play(self, n_arms: int, horizon: int, runs: int, *, log: bool = False) -> "HorizonLCBPlay":
        return HorizonLCBPlay(self, n_arms, horizon, runs, log=log)


class HorizonLCBPlay(PeerPlay):
    """Many games of optimism at the reach."""

    in_step = False

    def __init__(self, policy: HorizonLCB, n_arms: int, horizon: int, runs: int, *, log: bool = False):
        super().__init__(n_arms, horizon, runs, log=log)
        self.width, self.floor = WIDTH * policy.patience, policy.floor
        self.curves = policy.curve.start(runs, n_arms, horizon)
        self.first = 1 if policy.curve.first_pulls * n_arms > horizon / 2 else policy.curve.first_pulls

    def learn(self, cells: Cells, losses: Floats) -> None:
        self.curves.update(cells, losses - self.floor if self.floor else losses)

    def _predict(self, rows: Rows, pulls: Floats) -> tuple[Floats, Floats]:
        mean, sd = self.curves.predict(self.cells_of(rows), np.maximum(pulls, 1.0).reshape(-1))
        return mean.reshape(pulls.shape) + self.floor, sd.reshape(pulls.shape)

    def standing(self, rows: Rows) -> Floats:
        """The estimated loss at the pulls an arm has had: never an extrapolation."""
        return self._predict(rows, self.pulls[rows].astype(np.float64))[0]

    def index(self, rows: Rows, left: Floats) -> Floats:
        """``I_i``. An arm of unknown spread comes before all others, the least pulled one first."""
        pulls = self.pulls[rows].astype(np.float64)
        mean, sd = self._predict(rows, pulls + left[:, None])
        bonus = self.width * np.sqrt(2 * np.log1p(left[:, None] / (self.n_arms * np.maximum(pulls, 1))))
        known = np.isfinite(mean) & np.isfinite(sd)
        return np.where(known, np.where(known, mean, 0.0) - bonus * np.where(known, sd, 0.0), -1e300 / (1 + pulls))

    def decide(self, rows: Rows) -> None:
        rows = rows[~self.failed[rows].all(axis=1)]
        self.curves.refresh(rows)
        left = self.horizon - self.spent(rows)
        ended = left == 0
        if ended.any():
            self.choose(
                rows[ended], self.best(rows[ended], self.pulls[rows[ended]] > 0), "lowest loss at the pulls made"
            )
            rows, left = rows[~ended], left[~ended]
        if not rows.size:
            return
        cold = (self.pulls[rows] < self.first) & ~self.failed[rows]
        starting = cold.any(axis=1)
        if starting.any():
            missing = np.where(cold, self.first - self.pulls[rows], 0)[starting]
            room = left[starting][:, None] - (np.cumsum(missing, axis=1) - missing)
            self.wanted[rows[starting]] = np.clip(room, 0, missing)
            rows, left = rows[~starting], left[~starting]
        if rows.size:
            index = np.where(self.failed[rows], np.inf, self.index(rows, left.astype(np.float64)))
            arms = index.argmin(axis=1)
            block = np.maximum(1, (GROWTH * self.pulls[rows, arms]).astype(np.int64))
            self.wanted[rows, arms] = np.minimum(block, left)

    def interval(self, run: int, arm: int) -> tuple[float, float, float, str]:
        row = np.array([run])
        mean, sd = self._predict(row, self.pulls[row].astype(np.float64))
        loss, spread = float(mean[0, arm]), 1.645 * float(sd[0, arm])
        spread = spread if math.isfinite(spread) else math.inf
        return loss, loss - spread, loss + spread, "90 % interval, not certified"

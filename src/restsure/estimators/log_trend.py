"""Learning curves of unknown shape: a level and a trend in log-time, filtered."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from restsure.estimators.base import Cells
from restsure.estimators.curve_model import CurveModel, CurveStates, Floats
from restsure.estimators.roughness import Roughness

RHO = 0.5  # how fast the trend dies out along log-time, without process noise
OFFSETS = (0.0, 1 / 20, 1 / 2)  # s0 of the filters, as shares of the horizon: steep at once, delayed, nearly linear
WEIGHTS = (0.6, 0.3, 0.1)  # their prior weights
SLOPE_SD = (0.3, 0.6, 0.6)  # prior spread of the trend, in units of the scale L
LEVEL_NOISE, TREND_NOISE = 0.05, 0.10  # process noise an e-fold, as shares of the level
STALE = 1.25  # a filter is run again when its noise or scale has moved by more than this factor


@dataclass(frozen=True)
class LogTrend(CurveModel):
    """A level ``l`` and a drop ``v`` per e-fold of training, ``dl = -v du``, ``dv = -v du / 2`` in ``u = log(s + s0)``.

    Without process noise this *is* ``alpha (s + s0)**-1/2 + beta``. With a little of it old losses are forgotten at the rate
    the noise justifies, and a wrong exponent is absorbed. Three Kalman filters an arm, with ``s0`` = 0, T/20 and T/2, are
    mixed by prior weight times likelihood. All sizes are relative to the scale L of the run's losses, and the noise of each
    arm comes from second differences of its losses, drawn towards that of all arms (:class:`Roughness`). When scale or noise
    move by a quarter, the filters of that arm run over its losses again: the scale settles with the first losses and the
    noise with its estimate, so that this happens a few times in a game and not once a pull.

    Losses are measured from a known lower bound, ``HorizonLCB(floor=...)``.
    """

    def start(self, runs: int, n_arms: int, horizon: int) -> "LogTrendStates":
        return LogTrendStates(runs, n_arms, horizon)


class LogTrendStates(CurveStates):
    """The filters of many arms; arrays have a row a cell and a column a filter."""

    def __init__(self, runs: int, n_arms: int, horizon: int):
        cells = runs * n_arms
        self.runs, self.n_arms = runs, n_arms
        self.s0 = np.array(OFFSETS) * horizon
        self.prior = np.log(WEIGHTS)
        self.roughness = Roughness(runs, n_arms)
        self.level, self.trend, self.likelihood = (np.zeros((cells, 3)) for _ in range(3))
        self.p11, self.p12, self.p22 = (np.zeros((cells, 3)) for _ in range(3))
        self.steps = _Steps(self.s0)
        self.done = np.zeros(cells, dtype=np.int64)  # losses that the filters have seen
        self.noise, self.scale = np.full(cells, np.nan), np.full(cells, np.nan)  # with which they were started

    def update(self, cells: Cells, losses: Floats) -> None:
        self.roughness.update(np.arange(len(self.done)) if isinstance(cells, slice) else cells, losses)

    def refresh(self, runs: NDArray[np.intp]) -> None:
        """Start filters again whose scale or noise has moved, and run all over the losses they have not seen.

        Only here, at a decision, so that neither the blocks in which losses are told nor a look in between changes anything.
        """
        arms = (runs[:, None] * self.n_arms + np.arange(self.n_arms)).reshape(-1)
        arms = arms[self.roughness.pulls[arms] > 0]
        row, column = np.divmod(arms, self.n_arms)
        row = np.searchsorted(runs, row)
        scale = self.roughness.scale(runs)
        noise = self.roughness.noise(runs, scale)[row, column]
        scale = scale[row]
        with np.errstate(invalid="ignore"):
            moved = np.maximum(_ratio(scale, self.scale[arms]), _ratio(noise, self.noise[arms]))
            stale = ~(moved <= STALE)
        self._restart(arms[stale], scale[stale], noise[stale])
        self._run(arms[self.done[arms] < self.roughness.pulls[arms]])

    def _restart(self, cells: NDArray[np.intp], scale: Floats, noise: Floats) -> None:
        """Back to the prior; the losses are run over again by :meth:`_run`."""
        size = scale[:, None]
        self.scale[cells], self.noise[cells], self.done[cells] = scale, noise, 0
        self.level[cells], self.trend[cells], self.likelihood[cells] = size, 0.1 * size, 0.0
        self.p11[cells], self.p12[cells], self.p22[cells] = size**2, 0.0, (size * np.array(SLOPE_SD)) ** 2

    def _run(self, cells: NDArray[np.intp]) -> None:
        """Feed every loss that a filter has not seen yet; the longest series first, so that those at work stand in front."""
        if not cells.size:
            return
        missing = self.roughness.pulls[cells] - self.done[cells]
        cells = cells[np.argsort(-missing, kind="stable")]
        missing = np.sort(missing)[::-1]
        state = [part[cells] for part in (self.level, self.trend, self.p11, self.p12, self.p22, self.likelihood)]
        scale, noise, seen = self.scale[cells, None], self.noise[cells, None], self.done[cells]
        for k in range(int(missing[0])):
            at_work = int(np.searchsorted(-missing, -k, side="left"))
            loss = self.roughness.losses[cells[:at_work], seen[:at_work] + k][:, None]
            part = [values[:at_work] for values in state]
            _propagate(part, *self.steps.at(seen[:at_work] + k), scale[:at_work])
            _observe(part, loss, noise[:at_work])
        for target, values in zip(
            (self.level, self.trend, self.p11, self.p12, self.p22, self.likelihood), state, strict=True
        ):
            target[cells] = values
        self.done[cells] = seen + missing

    def predict(self, cells: Cells, pulls: Floats) -> tuple[Floats, Floats]:
        known = self.done[cells] > 0
        n = np.maximum(self.done[cells], 1.0)[:, None]
        time = np.log((np.maximum(pulls[:, None], n) + self.s0) / (n + self.s0))
        f = np.exp(-RHO * time)
        g = (1 - f) / RHO
        level, scale = self.level[cells], np.nan_to_num(self.scale[cells], nan=1.0)[:, None]
        size = np.clip(level, 0.02 * scale, 2 * scale)
        mean = level - np.maximum(self.trend[cells], 0) * g
        drift = LEVEL_NOISE**2 * time + TREND_NOISE**2 * (time - 2 * g + (1 - f * f) / (2 * RHO)) / RHO**2
        variance = self.p11[cells] - 2 * g * self.p12[cells] + g * g * self.p22[cells] + size**2 * drift
        weight = self.prior + self.likelihood[cells]
        weight = np.exp(weight - weight.max(axis=1, keepdims=True))
        weight /= weight.sum(axis=1, keepdims=True)
        mixed = (weight * mean).sum(axis=1)
        spread = (weight * (variance + (mean - mixed[:, None]) ** 2)).sum(axis=1)
        untold = self.roughness.mean(cells)  # before the first decision: no filter has run
        return np.where(known, mixed, untold), np.where(known, np.sqrt(np.maximum(spread, 0.0)), np.inf)


def _ratio(new: Floats, old: Floats) -> Floats:
    """How far apart two positive numbers are, as a factor of at least one; NaN where there was none before."""
    return np.maximum(new / old, old / new)


class _Steps:
    """Each filter's step in log-time from n to n + 1 losses, in tables: every cell takes the same steps."""

    def __init__(self, s0: Floats):
        self.s0 = s0
        self.step, self.f, self.g = np.zeros((1, 3)), np.ones((1, 3)), np.zeros((1, 3))  # no step before the first loss

    def at(self, n: NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
        """``du``, ``f = exp(-rho du)`` and ``g = (1 - f) / rho``."""
        if int(n.max()) >= len(self.step):
            counts = np.arange(1.0, 2 * int(n.max()) + 64)[:, None]
            step = np.log((counts + 1 + self.s0) / (counts + self.s0))
            self.step = np.concatenate((self.step[:1], step))
            self.f = np.exp(-RHO * self.step)
            self.g = (1 - self.f) / RHO
        return self.step[n], self.f[n], self.g[n]


def _propagate(state: list[Floats], step: Floats, f: Floats, g: Floats, scale: Floats) -> None:
    """One step of log-time: the level drops by the trend, the trend dies out, and both become less certain."""
    level, trend, p11, p12, p22, _ = state
    size = np.clip(level, 0.02 * scale, 2 * scale) ** 2 * step
    level -= g * trend
    trend *= f
    p11 += g * (g * p22 - 2 * p12) + LEVEL_NOISE**2 * size
    p12 -= g * p22
    p12 *= f
    p22 *= f * f
    p22 += TREND_NOISE**2 * size


def _observe(state: list[Floats], loss: Floats, noise: Floats) -> None:
    """The scalar Kalman step, and the log-likelihood of its innovation."""
    level, trend, p11, p12, p22, likelihood = state
    total = p11 + noise
    surprise = loss - level
    gain, trend_gain = p11 / total, p12 / total
    level += gain * surprise
    trend += trend_gain * surprise
    p22 -= trend_gain * p12
    p12 *= 1 - gain
    p11 *= 1 - gain
    likelihood -= 0.5 * (np.log(2 * np.pi * total) + surprise * surprise / total)

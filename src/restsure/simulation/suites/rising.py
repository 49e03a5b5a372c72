"""The rising-bandit papers' own problems, in losses: the reward of an arm's pull is one minus its loss.

Rewards rise with the number of pulls ``x`` an arm has had before, so that the first pull is at ``x = 0``.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from restsure.arms import Arms, BetaNoise, FunctionArms, Noise, RoundNoise, TableArms
from restsure.simulation.suites.data import data_directory, load_arrays
from restsure.simulation.suites.row import Row

Reward = Callable[[Any], Any]


def _saturating(c: float, k: float, x: Any) -> Any:
    return c * (1 - k / (k + x))


def _linear(slope: float, most: float, x: Any) -> Any:
    return np.minimum(slope * x, most)


def _exponential(c: float, a: float, b: float, x: Any) -> Any:
    return c * (1 - np.exp(-a * x / b))


def _polynomial(c: float, b: float, r: float, offset: float, x: Any) -> Any:
    return c * (1 - b / (x + offset ** (1 / r)) ** r)


def _e(c: float, a: float, b: float) -> Reward:
    return partial(_exponential, c, a, b)


def _p(c: float, b: float, r: float) -> Reward:
    return partial(_polynomial, c, b, r, b)


SETTING_A: tuple[Reward, ...] = (
    partial(_saturating, 1, 37),
    partial(_saturating, 0.88, 10),
    partial(_saturating, 0.78, 1),
    partial(_saturating, 0.7, 10),
    partial(_saturating, 0.5, 20),
)
"""Mussi et al. 2024, K = 5. The best arm is the second for T <= 185, then the first."""

SETTING_B: tuple[Reward, ...] = (
    partial(_linear, 0.0025, 0.99),
    partial(_saturating, 0.47, 10),
    partial(_linear, 0.004, 0.7),
)
"""Mussi et al. 2024, K = 3, linear and then flat. Best: second at T = 100, third for about 150..279, first from 280."""

SRB_2: tuple[Reward, ...] = (partial(_saturating, 0.4, 500), partial(_linear, 1 / 25_000, 1.0))
"""Metelli et al. 2022, two arms, T = 50,000; ``.4 (1 - 50000/(100 x + 50000))`` is the first."""

SRB_15: tuple[Reward, ...] = (
    *(_p(1, 177, 0.8), _p(0.91, 571, 0.9), _e(0.73, 3, 162), _e(0.16, 3, 949), _p(0.48, 144, 1)),
    *(partial(_polynomial, 0.43, 195, 0.9, 199), _p(0.79, 695, 0.9), _e(0.62, 1, 271), _e(0.23, 1, 849)),
    *(_e(0.39, 5, 457), _p(0.37, 290, 1), _p(0.17, 223, 1), _p(1.08, 85, 0.8), _p(0.84, 219, 1), _p(0.26, 124, 0.9)),
)
"""Metelli et al. 2022, fifteen arms, T = 50,000, Beta noise."""


def rising_arms(rewards: Sequence[Reward], noise: Noise | None) -> FunctionArms:
    """Arms whose s-th loss has mean ``1 - reward(s - 1)``, kept within [0, 1] against rounding and overshoot."""
    return FunctionArms([partial(_loss, reward) for reward in rewards], noise=noise)


def _loss(reward: Reward, s: Any) -> Any:
    return np.clip(1 - reward(s - 1), 0, 1)


HORIZONS_A = (100, 150, 200, 300, 500, 800, 900, 1_000, 1_200, 1_400, 2_400, 2_800, 3_200)
HORIZONS_B = (100, 200, 300, 400, 600, 800)


def settings(
    horizons_a: Iterable[int] = HORIZONS_A,
    horizons_b: Iterable[int] = HORIZONS_B,
    noise: Callable[[float], Noise] = RoundNoise,
) -> list[Row]:
    """Settings A and B with noise of .01 and .1, by default that of the papers' seeds."""
    return [
        Row(f"Setting {name}, sigma {sigma:g}", f"T = {horizon}", horizon, _made(rewards, noise(sigma)))
        for name, rewards, horizons in (("A", SETTING_A, horizons_a), ("B", SETTING_B, horizons_b))
        for sigma in (0.01, 0.1)
        for horizon in horizons
    ]


def rising(data: Path | str | None = None) -> list[Row]:
    """Settings A and B with the papers' seeds (run r of the noise is ``RandomState(r)``), SRB-2, SRB-15 and IMDB."""
    rows = settings()
    rows.append(Row("SRB", "SRB-2, T = 50,000", 50_000, _made(SRB_2, RoundNoise(0.1))))
    rows.append(Row("SRB", "SRB-15, T = 50,000", 50_000, _made(SRB_15, BetaNoise(2.0))))
    rows += [
        Row("IMDB", f"IMDB, T = {horizon:,}", horizon, _imdb(data), replicates=1) for horizon in (1_000, 5_000, 20_000)
    ]
    return rows


def _made(rewards: Sequence[Reward], noise: Noise) -> Callable[[int, int], Arms]:
    return lambda replicates, seed: rising_arms(rewards, noise)


def _imdb(data: Path | str | None) -> Callable[[int, int], Arms]:
    """Recorded means of 1,000 runs: the same in every run, so that one run tells all."""

    def make(replicates: int, seed: int) -> Arms:
        path = data_directory(data) / "imdb_online.npz"
        return TableArms(1 - load_arrays(path, {"accuracy_milli": ("learner", "pull")})["accuracy_milli"] / 1_000)

    return make

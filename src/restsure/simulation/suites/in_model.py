"""Curves that are what the paper assumes: power laws with a known exponent of 1/2."""

from collections.abc import Callable
from pathlib import Path
from zlib import crc32

import numpy as np

from restsure.arms import Arms, Bernoulli, Gaussian, Noise, PowerLawArms
from restsure.simulation.suites.row import Row

NOISES: dict[str, Noise] = {"Gaussian .1": Gaussian(0.1), "Bernoulli": Bernoulli()}


def in_model(data: Path | str | None = None) -> list[Row]:
    """Random and crossing instances, pairs with a known gap, and Example 1; ``data`` is not needed."""
    rows = list[Row]()
    for kind, draw in (("random", _random), ("crossing", _crossing)):
        for noise_name, noise in NOISES.items():
            for n_arms in (2, 8, 32):
                for horizon in (1_000, 10_000, 100_000):
                    name = f"{kind}, K = {n_arms}, T = {horizon:,}, {noise_name}"
                    rows.append(Row(f"{kind}, {noise_name}", name, horizon, _drawn(draw, n_arms, noise, name)))
    for gap in (0.005, 0.02, 0.08):
        for horizon in (1_000, 10_000, 100_000):
            pair = PowerLawArms([0.5, 0.5], [0.2, 0.2 + gap], noise=Gaussian(0.1))
            rows.append(Row("gap", f"gap {gap:g}, T = {horizon:,}", horizon, _fixed(pair)))
    example = PowerLawArms([0.0, 1.0], [0.2, 0.2], noise=Gaussian(0.1))
    rows += [Row("Example 1", f"Example 1, T = {horizon:,}", horizon, _fixed(example)) for horizon in (1_000, 10_000)]
    return rows


Draw = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]


def _random(rng: np.random.Generator, n_arms: int) -> tuple[np.ndarray, np.ndarray]:
    return rng.random(n_arms), rng.uniform(0, 0.5, n_arms)


def _crossing(rng: np.random.Generator, n_arms: int) -> tuple[np.ndarray, np.ndarray]:
    """The faster an arm starts, the higher it ends."""
    alpha = rng.random(n_arms)
    return alpha, np.clip(0.5 - 0.45 * alpha + rng.normal(0, 0.02, n_arms), 0, 1)


def _drawn(draw: Draw, n_arms: int, noise: Noise, name: str) -> Callable[[int, int], Arms]:
    """One fresh instance a run, which does not depend on how many runs there are."""

    def make(replicates: int, seed: int) -> Arms:
        drawn = [draw(np.random.default_rng([seed, crc32(name.encode()), run]), n_arms) for run in range(replicates)]
        alpha, beta = (np.stack(part) for part in zip(*drawn, strict=True))
        return PowerLawArms(alpha, beta, noise=noise)

    return make


def _fixed(arms: Arms) -> Callable[[int, int], Arms]:
    return lambda replicates, seed: arms

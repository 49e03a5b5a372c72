"""Curves that are not what the paper assumes: other exponents, exponentials, late starters, sigmoids in log-time."""

from collections.abc import Callable
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from restsure.arms import Gaussian, TableArms
from restsure.simulation.suites.row import Row

Floats = NDArray[np.float64]
Shape = Callable[[np.random.Generator, Floats, Floats, int], Floats]
"""From a generator, ``alpha`` (K, 1), the pulls 1..T and T: losses without their limit."""


def _power(rho: float) -> Shape:
    return lambda rng, alpha, s, horizon: alpha * s**-rho


def _any_power(rng: np.random.Generator, alpha: Floats, s: Floats, horizon: int) -> Floats:
    return np.asarray(alpha * s ** -rng.uniform(0.1, 1.2, alpha.shape))


def _exponential(times: float) -> Shape:
    """With a time constant of half to two T / times."""
    return lambda rng, alpha, s, horizon: alpha * np.exp(-s * times / (horizon * rng.uniform(0.5, 2, alpha.shape)))


def _shifted(share: float) -> Shape:
    """A power law that starts after a share of T."""

    def losses(rng: np.random.Generator, alpha: Floats, s: Floats, horizon: int) -> Floats:
        s0 = share * horizon
        return np.asarray(alpha * ((s + s0) / (1 + s0)) ** -rng.uniform(0.5, 1.5, alpha.shape))

    return losses


def _sigmoid(rng: np.random.Generator, alpha: Floats, s: Floats, horizon: int) -> Floats:
    return np.asarray(alpha / (1 + (s / (horizon * rng.uniform(0.02, 0.4, alpha.shape))) ** 2))


SHAPES: tuple[tuple[str, Shape, bool, int, int, float], ...] = (
    ("exponent .25, crossing", _power(0.25), True, 8, 1_000, 0.05),
    ("exponent 1, crossing", _power(1.0), True, 8, 1_000, 0.05),
    ("exponents .1 to 1.2", _any_power, False, 8, 1_000, 0.05),
    ("exponents .1 to 1.2", _any_power, False, 10, 256, 0.02),
    ("exponentials, T/5", _exponential(5), True, 8, 1_000, 0.05),
    ("exponentials, T/20", _exponential(20), True, 8, 1_000, 0.05),
    ("exponentials, T/3", _exponential(3), True, 8, 256, 0.02),
    ("shifted by T/10", _shifted(0.1), False, 8, 1_000, 0.05),
    ("shifted by 3T/10", _shifted(0.3), False, 8, 256, 0.02),
    ("sigmoids", _sigmoid, False, 8, 1_000, 0.05),
)
"""Name, shape, whether those that fall far end low, K, T, standard deviation of the noise."""


def shapes(data: Path | str | None = None) -> list[Row]:
    """Ten rows, one fresh instance a run; ``data`` is not needed."""
    return [
        Row("shapes", f"{name}, K = {k}, T = {horizon:,}", horizon, _arms(name, shape, crossing, k, horizon, sigma))
        for name, shape, crossing, k, horizon, sigma in SHAPES
    ]


def _arms(
    name: str, shape: Shape, crossing: bool, k: int, horizon: int, sigma: float
) -> Callable[[int, int], TableArms]:
    def make(replicates: int, seed: int) -> TableArms:
        losses = np.empty((replicates, k, horizon))
        for run in range(replicates):
            rng = np.random.default_rng([seed, crc32(f"{name} {k} {horizon}".encode()), run])
            alpha, limit = rng.random((k, 1)), rng.uniform(0, 0.5, (k, 1))
            if crossing:
                limit = np.clip(0.5 - 0.45 * alpha + rng.normal(0, 0.02, (k, 1)), 0, 1)
            losses[run] = shape(rng, alpha, np.arange(1.0, horizon + 1), horizon) + limit
        return TableArms(losses, noise=Gaussian(sigma))

    return make

"""Theorem 2: how far the two-window estimate of a loss can be off."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from restsure import checks
from restsure.errors import InvalidParameter


def theorem2_radius(
    tau: ArrayLike, *, n_arms: int, horizon: int, rho: float, alpha_max: float = 1.0, delta: float
) -> Any:
    """``CB_{mu,tau}(delta)``, the radius of Theorem 2 after ``2 tau`` losses of an arm.

    ``CB = 10 (sqrt(U) + 1)^2 / ((1 - rho) rho) * (L / tau + sqrt(L / tau))`` with ``L = log(tau K T / delta)``: with
    probability ``1 - delta`` the estimate of ``mu_i(m)`` is within CB of the truth for all arms, ``tau`` and ``m`` at
    once. Infinite for ``tau < 1``, where nothing is known. A float for a number, an array for an array.

    >>> round(2 * theorem2_radius(5_000, n_arms=2, horizon=10_000, rho=0.5, delta=1e-4), 1)
    25.6
    """
    rho = checks.real("rho", rho, above=0, at_most=1)
    if rho == 1:
        raise InvalidParameter(
            "rho=1: must be below 1 for Theorem 2, whose radius has the factor 1/(1 - rho); "
            "ExactWeights, SelfNormalized and Empirical work with rho = 1"
        )
    n_arms = checks.whole("n_arms", n_arms, at_least=1)
    horizon = checks.whole("horizon", horizon, at_least=1)
    alpha_max = checks.real("alpha_max", alpha_max, at_least=0)
    delta = checks.real("delta", delta, above=0, below=1)
    windows = np.asarray(tau, dtype=np.float64)
    radii = np.where(windows < 1, np.inf, _radius(np.maximum(windows, 1), n_arms, horizon, rho, alpha_max, delta))
    return radii if radii.ndim else float(radii)


def unchecked_radius(tau: int, n_arms: int, horizon: int, rho: float, alpha_max: float, delta: float) -> float:
    """:func:`theorem2_radius` of one number, for callers that have checked the parameters."""
    return float(_radius(tau, n_arms, horizon, rho, alpha_max, delta)) if tau >= 1 else np.inf


def _radius(tau: Any, n_arms: int, horizon: int, rho: float, alpha_max: float, delta: float) -> Any:
    ratio = np.log(tau * (n_arms * horizon / delta)) / tau
    return 10 * (alpha_max**0.5 + 1) ** 2 / ((1 - rho) * rho) * (ratio + ratio**0.5)

"""How much two of the peers explore, computed from the gaps: the truth, or an estimate of it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def ucbe_exploration(gaps: Any, n_arms: int, horizon: int) -> Any:
    """``a = 25 (T - K) / (36 H_1)``, ``H_1 = sum over gaps of gap**-2`` (zero gaps are left out). Arms on the last axis."""
    hardness = _power_sum(gaps, -2.0)
    return np.where(hardness > 0, 25 * (horizon - n_arms) / (36 * np.maximum(hardness, 1e-12)), 0.0)


def rising_ucbe_exploration(gaps: Any, horizon: int, *, sigma: float, eps: float, b: float) -> Any:
    """``a`` of R-UCBE, Mussi et al. 2024, from the gaps after T pulls.

    ``a = eps^3 / (4 sigma^2) (T^(b-1) / Phi^b - (1 - 2 eps)^-b)^2`` with ``Phi = sum over gaps of gap^(-2/3)``; for
    ``b >= 3/2`` the first term is ``sqrt(T / Phi)``.

    >>> arms = [1 - 37 / 287, .88 * (1 - 10 / 260), .78 * (1 - 1 / 251), .7 * (1 - 10 / 260), .5 * (1 - 20 / 270)]
    >>> float(rising_ucbe_exploration(max(arms) - np.array(arms), 250, sigma=0.005, eps=0.25, b=1.3).round(7))
    873.2533897
    """
    hardness = _power_sum(gaps, -2 / 3)
    phi = np.maximum(hardness, 1e-12)
    first = np.sqrt(horizon / phi) if b >= 1.5 else horizon ** (b - 1) / phi**b
    a = eps**3 / (4 * sigma**2) * (first - (1 - 2 * eps) ** -b) ** 2
    return np.where(hardness > 0, a, 0.0)  # no gap, nothing to tell apart


def _power_sum(gaps: Any, power: float) -> Any:
    gaps = np.asarray(gaps, dtype=np.float64)
    positive = gaps > 0
    terms = np.where(positive, np.where(positive, gaps, 1.0) ** power, 0.0)
    return terms.sum(axis=-1)

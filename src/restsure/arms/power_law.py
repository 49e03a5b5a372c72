"""The paper's arms: ``mu_i(s) = alpha_i * s**-rho + beta_i``."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from restsure import checks
from restsure.arms.base import Arms
from restsure.arms.noise import Gaussian, Noise
from restsure.errors import InvalidParameter

_DEFAULT_NOISE = Gaussian(0.1)


class PowerLawArms(Arms):
    """Losses that fall like a power law, paper Eq. (2).

    ``mu_i(s) = alpha_i * s**-rho + beta_i`` with ``alpha_i >= 0``, ``beta_i`` in [0, 1] and a common ``rho`` in (0, 1].
    ``alpha`` and ``beta`` have shape (K,), or (R, K) for one instance a run.

    >>> arms = PowerLawArms([1.0, 0.0], [0.1, 0.4], rho=0.5)
    >>> float(arms.mean(0, 0, 100).round(3))
    0.2
    """

    def __init__(self, alpha: ArrayLike, beta: ArrayLike, *, rho: float = 0.5, noise: Noise | None = _DEFAULT_NOISE):
        self.alpha = checks.within("alpha", checks.real_array("alpha", alpha), low=0)
        self.beta = checks.within("beta", checks.real_array("beta", beta), low=0, high=1)
        self.rho = checks.real("rho", rho, above=0, at_most=1)
        if noise is not None:
            checks.instance("noise", noise, Noise)
        if self.alpha.shape != self.beta.shape or self.alpha.ndim not in (1, 2):
            raise InvalidParameter(
                f"alpha, beta: must both have shape (K,) or (R, K), but have {self.alpha.shape} and {self.beta.shape}"
            )
        self.noise = noise
        self.n_arms = self.alpha.shape[-1]
        self.instances = None if self.alpha.ndim == 1 else self.alpha.shape[0]

    def mean(self, run: ArrayLike, arm: ArrayLike, pull: ArrayLike) -> NDArray[np.float64]:
        cell: Any = arm if self.instances is None else (run, arm)
        return np.asarray(self.alpha[cell] * np.asarray(pull, dtype=np.float64) ** -self.rho + self.beta[cell])

    def __repr__(self) -> str:
        return f"PowerLawArms({self.alpha.tolist()}, {self.beta.tolist()}, rho={self.rho}, noise={self.noise})"

"""The exact width with an estimated noise."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from restsure import checks
from restsure.bounds.base import Bound, Claim
from restsure.bounds.exact_weights import looks_for_all
from restsure.description import settle
from restsure.errors import InvalidParameter
from restsure.estimators import Design, Residuals


@dataclass(frozen=True)
class Empirical(Bound):
    """:class:`ExactWeights` with ``sigma`` estimated from the residuals of all arms of the run. Not certified.

    The pooled residual variance ``s^2`` with ``d`` degrees of freedom is replaced by its upper limit
    ``s^2 / (1 - 2 sqrt(u/d))``, ``u = log(2 T / (K delta))`` (Laurent and Massart 2000), so that a lucky streak of the first
    losses does not drop an arm; the radius is infinite until ``d > 4 u``. Half of ``delta`` goes to the noise, half to the
    mean. It keeps its level for Gaussian noise of one size in all arms; for other noise it is an approximation, and
    whatever prints it says so.
    """

    looks: int | None = None

    def __post_init__(self) -> None:
        if self.looks is not None:
            settle(self, looks=checks.whole("looks", self.looks, at_least=1))

    @property
    def needs_residuals(self) -> bool:
        return True

    def radius(self, design: Design, x: Any, claim: Claim, residuals: Residuals | None = None) -> Any:
        if residuals is None:
            raise InvalidParameter("residuals=None: must be given to Empirical")
        half = replace(claim, delta=claim.delta / 2)
        looks = looks_for_all(half) if self.looks is None else self.looks
        doubt = math.log(2 * max(claim.horizon / claim.n_arms, 1) / claim.delta)
        freedom = np.maximum(residuals.freedom, 1e-9)
        shrink = 1 - 2 * np.sqrt(doubt / freedom)
        sigma = np.sqrt(np.where(shrink > 0, residuals.variance / np.maximum(shrink, 1e-300), np.inf))
        return sigma * math.sqrt(2 * math.log(2 * claim.n_arms * looks / half.delta)) * design.weight_norm(x)

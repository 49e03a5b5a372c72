"""Curve models: from the losses of an arm to the mean and spread of its loss after any number of pulls."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from restsure import checks
from restsure.description import Description, settle
from restsure.estimators.base import Cells
from restsure.estimators.moments import Moments

Floats = NDArray[np.float64]


class CurveStates(ABC):
    """Many curves at once: update them with blocks of losses, predict them at any pull count."""

    @abstractmethod
    def update(self, cells: Cells, losses: Floats) -> None:
        """The next losses of each cell: shape (number of cells, block)."""

    def refresh(self, runs: NDArray[np.intp]) -> None:  # noqa: B027  # most models have nothing to do here
        """Take stock before a decision of these runs: what is costly, or would depend on how losses come in, happens here."""

    @abstractmethod
    def predict(self, cells: Cells, pulls: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation of each cell's loss after ``pulls`` pulls; infinite spread where nothing is known."""


class CurveModel(Description, ABC):
    """What a learning curve is assumed to look like."""

    @property
    def first_pulls(self) -> int:
        """How many losses of each arm are needed before a prediction means anything."""
        return 2

    @abstractmethod
    def start(self, runs: int, n_arms: int, horizon: int) -> CurveStates:
        """Open the curves of ``n_arms`` arms in each of ``runs`` runs; cell ``r * n_arms + i`` is arm i of run r."""


@dataclass(frozen=True)
class PowerLaw(CurveModel):
    """``alpha * s**-rho + beta`` with a known exponent: exact least squares, constant memory an arm, constant time a loss.

    The spread of the estimate at m pulls is ``sigma sqrt(1/n + (m**-rho - mean phi)**2 / sum (phi - mean phi)**2)``, with
    ``phi = s**-rho``. Without ``sigma`` it is the residual spread pooled over the arms of the run, infinite until that has
    more degrees of freedom than arms.
    """

    rho: float = 0.5
    sigma: float | None = None

    def __post_init__(self) -> None:
        settle(self, rho=checks.real("rho", self.rho, above=0, at_most=1))
        if self.sigma is not None:
            settle(self, sigma=checks.real("sigma", self.sigma, above=0))

    @property
    def first_pulls(self) -> int:
        return 2 if self.sigma is not None else 4

    def start(self, runs: int, n_arms: int, horizon: int) -> "_PowerLawStates":
        return _PowerLawStates(self, runs, n_arms)


class _PowerLawStates(CurveStates):
    def __init__(self, model: PowerLaw, runs: int, n_arms: int):
        self.rho, self.known = model.rho, model.sigma
        self.runs, self.n_arms = runs, n_arms
        self.moments = Moments(model.rho, runs * n_arms)
        self.sigma: Floats | float = math.inf if model.sigma is None else model.sigma

    def update(self, cells: Cells, losses: Floats) -> None:
        self.moments.update(cells, losses)
        if self.known is None:
            self.sigma = self._pooled()

    def _pooled(self) -> Floats:
        """One estimate a run, repeated for its arms."""
        shape = (self.runs, self.n_arms)
        freedom = np.maximum(self.moments.pulls.reshape(shape) - 2, 0).sum(axis=1)
        squares = self.moments.squares(slice(None)).reshape(shape).sum(axis=1)
        enough = freedom > self.n_arms
        variance = np.divide(squares, freedom, out=np.full(self.runs, np.inf), where=enough)
        return np.repeat(np.sqrt(variance), self.n_arms)

    def predict(self, cells: Cells, pulls: Floats) -> tuple[Floats, Floats]:
        m = self.moments
        n, spread = m.pulls[cells], m.phi_phi[cells]
        offset = pulls**-self.rho - m.mean_phi[cells]
        known = spread > 0
        slope = np.divide(m.phi_x[cells], spread, out=np.zeros(spread.shape), where=known)
        variance = np.divide(offset * offset, spread, out=np.full(spread.shape, np.inf), where=known) + 1 / np.maximum(
            n, 1
        )
        sigma = self.sigma if isinstance(self.sigma, float) else self.sigma[cells]
        mean = np.where(n > 0, m.mean_x[cells] + slope * offset, np.inf)
        return mean, sigma * np.sqrt(variance)

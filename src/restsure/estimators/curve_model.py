"""Curve models: from the losses of an arm to the mean and spread of its loss after any number of pulls."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from restsure import checks
from restsure.description import Description, settle
from restsure.estimators.base import Cells, among, cells_of
from restsure.estimators.moments import Moments

Floats = NDArray[np.float64]


class CurveStates(ABC):
    """Many curves at once: update them with blocks of losses, predict them at any pull count."""

    @abstractmethod
    def update(self, cells: Cells, losses: Floats) -> None:
        """The next losses of each cell: shape (number of cells, block)."""

    @abstractmethod
    def refresh(self, runs: NDArray[np.intp]) -> NDArray[np.intp]:
        """Take stock before a decision of these runs: what is costly, or would depend on how losses come in, happens here.

        Returns the cells whose predictions are not what they were at the last time.
        """

    @abstractmethod
    def predict(self, cells: Cells, pulls: Floats) -> tuple[Floats, Floats]:
        """Mean and standard deviation of each cell's loss after ``pulls`` pulls; infinite spread where nothing is known."""

    @abstractmethod
    def bound(self, cells: Cells, near: Floats, far: Floats) -> tuple[Floats, Floats]:
        """A lower bound of the mean and an upper bound of the spread, for every pull count from ``near`` to ``far``."""

    def misfits(self) -> NDArray[np.int8] | None:
        """Which cells do not follow the model, and how (:mod:`~restsure.estimators.misfit`); None if that is not looked at."""
        return None

    def hope(self, cells: Cells, pulls: Floats) -> Floats:
        """What a cell that does not follow the model may hope for after ``pulls`` pulls; infinite for one that does."""
        return np.full(np.shape(pulls), np.inf)

    def straight(self, cells: Cells, pulls: Floats, width: Floats) -> Floats:
        """How low a cell can be after ``pulls`` pulls if it goes straight there; infinite where it does not."""
        return np.full(np.shape(pulls), np.inf)

    @abstractmethod
    def variance_of_a_loss(self, cell: int) -> float:
        """The noise that the spread of a cell rests on, as of the last time stock was taken."""


class CurveModel(Description, ABC):
    """What a learning curve is assumed to look like."""

    @property
    def first_pulls(self) -> int:
        """How many losses of each arm are needed before a prediction means anything."""
        return 2

    def numbers_kept(self, pulls: int) -> int:
        """How many numbers an arm of so many pulls takes, roughly."""
        return 16

    @abstractmethod
    def start(self, runs: int, lengths: Floats) -> CurveStates:
        """Open the curves of K arms in each of ``runs`` runs; cell ``r * K + i`` is arm i of run r.

        ``lengths`` has the most pulls that each arm can get.
        """


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

    def start(self, runs: int, lengths: Floats) -> "PowerLawStates":
        return PowerLawStates(self, runs, len(lengths))


class PowerLawStates(CurveStates):
    """The regressions of many arms."""

    def __init__(self, model: PowerLaw, runs: int, n_arms: int):
        self.rho, self.known = model.rho, model.sigma
        self.runs, self.n_arms = runs, n_arms
        self.moments = Moments(model.rho, runs * n_arms)
        self.sigma = np.full(runs * n_arms, math.inf if model.sigma is None else model.sigma)
        self.seen = np.zeros(runs * n_arms)  # losses at the last time stock was taken

    def update(self, cells: Cells, losses: Floats) -> None:
        self.moments.update(cells, losses)

    def refresh(self, runs: NDArray[np.intp]) -> NDArray[np.intp]:
        cells = cells_of(runs, (self.runs, self.n_arms))
        pulls = self.moments.pulls[cells]
        new = pulls > self.seen[cells]
        self.seen[cells] = pulls
        if self.known is not None:
            return among(cells, new)
        self.sigma[cells] = np.repeat(self._pooled(cells), self.n_arms)
        return among(cells, np.repeat(new.reshape(-1, self.n_arms).any(axis=1), self.n_arms))

    def _pooled(self, cells: Cells) -> Floats:
        """One estimate a run."""
        freedom = np.maximum(self.moments.pulls[cells] - 2, 0).reshape(-1, self.n_arms).sum(axis=1)
        squares = self.moments.squares(cells).reshape(-1, self.n_arms).sum(axis=1)
        enough = freedom > self.n_arms
        return np.asarray(np.sqrt(np.divide(squares, freedom, out=np.full(len(freedom), np.inf), where=enough)))

    def predict(self, cells: Cells, pulls: Floats) -> tuple[Floats, Floats]:
        m = self.moments
        n, spread = m.pulls[cells], m.phi_phi[cells]
        offset = pulls**-self.rho - m.mean_phi[cells]
        known = spread > 0
        slope = np.divide(m.phi_x[cells], spread, out=np.zeros(spread.shape), where=known)
        variance = np.divide(offset * offset, spread, out=np.full(spread.shape, np.inf), where=known) + 1 / np.maximum(
            n, 1
        )
        mean = np.where(n > 0, m.mean_x[cells] + slope * offset, np.inf)
        # nothing is known of an arm without a slope, even if no other has shown any noise
        sd = np.multiply(self.sigma[cells], np.sqrt(variance), out=np.full(spread.shape, np.inf), where=known)
        return mean, sd

    def bound(self, cells: Cells, near: Floats, far: Floats) -> tuple[Floats, Floats]:
        """Along ``m**-rho`` the mean is linear and the spread convex: the ends tell."""
        mean, sd = self.predict(cells, far)
        other_mean, other_sd = self.predict(cells, near)
        return np.minimum(mean, other_mean), np.maximum(sd, other_sd)

    def variance_of_a_loss(self, cell: int) -> float:
        return float(self.sigma[cell]) ** 2

"""Regression of the losses on ``(s**-rho, 1)``."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from restsure import checks
from restsure.description import settle
from restsure.estimators.base import Cells, Curves, Design, Estimator
from restsure.estimators.moments import Moments


@dataclass(frozen=True)
class LeastSquares(Estimator):
    """Least squares on ``phi(s) = (s**-rho, 1)``, constant memory an arm and constant time a loss.

    It needs two to three and a half times fewer losses than the two windows of the paper for the same width. With
    ``ridge = lambda > 0`` it solves ``(sum phi phi^T + lambda I) theta = sum phi X`` instead, which is biased towards zero
    and is what :class:`~restsure.bounds.SelfNormalized` is usually stated for.
    """

    ridge: float = 0.0

    def __post_init__(self) -> None:
        settle(self, ridge=checks.real("ridge", self.ridge, at_least=0))

    @property
    def unbiased(self) -> bool:
        return self.ridge == 0

    def start(self, rho: float, cells: int, *, track_noise: bool = True, expected: int = 16) -> "_LeastSquaresCurves":
        return _LeastSquaresCurves(rho, cells, self.ridge)


class _LeastSquaresCurves(Curves):
    def __init__(self, rho: float, cells: int, ridge: float):
        self.rho, self.ridge = rho, ridge
        self.moments = Moments(rho, cells)
        self.pulls = self.moments.pulls

    def update(self, cells: Cells, losses: NDArray[np.float64]) -> None:
        self.moments.update(cells, losses)

    def coefficients(self, cells: Cells) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        m = self.moments
        mean_phi, mean_x, phi_phi, phi_x = m.mean_phi[cells], m.mean_x[cells], m.phi_phi[cells], m.phi_x[cells]
        if self.ridge == 0:
            alpha = np.divide(phi_x, phi_phi, out=np.zeros_like(phi_x), where=phi_phi > 0)
            return alpha, mean_x - alpha * mean_phi
        # Eliminating beta from the ridge equations leaves one equation for alpha with this weight on the means.
        n = m.pulls[cells].astype(np.float64)
        weight = n * self.ridge / (n + self.ridge)
        alpha = (phi_x + weight * mean_phi * mean_x) / (phi_phi + weight * mean_phi**2 + self.ridge)
        return alpha, n * (mean_x - alpha * mean_phi) / (n + self.ridge)

    def losses_at(self, x: float) -> NDArray[np.float64]:
        if self.ridge:
            return super().losses_at(x)
        m = self.moments
        return m.mean_x + m.phi_x * ((x - float(m.mean_phi[0])) / float(m.phi_phi[0]))

    def design(self, cell: int) -> Design:
        gram = self.moments.gram(cell)
        pulls = int(self.pulls[cell])
        if self.ridge == 0:
            if pulls < 2:
                return Design(self.rho, pulls, (0.0, 0.0, np.inf), gram)
            mean, inverse = float(self.moments.mean_phi[cell]), 1 / float(self.moments.phi_phi[cell])
            return Design(self.rho, pulls, (inverse, -mean * inverse, 1 / pulls + mean * mean * inverse), gram)
        return Design(self.rho, pulls, ridge_spread(gram, self.ridge), gram, self.ridge)

    def squares(self, cells: Cells) -> NDArray[np.float64]:
        return self.moments.squares(cells)


def ridge_spread(gram: tuple[float, float, float], ridge: float) -> tuple[float, float, float]:
    """``W^-1 G W^-1`` with ``W = G + ridge I``: the spread of the ridge estimate."""
    g = np.array([[gram[0], gram[1]], [gram[1], gram[2]]])
    inverse = np.linalg.inv(g + ridge * np.eye(2))
    spread = inverse @ g @ inverse
    return float(spread[0, 0]), float(spread[0, 1]), float(spread[1, 1])

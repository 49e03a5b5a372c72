"""Learning curves of unknown shape: a bank of shifted power laws, weighed by how well each explains the losses."""

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from restsure.estimators.base import Cells, among, cells_of, indices_of
from restsure.estimators.curve_model import CurveModel, CurveStates, Floats
from restsure.estimators.roughness import Roughness

EXPONENTS = (0.1, 0.25, 0.5, 0.75, 1.0, 1.5)
SHIFTS = (0.0, 0.01, 0.03, 0.1, 0.3)  # s0 as a share of the pulls an arm can get
RHO, SHIFT = (np.array(part) for part in zip(*product(EXPONENTS, SHIFTS), strict=True))
DROP, LIMIT = 0.3, 0.5  # prior means of alpha and beta, in units of the scale L; their prior spread is L


@dataclass(frozen=True)
class CurveBank(CurveModel):
    """``alpha g_j(s) + beta`` with ``g_j(s) = ((s + s0) / (1 + s0))**-rho`` over a grid of 30 pairs ``(rho, s0)``.

    For each g_j, ``alpha`` and ``beta`` have a normal prior in units of the scale L of the run's losses, and the noise is that
    of :class:`Roughness`: their posterior is a closed form of six sums, so that memory is constant and a loss costs the same
    at every time. The thirty are mixed by marginal likelihood. There is no process noise: where the truth is none of these
    curves, the spread becomes too narrow with many losses, and a ``patience`` of 2 or 3 is in place.
    """

    def numbers_kept(self, pulls: int) -> int:
        return 12 * len(RHO)

    def start(self, runs: int, lengths: Floats) -> "CurveBankStates":
        return CurveBankStates(runs, lengths)


class CurveBankStates(CurveStates):
    """The regressions of many arms; arrays have a row a cell and a column a curve of the bank."""

    def __init__(self, runs: int, lengths: Floats):
        self.n_arms = len(lengths)
        cells = runs * self.n_arms
        self.roughness = Roughness(runs, self.n_arms)
        self.s0 = np.tile(np.outer(lengths, SHIFT), (runs, 1))
        self.y, self.yy = np.zeros((cells, 1)), np.zeros((cells, 1))
        self.g, self.gg, self.gy = (np.zeros((cells, len(RHO))) for _ in range(3))
        self.scale, self.noise = np.ones(cells), np.ones(cells)
        self.seen = np.zeros(cells, dtype=np.int64)  # losses in the posterior
        self.alpha, self.beta = np.zeros_like(self.g), np.zeros_like(self.g)
        self.paa, self.pab, self.pbb = (np.zeros_like(self.g) for _ in range(3))  # their posterior covariance
        self.weight = np.full_like(self.g, 1 / len(RHO))

    def update(self, cells: Cells, losses: Floats) -> None:
        which = indices_of(cells, len(self.y))
        pull = self.roughness.pulls[which][:, None] + np.arange(1, losses.shape[1] + 1)
        g = self._basis(which, pull[..., None].astype(np.float64))
        self.g[which] += g.sum(axis=1)
        self.gg[which] += (g * g).sum(axis=1)
        self.gy[which] += (g * losses[..., None]).sum(axis=1)
        self.y[which] += losses.sum(axis=1, keepdims=True)
        self.yy[which] += (losses * losses).sum(axis=1, keepdims=True)
        self.roughness.update(which, losses)

    def _basis(self, cells: Cells, pulls: Floats) -> Floats:
        s0 = self.s0[cells]
        if pulls.ndim == 3:
            s0 = s0[:, None, :]
        return np.asarray(np.exp(-RHO * np.log((pulls + s0) / (1 + s0))))

    def refresh(self, runs: NDArray[np.intp]) -> NDArray[np.intp]:
        """Posterior of arms with new losses; of all arms of a run when stock of its scale and noise is taken."""
        cells = cells_of(runs, self.roughness.shape)
        pulls = self.roughness.pulls[cells].reshape(-1, self.n_arms)
        seen = self.seen[cells].reshape(pulls.shape)
        due = self.roughness.due(runs, pulls, seen)
        if due.any():
            scale = self.roughness.scale(runs[due])
            again = cells_of(runs[due], self.roughness.shape)
            self.noise[again] = self.roughness.noise(runs[due], scale).reshape(-1)
            self.scale[again] = np.repeat(scale, self.n_arms)
        new = (seen < pulls) | (due[:, None] & (pulls > 0))
        changed = among(cells, new.reshape(-1))
        if changed.size:
            self._solve(changed)
        return changed

    def _solve(self, cells: NDArray[np.intp]) -> None:
        """``P = R (R/L^2 + G)^-1`` and ``P X^T r / R``, with ``r`` the losses less what the prior expects."""
        size, noise, n = self.scale[cells, None], self.noise[cells, None], self.roughness.pulls[cells, None]
        g, gg, drop, limit = self.g[cells], self.gg[cells], DROP * size, LIMIT * size
        to_g, to_one = self.gy[cells] - drop * gg - limit * g, self.y[cells] - drop * g - limit * n
        left = self.yy[cells] - 2 * (drop * self.gy[cells] + limit * self.y[cells])
        left = (left + drop * drop * gg + 2 * drop * limit * g + limit * limit * n) / noise
        # times the noise the inverse has no unit, and no loss is too small or too large for it
        kaa, kbb = noise / size**2 + gg, noise / size**2 + n
        det = kaa * kbb - g * g
        paa, pab, pbb = kbb / det, -g / det, kaa / det
        alpha, beta = paa * to_g + pab * to_one, pab * to_g + pbb * to_one
        likelihood = -0.5 * (np.log(det) + left - (alpha * to_g + beta * to_one) / noise)
        weight = np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
        self.weight[cells] = weight / weight.sum(axis=1, keepdims=True)
        self.alpha[cells], self.beta[cells] = alpha + drop, beta + limit
        self.paa[cells], self.pab[cells], self.pbb[cells] = noise * paa, noise * pab, noise * pbb
        self.seen[cells] = self.roughness.pulls[cells]

    def variance_of_a_loss(self, cell: int) -> float:
        return float(self.noise[cell])

    def _ahead(self, cells: Cells, pulls: Floats) -> tuple[Floats, Floats]:
        """Mean and variance of each curve of the bank at ``pulls``."""
        g = self._basis(cells, pulls[:, None])
        variance = g * (g * self.paa[cells] + 2 * self.pab[cells]) + self.pbb[cells]
        return self.alpha[cells] * g + self.beta[cells], np.maximum(variance, 0.0)

    def predict(self, cells: Cells, pulls: Floats) -> tuple[Floats, Floats]:
        mean, variance = self._ahead(cells, pulls)
        weight, known = self.weight[cells], self.seen[cells] > 0
        mixed = (weight * mean).sum(axis=1)
        sd = np.sqrt((weight * (variance + (mean - mixed[:, None]) ** 2)).sum(axis=1))
        return np.where(known, mixed, self.roughness.mean(cells)), np.where(known, sd, np.inf)

    def bound(self, cells: Cells, near: Floats, far: Floats) -> tuple[Floats, Floats]:
        """Along g the mean of each curve is linear and its variance convex: the ends tell."""
        (mean, variance), (other, other_variance) = self._ahead(cells, far), self._ahead(cells, near)
        weight, known = self.weight[cells], self.seen[cells] > 0
        lowest = (weight * np.minimum(mean, other)).sum(axis=1)
        apart = np.maximum((mean - lowest[:, None]) ** 2, (other - lowest[:, None]) ** 2)
        sd = np.sqrt((weight * (np.maximum(variance, other_variance) + apart)).sum(axis=1))
        return lowest, np.where(known, sd, np.inf)

"""The sums that a regression of losses on ``s**-rho`` needs, kept centred."""

import numpy as np
from numpy.typing import NDArray

from restsure.estimators.base import Cells


class Moments:
    """Counts, means and centred sums of ``phi = s**-rho`` and of the losses ``x``, for many cells.

    Constant memory a cell, constant time a loss. Centred sums (Welford; Chan, Golub and LeVeque for blocks) keep their
    digits where the raw sums of math textbooks lose them: small ``rho``, or a large constant added to every loss.
    """

    def __init__(self, rho: float, cells: int):
        self.rho = rho
        self.pulls = np.zeros(cells, dtype=np.int64)
        self.mean_phi, self.phi_phi = np.zeros(cells), np.zeros(cells)
        self.mean_x, self.phi_x, self.x_x = np.zeros(cells), np.zeros(cells), np.zeros(cells)

    def update(self, cells: Cells, losses: NDArray[np.float64]) -> None:
        count, block = self.pulls[cells], losses.shape[1]
        if count.size == 0:
            return
        in_step = int(count[0]) if count[0] == count[-1] and (count == count[0]).all() else None
        before = count.astype(np.float64) if in_step is None else np.float64(in_step)
        phi = (np.atleast_1d(before)[:, None] + np.arange(1.0, block + 1)) ** -self.rho
        after = before + block
        # A block is merged as if it were a second sample; a block of one has no spread of its own.
        step_phi = phi.mean(axis=1) - self.mean_phi[cells]
        step_x = losses.mean(axis=1) - self.mean_x[cells] if block > 1 else losses[:, 0] - self.mean_x[cells]
        share = before * block / after
        if block > 1:
            phi = phi - phi.mean(axis=1, keepdims=True)
            apart = losses - losses.mean(axis=1, keepdims=True)
            self.phi_phi[cells] += (phi * phi).sum(axis=1)
            self.phi_x[cells] += (phi * apart).sum(axis=1)
            self.x_x[cells] += (apart * apart).sum(axis=1)
        self.mean_phi[cells] += step_phi * (block / after)
        self.mean_x[cells] += step_x * (block / after)
        self.phi_phi[cells] += step_phi * step_phi * share
        step_x_share = step_x * share
        self.phi_x[cells] += step_phi * step_x_share
        self.x_x[cells] += step_x * step_x_share
        self.pulls[cells] = count + block

    def gram(self, cell: int) -> tuple[float, float, float]:
        """``sum_s phi(s) phi(s)^T`` with ``phi = (s**-rho, 1)``, as (00, 01, 11)."""
        g00, g01, g11 = (float(part[0]) for part in self.grams(np.array([cell])))
        return g00, g01, g11

    def grams(self, cells: Cells) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The same of many cells."""
        n, mean = self.pulls[cells].astype(np.float64), self.mean_phi[cells]
        return self.phi_phi[cells] + n * mean * mean, n * mean, n

    def squares(self, cells: Cells) -> NDArray[np.float64]:
        """Residual sum of squares of the least-squares line."""
        spread = self.phi_phi[cells]
        explained = np.divide(self.phi_x[cells] ** 2, spread, out=np.zeros_like(spread), where=spread > 0)
        return np.maximum(self.x_x[cells] - explained, 0.0)

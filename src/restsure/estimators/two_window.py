"""The paper's estimator: the mean of the first losses against the mean of as many that follow."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from restsure.estimators.base import Cells, Curves, Design, Estimator
from restsure.estimators.moments import Moments

_MOST_RESERVED = 2**26  # losses reserved beforehand; more are made room for when they come


@dataclass(frozen=True)
class TwoWindow(Estimator):
    """Two windows, paper Eqs. (4) to (6).

    After ``n`` pulls put ``tau = n // 2`` and ``H(a, b) = sum_{s=a..b} s**-rho``. With the means ``first`` of losses
    ``1..tau`` and ``second`` of losses ``tau+1..2 tau`` (Eq. 4):

        alpha^ = tau (first - second) / (H(1, tau) - H(tau+1, 2 tau))        (Eq. 5; the sign as in the appendix)
        beta^  = first - alpha^ H(1, tau) / tau                              (Eq. 6)

    The border between the windows moves by one loss for every two pulls, so the losses behind it are kept: constant
    memory and time a loss, and ``8 n`` bytes an arm in all. :class:`LeastSquares` needs constant memory and fewer losses.
    """

    def start(self, rho: float, cells: int, *, track_noise: bool = True, expected: int = 16) -> "_TwoWindowCurves":
        return _TwoWindowCurves(rho, cells, track_noise, expected)


class _TwoWindowCurves(Curves):
    def __init__(self, rho: float, cells: int, track_noise: bool, expected: int):
        self.rho = rho
        self.pulls = np.zeros(cells, dtype=np.int64)
        self.moments = Moments(rho, cells) if track_noise else None
        rows = max(16, min(expected, _MOST_RESERVED // cells))  # memory is taken when it is written to
        self.losses = np.empty((rows, cells))  # one row a pull: reading and writing a round is contiguous
        self.total = np.zeros(cells)  # of all losses
        self.first = np.zeros(cells)  # of losses 1..tau
        self.harmonic = np.zeros(1)  # H(1, s) at index s

    def update(self, cells: Cells, losses: NDArray[np.float64]) -> None:
        if self.moments is not None:
            self.moments.update(cells, losses)
        count = self.pulls[cells]
        if count.size == 0:
            return
        if (count == count[0]).all():
            self._append(cells, int(count[0]), losses)
        else:
            flat = np.arange(len(self.pulls))[cells]
            for n in np.unique(count):
                self._append(flat[count == n], int(n), losses[count == n])
        self.pulls[cells] = count + losses.shape[1]

    def _append(self, cells: Cells, n: int, losses: NDArray[np.float64]) -> None:
        """Losses ``n+1..n+block`` of cells that have all had ``n`` pulls."""
        end = n + losses.shape[1]
        self._reserve(end)
        self.losses[n:end, cells] = losses.T
        self.total[cells] += losses[:, 0] if end == n + 1 else losses.sum(axis=1)
        for row in self.losses[n // 2 : end // 2]:
            self.first[cells] += row[cells]

    def _reserve(self, pulls: int) -> None:
        if pulls > len(self.losses):
            grown = np.empty((max(pulls, 2 * len(self.losses)), self.losses.shape[1]))
            grown[: len(self.losses)] = self.losses
            self.losses = grown
        if pulls >= len(self.harmonic):
            terms = np.arange(1.0, max(pulls, 2 * len(self.harmonic)) + 1) ** -self.rho
            self.harmonic = np.concatenate(([0.0], np.cumsum(terms)))

    def coefficients(self, cells: Cells) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        count = self.pulls[cells]
        tau = count // 2
        front, known = self.harmonic[tau], tau > 0
        contrast = 2 * front - self.harmonic[2 * tau]  # H(1, tau) - H(tau+1, 2 tau)
        first = self.first[cells]
        newest = self.losses[np.maximum(count - 1, 0), np.arange(len(self.pulls))[cells]]
        both = self.total[cells] - np.where(count % 2, newest, 0.0)  # of losses 1..2 tau
        alpha = np.divide(2 * first - both, contrast, out=np.zeros_like(first), where=known)
        mean = np.divide(self.total[cells], count, out=np.full(first.shape, np.nan), where=count > 0)
        beta = np.divide(first - alpha * front, tau, out=mean, where=known)
        return alpha, beta

    def losses_at(self, x: float) -> NDArray[np.float64]:
        tau, odd = divmod(int(self.pulls[0]), 2)
        front = float(self.harmonic[tau])
        contrast = 2 * front - float(self.harmonic[2 * tau])
        weight = (x - front / tau) / contrast  # mu^ = first / tau + alpha^ (x - H(1, tau) / tau)
        both = self.total - self.losses[2 * tau] if odd else self.total
        return (1 / tau + 2 * weight) * self.first - weight * both

    def design(self, cell: int) -> Design:
        pulls = int(self.pulls[cell])
        tau = pulls // 2
        if tau < 1:
            return Design(self.rho, pulls, (0.0, 0.0, np.inf))
        front = float(self.harmonic[tau])
        contrast = 2 * front - float(self.harmonic[2 * tau])
        q = front / contrast  # beta^ = (1 - q) first + q second
        return Design(self.rho, pulls, (2 * tau / contrast**2, (1 - 2 * q) / contrast, ((1 - q) ** 2 + q**2) / tau))

    def squares(self, cells: Cells) -> NDArray[np.float64]:
        if self.moments is None:
            raise ValueError("these curves were started without track_noise")
        return self.moments.squares(cells)

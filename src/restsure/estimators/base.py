"""Losses in, curve out: what every estimator of ``mu(m) = alpha * m**-rho + beta`` offers.

An :class:`Estimator` is a frozen description; ``start`` opens its :class:`Curves`, the state of many curves at once. A
*cell* is one curve: arm ``i`` of run ``r`` is cell ``r * K + i``. A live run and ten thousand simulated ones use the
same code, with other numbers of cells.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from restsure.description import Description

Cells: TypeAlias = slice | NDArray[np.intp]
"""Which cells: distinct indices, or a slice (``slice(None)`` for all of them, which is several times faster)."""


def cells_of(rows: NDArray[np.intp], shape: tuple[int, int]) -> Cells:
    """All arms of some of ``shape`` = (runs, arms); as a slice where they are all of them."""
    runs, n_arms = shape
    if len(rows) == runs:
        return slice(None)
    return np.asarray((rows[:, None] * n_arms + np.arange(n_arms)).reshape(-1))


def indices_of(cells: Cells, count: int) -> NDArray[np.intp]:
    """The same cells, of so many, by their indices."""
    return np.arange(count)[cells] if isinstance(cells, slice) else cells


def pick(columns: NDArray[np.float64], cells: Cells) -> NDArray[np.float64]:
    """The columns of some cells; those of all without a copy."""
    return columns[..., cells] if isinstance(cells, slice) else columns.take(cells, axis=-1)


def place_of(cells: NDArray[np.intp]) -> Cells:
    """The same cells, to write to; one alone as a slice, which is several times faster."""
    return slice(int(cells[0]), int(cells[0]) + 1) if len(cells) == 1 else cells


def among(cells: Cells, which: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Those of all cells, or of some, that are marked."""
    return which.nonzero()[0] if isinstance(cells, slice) else cells[which]


@dataclass(frozen=True, slots=True)
class Design:
    """What the precision of an estimate rests on: pull counts alone, never the losses.

    Every estimator here is linear in the losses, ``(alpha^, beta^) = sum_s a_s X(s)``. ``spread`` is ``A = sum_s a_s a_s^T``
    as (A_00, A_01, A_11), so that ``||w(m)||_2 = sqrt(phi^T A phi)`` with ``phi = (m**-rho, 1)``; infinite until two losses
    have been seen. A regression also gives ``gram``, its ``sum_s phi(s) phi(s)^T`` in the same order, and ``ridge``.
    """

    rho: float
    pulls: int
    spread: tuple[float, float, float]
    gram: tuple[float, float, float] | None = None
    ridge: float = 0.0

    def weight_norm(self, x: Any) -> Any:
        """``||w(m)||_2`` at ``x = m**-rho``: the standard deviation of ``mu^(m)`` for noise of standard deviation one."""
        return quadratic_norm(self.spread, x)


def quadratic_norm(form: tuple[float, float, float], x: Any) -> Any:
    """``sqrt((x, 1) F (x, 1)^T)`` for a symmetric ``F = (F_00, F_01, F_11)``; convex in ``x``."""
    return np.sqrt(np.maximum((form[0] * x + 2 * form[1]) * x + form[2], 0.0))


@dataclass(frozen=True, slots=True)
class Residuals:
    """Variance of the losses around their fitted curves, and the degrees of freedom it rests on; one entry a run."""

    variance: Any
    freedom: Any


class Curves(ABC):
    """Many curves, each fed with the losses of its own pulls in order."""

    rho: float
    pulls: NDArray[np.int64]

    @abstractmethod
    def update(self, cells: Cells, losses: NDArray[np.float64]) -> None:
        """Add the next ``losses[k, :]`` of each cell: shape (number of cells, block)."""

    @abstractmethod
    def coefficients(self, cells: Cells) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """``alpha^`` and ``beta^``. One loss tells no slope: until there are two, a flat line through their mean."""

    def losses_at(self, x: float) -> NDArray[np.float64]:
        """``mu^`` of every cell at ``x = m**-rho``, when all cells have had the same number of pulls (two at least)."""
        alpha, beta = self.coefficients(slice(None))
        return alpha * x + beta

    @abstractmethod
    def design(self, cell: int) -> Design:
        """How precise the estimate of one cell is."""

    @abstractmethod
    def squares(self, cells: Cells) -> NDArray[np.float64]:
        """Sum of the squared residuals around the least-squares curve; it has ``pulls - 2`` degrees of freedom."""


class Estimator(Description, ABC):
    """A way to fit the curve of one arm from its losses."""

    @property
    def unbiased(self) -> bool:
        """Whether the expected estimate is the true curve, when the curve has the assumed shape."""
        return True

    @abstractmethod
    def start(self, rho: float, cells: int, *, track_noise: bool = True, expected: int = 16) -> Curves:
        """Open the state of ``cells`` curves.

        Without ``track_noise`` an estimator may leave :meth:`Curves.squares` out. ``expected`` pulls of each cell are likely;
        an estimator that keeps losses can reserve the room.
        """

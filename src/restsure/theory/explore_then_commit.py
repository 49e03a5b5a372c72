"""Theorem 3: the regret of explore-then-commit on two arms."""

import math
from dataclasses import dataclass
from functools import partial

from restsure import checks
from restsure.theory.radius import theorem2_radius
from restsure.theory.search import smallest


@dataclass(frozen=True, slots=True)
class UpperBound:
    """A theorem's bound on the regret, term by term.

    ``explored``: pulls given to arms that are not returned. ``training_lost``: what those pulls would have been worth.
    ``confusion``: the price of a possibly wrong arm, ``2 CB``; zero where the theorem says that the arm is right.
    """

    explored: int
    training_lost: float
    confusion: float

    @property
    def total(self) -> float:
        return self.training_lost + self.confusion


def separation_constant(rho: float, alpha_max: float) -> float:
    """``c_rho = 1600 (sqrt(U) + 1)**4 / (rho**2 (1 - rho)**2)``, without its logarithm.

    Theorem 4 prints the square of ``sqrt(U) + 1``; its proof, Theorem 3 and Corollary 2 (25600 at ``rho = 1/2``) have the
    fourth power, which is also what the radius of Theorem 2 gives.
    """
    return 1600 * (math.sqrt(alpha_max) + 1) ** 4 / (rho**2 * (1 - rho) ** 2)


def explore_then_commit_terms(
    alpha: float, gap: float, *, horizon: int, rho: float = 0.5, alpha_max: float = 1.0
) -> UpperBound:
    """Theorem 3, term by term.

    ``n_0 = min{ceil(T/2), ceil(c_rho log(4 n_0 T^2) / gap^2)}``. When T/2 is the smaller, the arm may be wrong and
    ``2 CB_{n_0}(1/T)`` is added (the ``O~(1/sqrt(T))`` of the statement), with ``n_0 // 2`` losses a window as we run it.
    """
    checks.real("alpha", alpha, at_least=0)
    checks.real("gap", gap, above=0)
    checks.whole("horizon", horizon, at_least=2)
    radius = partial(theorem2_radius, n_arms=2, horizon=horizon, rho=rho, alpha_max=alpha_max, delta=1 / horizon)
    radius(1)  # refuses rho = 1 and the like in its own words
    constant = separation_constant(rho, alpha_max) / gap**2
    half = math.ceil(horizon / 2)
    separated = smallest(lambda n: n >= constant * math.log(4 * n * horizon**2), 1, half)
    explored = separated or half
    lost = alpha * (max(horizon - explored, 1) ** -rho - horizon**-rho)
    return UpperBound(explored, lost, 0.0 if separated else 2 * float(radius(explored // 2)))


def explore_then_commit_bound(
    alpha: float, gap: float, *, horizon: int, rho: float = 0.5, alpha_max: float = 1.0
) -> float:
    """Theorem 3: with probability ``1 - 1/T`` the regret of published ETC on Theorem 1's pair is at most this.

    >>> round(explore_then_commit_bound(0.5, 0.02, horizon=10_000), 1)
    36.7
    """
    return explore_then_commit_terms(alpha, gap, horizon=horizon, rho=rho, alpha_max=alpha_max).total

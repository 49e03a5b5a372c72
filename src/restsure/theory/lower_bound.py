"""Theorem 1 and Corollary 1: no policy can do better than this on both of two instances."""

import math
from dataclasses import dataclass

from restsure import checks
from restsure.theory.search import smallest


@dataclass(frozen=True, slots=True)
class _Pair:
    """Theorem 1's two instances: ``mu_1(s) = alpha s**-rho + beta`` and ``mu_2 = mu_1 + gap`` or ``mu_1 - gap``.

    ``kl`` is the constant C with ``KL(P_mu, P_mu') = C (mu - mu')**2``; Gaussian noise has ``C = 1 / (2 sigma**2)``.
    """

    alpha: float
    gap: float
    horizon: int
    rho: float
    kl: float

    def __post_init__(self) -> None:
        checks.real("alpha", self.alpha, at_least=0)
        checks.real("gap", self.gap, above=0)
        checks.whole("horizon", self.horizon, at_least=1)
        checks.real("rho", self.rho, above=0, at_most=1)
        checks.real("kl", self.kl, above=0)

    def step(self, tau: int) -> float:
        """``D~_tau``: what one more round of both arms costs at the furthest state, ``mu_1(T-tau-1) - mu_1(T-tau)``."""
        left = self.horizon - tau
        return self.alpha * (math.pow(left - 1, -self.rho) - math.pow(left, -self.rho)) if left > 1 else math.inf

    def training_lost(self, tau: int) -> float:
        """``alpha (1/(T - tau)**rho - 1/T**rho)``; the arm that is returned has had one pull at least."""
        return self.alpha * (math.pow(max(self.horizon - tau, 1), -self.rho) - math.pow(self.horizon, -self.rho))


def _printed(pair: _Pair) -> int:
    """The statement's tau_sub, strictly above min{T/2, log T/(C gap^2), log T/(C alpha^2) (T - tau - 1)^(2 rho + 2)}."""
    budget = math.log(pair.horizon) / pair.kl
    fixed = min(pair.horizon / 2, budget / pair.gap**2)

    def above(tau: int) -> bool:
        left = max(pair.horizon - tau - 1, 0)
        moving = budget / pair.alpha**2 * left ** (2 * pair.rho + 2) if pair.alpha > 0 else math.inf
        return tau > min(fixed, moving)

    return smallest(above, 1, pair.horizon) or pair.horizon


def _proof(pair: _Pair) -> int:
    """The appendix's tau_sub: smallest tau in [T/2] with tau >= min over D in {gap, D~_tau} of log(C D^2 tau/4)/(8 C D^2)."""

    def pulls(gap: float, tau: int) -> float:
        information = pair.kl * gap**2
        if information == 0 or math.isinf(information):
            return math.inf if information == 0 else 0.0
        return math.log(information * tau / 4) / (8 * information)

    def reached(tau: int) -> bool:
        return tau >= min(pulls(pair.gap, tau), pulls(pair.step(tau), tau))

    most = max(pair.horizon // 2, 1)
    return smallest(reached, 1, most) or most


def suboptimal_pulls(
    alpha: float, gap: float, *, horizon: int, rho: float = 0.5, kl: float = 0.5, exact: bool = False
) -> int:
    """``tau_sub``: the pulls that any policy must give to the arm it does not return (Theorem 1).

    >>> suboptimal_pulls(0.5, 0.02, horizon=10_000, kl=50)
    461
    """
    pair = _Pair(alpha, gap, horizon, rho, kl)
    return _proof(pair) if exact else _printed(pair)


def lower_bound(
    alpha: float, gap: float, *, horizon: int, rho: float = 0.5, kl: float = 0.5, exact: bool = False
) -> float:
    """Theorem 1: the larger of a policy's two expected regrets on the pair of instances is at least this.

    The printed statement (default) drops the proof's constants, the 1/8 and the argument of the logarithm, so it is a
    statement of order: a good policy lies below it by a constant. ``exact=True`` gives the form at the end of the proof,
    which no policy undercuts. That form is weak: ``log(z/4)/(8 z) <= 1/(32 e)`` for every ``z``, so already ``tau = 1``
    satisfies it and it claims one wasted pull.

    >>> f"{lower_bound(0.5, 0.02, horizon=10_000, kl=50):.2g}"
    '0.00012'
    """
    pair = _Pair(alpha, gap, horizon, rho, kl)
    return pair.training_lost(_proof(pair) if exact else _printed(pair))


def corollary1_bound(alpha: float, gap: float, *, horizon: int, kl: float = 0.5, exact: bool = False) -> float:
    """Corollary 1: Theorem 1 at ``rho = 1/2``, where the second term reads ``log T/(C alpha^2) (T - tau - 1)^3``.

    ``exact=True`` gives the form of its proof: the smallest tau in [T/2] that is at least
    ``ceil(log(tau C gap^2)/(8 C gap^2))`` or at least ``ceil((T-tau-1)^3/(2 C alpha^2) log(tau C alpha^2/(16 (T-tau)^3)))``.

    >>> corollary1_bound(0.5, 0.02, horizon=10_000, kl=50) == lower_bound(0.5, 0.02, horizon=10_000, kl=50)
    True
    """
    pair = _Pair(alpha, gap, horizon, 0.5, kl)
    if not exact:
        return pair.training_lost(_printed(pair))

    def reached(tau: int) -> bool:
        information = pair.kl * pair.gap**2
        if tau >= math.ceil(math.log(tau * information) / (8 * information)):
            return True
        left, curvature = pair.horizon - tau, pair.kl * pair.alpha**2
        if curvature == 0:
            return False
        moving = (left - 1) ** 3 / (2 * curvature) * math.log(tau * curvature / (16 * left**3))
        return tau >= math.ceil(moving)

    most = max(pair.horizon // 2, 1)
    return pair.training_lost(smallest(reached, 1, most) or most)

"""Theorem 4 and Corollary 2: the regret of REST-SURE.

The recursion, in our reading (``docs/paper_map.md`` lists what the paper prints differently). Arms leave in the order
``sigma(1), sigma(2), ...``; at stage ``s`` a set ``A`` of ``K - s + 1`` arms is left and ``n`` counts the pulls that each
of them has had, so that the furthest state is ``tau_out = T - sum_{j<s} n_sigma(j) - (|A| - 1) n``. The stage ends at the
smallest ``n`` at which the true curves satisfy one of

- *elimination* (line 11): some arm is worse than the best of ``A`` by more than ``w`` at every ``m`` in [n, tau_out],
- *second stop* (line 7): ``mu*(tau_out - (|A| - 1)) - mu*(tau_out) > w``, one more round costs more than it can tell,
- *commitment* (line 4): the best arm at ``tau_out`` leads by more than ``w``,
- *budget*: no further round can be played, ``n = floor((T - sum_{j<s} n_sigma(j)) / |A|)``,

where ``w**2 = c_rho log(n K^2 T^2) / n``. An elimination opens the next stage; anything else ends the game, and all arms
that are left have then had the same ``n`` pulls.
"""

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from restsure import checks
from restsure.errors import InvalidParameter
from restsure.theory.explore_then_commit import UpperBound, separation_constant
from restsure.theory.radius import theorem2_radius
from restsure.theory.search import smallest


class _Curves:
    """The true curves of the arms that are left, and where the order of the two best of them changes."""

    def __init__(self, alpha: NDArray[np.float64], beta: NDArray[np.float64], rho: float, horizon: int):
        self.alpha, self.beta, self.rho = alpha, beta, rho
        self.turns = self._turns(horizon)

    def losses(self, pulls: ArrayLike) -> NDArray[np.float64]:
        """Every arm (last axis) after each of ``pulls``."""
        x = np.asarray(pulls, dtype=np.float64)[..., None] ** -self.rho
        return self.alpha * x + self.beta

    def _turns(self, horizon: int) -> NDArray[np.int64]:
        """Pull counts just below and above which the two best arms change, found by walking from T down to 1.

        In ``x = m**-rho`` every curve is a line, so the next change is the nearest crossing with one of the two leaders.
        """
        x, turns = horizon**-self.rho, list[int]()
        leaders = np.argsort(self.alpha * x + self.beta, kind="stable")[:2]
        while True:
            slopes = self.alpha[leaders][:, None] - self.alpha
            offsets = self.beta - self.beta[leaders][:, None]
            crossings = np.divide(offsets, slopes, out=np.full(slopes.shape, np.inf), where=slopes > 0)
            ahead = crossings[crossings > x * (1 + 1e-12)]
            if ahead.size == 0 or ahead.min() > 1:
                return np.array(sorted(set(turns)), dtype=np.int64)
            x = float(ahead.min())
            turns += [math.floor(x ** (-1 / self.rho)), math.ceil(x ** (-1 / self.rho))]
            just_past = x * (1 + 1e-9)
            leaders = np.argsort(self.alpha * just_past + self.beta, kind="stable")[:2]

    def least_margins(self, first: int, last: int) -> NDArray[np.float64]:
        """For every arm, ``min over m in [first, last] of (mu_i(m) - min_j mu_j(m))``.

        The difference is convex and piecewise linear in ``m**-rho``, so its minimum is at a turn or at an end.
        """
        inside = self.turns[(self.turns > first) & (self.turns < last)]
        losses = self.losses(np.concatenate(([first], inside, [last])))
        margins: NDArray[np.float64] = (losses - losses.min(axis=1, keepdims=True)).min(axis=0)
        return margins

    def lead(self, pulls: int) -> float:
        """By how much the best arm after ``pulls`` is ahead of the second best."""
        losses = self.losses(pulls)
        best, second = np.partition(losses, 1)[:2]
        return float(second - best)

    def best(self, pulls: int) -> float:
        return float(self.losses(pulls).min())


class _Stage:
    """One stage of the recursion: ``arms`` are left, and those that left before have used up ``gone`` pulls."""

    def __init__(self, curves: _Curves, gone: int, horizon: int, n_total: int, constant: float):
        self.curves, self.gone, self.horizon = curves, gone, horizon
        self.others = len(curves.alpha) - 1
        self.most = (horizon - gone) // (self.others + 1)
        self.n_total, self.constant = n_total, constant

    def width(self, n: int) -> float:
        return math.sqrt(self.constant * math.log(n * self.n_total**2 * self.horizon**2) / n)

    def furthest(self, n: int) -> int:
        return self.horizon - self.gone - self.others * n

    def eliminated(self, n: int) -> NDArray[np.bool_]:
        return self.curves.least_margins(n, self.furthest(n)) > self.width(n)

    def eliminates(self, n: int) -> bool:
        return bool(self.eliminated(n).any())

    def stops(self, n: int) -> bool:
        next_reach = self.furthest(n) - self.others
        return next_reach < 1 or self.curves.best(next_reach) - self.curves.best(self.furthest(n)) > self.width(n)

    def commits(self, n: int) -> bool:
        return self.curves.lead(self.furthest(n)) > self.width(n)

    def first(self, low: int, rule: Callable[[int], bool]) -> int | None:
        """The smallest ``n >= low`` at which a rule fires.

        Between two turns of the curves elimination and second stop go on firing once they have. Commitment need not:
        the lead may shrink with the reach. There ``lead / width`` rises to one peak and falls, which makes a further cut.
        """
        turns = self.curves.turns
        pulls = [(self.horizon - self.gone - int(turn)) // self.others for turn in turns]
        cuts = sorted({low, self.most, *(n + d for n in pulls for d in (-2, -1, 0, 1))})
        cuts = [n for n in cuts if low <= n <= self.most]
        if rule == self.commits:
            cuts += [self._peak(a, b) for a, b in pairwise(cuts) if b - a > 2]
        return smallest(rule, low, self.most, cuts)

    def _peak(self, low: int, high: int) -> int:
        """Where ``lead / width`` is largest between two turns, by ternary search on whole numbers."""

        def value(n: int) -> float:
            return self.curves.lead(self.furthest(n)) / self.width(n)

        while high - low > 2:
            third = (high - low) // 3
            left, right = low + third, high - third
            low, high = (left, high) if value(left) < value(right) else (low, right)
        return max(range(low, high + 1), key=value)


def recursion(
    alpha: NDArray[np.float64], beta: NDArray[np.float64], *, horizon: int, rho: float, constant: float
) -> tuple[int, int, bool]:
    """Play the recursion on the true curves: ``nbar``, the last ``n``, and whether the arm that is left is the right one.

    ``constant`` is ``c_rho``; a smaller one shows the rules at work at a horizon that a person can check.
    """
    left, gone, n = np.arange(len(alpha)), 0, 1
    while len(left) > 1:
        stage = _Stage(_Curves(alpha[left], beta[left], rho, horizon), gone, horizon, len(alpha), constant)
        dropped = stage.first(n, stage.eliminates)
        stopped, committed = stage.first(n, stage.stops), stage.first(n, stage.commits)
        n = min(k for k in (dropped, stopped, committed, stage.most) if k is not None)
        if n in (stopped, committed) or n != dropped:
            return gone + stage.others * n, n, n == committed
        out = stage.eliminated(n)
        gone += int(out.sum()) * n
        left = left[~out]
    return gone, n, True


def rest_sure_terms(
    alpha: ArrayLike, beta: ArrayLike, *, horizon: int, rho: float = 0.5, alpha_max: float = 1.0
) -> UpperBound:
    """Theorem 4, term by term, for any number of arms.

    ``explored`` is ``nbar = sum_s n_sigma(s)``, ``training_lost`` is ``mu*(T - nbar) - mu*(T)``, and ``confusion`` is
    ``2 CB_{n}(1/T)`` where exploration ends by the second stop or by the budget, so that the arm may be wrong.
    """
    a = checks.within("alpha", checks.real_array("alpha", alpha), low=0)
    b = checks.within("beta", checks.real_array("beta", beta), low=0, high=1)
    if a.ndim != 1 or a.shape != b.shape:
        raise InvalidParameter(f"alpha, beta: must both have shape (K,), but have {a.shape} and {b.shape}")
    horizon = checks.whole("horizon", horizon, at_least=max(len(a), 2))
    radius = partial(theorem2_radius, n_arms=len(a), horizon=horizon, rho=rho, alpha_max=alpha_max, delta=1 / horizon)
    radius(1)  # refuses rho = 1 and the like in its own words
    explored, n, sure = recursion(a, b, horizon=horizon, rho=rho, constant=separation_constant(rho, alpha_max))
    curves = _Curves(a, b, rho, horizon)
    lost = curves.best(horizon - explored) - curves.best(horizon)
    return UpperBound(explored, lost, 0.0 if sure else 2 * float(radius(n // 2)))


def rest_sure_bound(
    alpha: ArrayLike, beta: ArrayLike, *, horizon: int, rho: float = 0.5, alpha_max: float = 1.0
) -> float:
    """Theorem 4: with probability ``1 - 1/T`` the regret of published REST-SURE on these arms is at most this.

    >>> f"{rest_sure_bound([0.5, 0.5], [0.2, 0.9], horizon=10**9):.1e}"
    '4.2e-07'
    """
    return rest_sure_terms(alpha, beta, horizon=horizon, rho=rho, alpha_max=alpha_max).total


def corollary2_terms(alpha: float, gap: float, *, horizon: int, alpha_max: float = 1.0) -> UpperBound:
    """Corollary 2, term by term: two arms a constant ``gap`` apart, ``rho = 1/2``.

    ``n_0`` is the smallest n above ``min{c/gap^2, c (T - n)^3/alpha^2}`` with ``c = 25600 (sqrt(U)+1)^4 log(4 n T^2)``, at
    most T/2. ``2 CB`` is added where the second term, or T/2, decides.
    """
    checks.real("alpha", alpha, at_least=0)
    checks.real("gap", gap, above=0)
    checks.whole("horizon", horizon, at_least=2)
    checks.real("alpha_max", alpha_max, at_least=0)
    radius = partial(theorem2_radius, n_arms=2, horizon=horizon, rho=0.5, alpha_max=alpha_max, delta=1 / horizon)
    half = horizon // 2

    def constant(n: int) -> float:
        return separation_constant(0.5, alpha_max) * math.log(4 * n * horizon**2)

    separated = smallest(lambda n: n > constant(n) / gap**2, 1, half)
    stopped = smallest(lambda n: n * alpha**2 > constant(n) * (horizon - n) ** 3, 1, half)
    explored = min(n for n in (separated, stopped, half) if n is not None)
    lost = alpha * ((horizon - explored) ** -0.5 - horizon**-0.5)
    return UpperBound(explored, lost, 0.0 if explored == separated else 2 * float(radius(explored // 2)))


def corollary2_bound(alpha: float, gap: float, *, horizon: int, alpha_max: float = 1.0) -> float:
    """Corollary 2: Theorem 4 on the pair of Theorem 3 at ``rho = 1/2``."""
    return corollary2_terms(alpha, gap, horizon=horizon, alpha_max=alpha_max).total

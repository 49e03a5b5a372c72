"""ETC and REST-SURE straight from the pseudocode: python floats, explicit weights, a scan over every m.

Slow and plain on purpose. The package must make the same pulls, eliminations and answers.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

Line = tuple[float, float]  # (alpha^, beta^)


def harmonic(a: int, b: int, rho: float) -> float:
    return sum(s**-rho for s in range(a, b + 1))


def two_window(losses: Sequence[float], rho: float) -> Line:
    """Eqs. (4) to (6)."""
    tau = len(losses) // 2
    first = sum(losses[:tau]) / tau
    second = sum(losses[tau : 2 * tau]) / tau
    alpha = tau * (first - second) / (harmonic(1, tau, rho) - harmonic(tau + 1, 2 * tau, rho))
    return alpha, first - alpha * harmonic(1, tau, rho) / tau


def least_squares(losses: Sequence[float], rho: float, ridge: float = 0.0) -> Line:
    """The normal equations, solved by Cramer's rule on centred columns when there is no ridge."""
    n = len(losses)
    phi = [s**-rho for s in range(1, n + 1)]
    if ridge:
        a, b, d = math.fsum(p * p for p in phi) + ridge, math.fsum(phi), n + ridge
        u, v = math.fsum(p * x for p, x in zip(phi, losses, strict=True)), math.fsum(losses)
        det = a * d - b * b
        return (u * d - v * b) / det, (a * v - b * u) / det
    mean_phi, mean_x = math.fsum(phi) / n, math.fsum(losses) / n
    alpha = math.fsum((p - mean_phi) * (x - mean_x) for p, x in zip(phi, losses, strict=True)) / math.fsum(
        (p - mean_phi) ** 2 for p in phi
    )
    return alpha, mean_x - alpha * mean_phi


ESTIMATORS: dict[str, Callable[[Sequence[float], float], Line]] = {
    "two-window": two_window,
    "least-squares": least_squares,
}


@cache
def explicit_weights(estimator: str, n: int, rho: float) -> list[Line]:
    """What each single loss contributes to (alpha^, beta^): the estimate of a unit vector."""
    return [ESTIMATORS[estimator]([float(k == s) for k in range(n)], rho) for s in range(n)]


@cache
def weight_norm(estimator: str, n: int, rho: float, m: int) -> float:
    return math.sqrt(sum((a * m**-rho + b) ** 2 for a, b in explicit_weights(estimator, n, rho)))


@dataclass
class Theorem2:
    K: int
    T: int
    rho: float
    alpha_max: float
    delta: float
    scale: float

    def radius(self, n: int, m: int, histories: list[list[float]]) -> float:
        tau = n // 2
        log = math.log(tau * self.K * self.T / self.delta)
        constant = 10 * (math.sqrt(self.alpha_max) + 1) ** 2 / ((1 - self.rho) * self.rho)
        return self.scale * constant * (log / tau + math.sqrt(log / tau))

    def gap(self, n: int, m: int, histories: list[list[float]]) -> float:
        return 2 * self.radius(n, m, histories)


@dataclass
class ExactWeights:
    K: int
    rho: float
    estimator: str
    sigma: float
    looks: int
    delta: float
    scale: float

    def radius(self, n: int, m: int, histories: list[list[float]]) -> float:
        width = self.sigma * math.sqrt(2 * math.log(2 * self.K * self.looks / self.delta))
        return self.scale * width * weight_norm(self.estimator, n, self.rho, m)

    def gap(self, n: int, m: int, histories: list[list[float]]) -> float:
        return math.sqrt(2) * self.radius(n, m, histories)


@dataclass
class Empirical:
    K: int
    T: int
    rho: float
    estimator: str
    looks: int
    delta: float
    scale: float

    def radius(self, n: int, m: int, histories: list[list[float]]) -> float:
        freedom = len(histories) * (n - 2)
        doubt = math.log(2 * max(self.T / self.K, 1) / self.delta)
        if freedom == 0 or 1 - 2 * math.sqrt(doubt / freedom) <= 0:
            return math.inf
        squares = 0.0
        for losses in histories:
            alpha, beta = least_squares(losses, self.rho)
            squares += sum((x - alpha * s**-self.rho - beta) ** 2 for s, x in enumerate(losses, 1))
        sigma = math.sqrt(squares / freedom / (1 - 2 * math.sqrt(doubt / freedom)))
        width = sigma * math.sqrt(2 * math.log(4 * self.K * self.looks / self.delta))
        return self.scale * width * weight_norm(self.estimator, n, self.rho, m)

    def gap(self, n: int, m: int, histories: list[list[float]]) -> float:
        return math.sqrt(2) * self.radius(n, m, histories)


@dataclass
class SelfNormalized:
    """For ridge = lambda = sigma^2 / (U^2 + 1), as in Abbasi-Yadkori et al."""

    K: int
    rho: float
    sigma: float
    alpha_max: float
    delta: float
    scale: float

    def _terms(self, n: int, m: int) -> tuple[float, float]:
        """``||phi(m)||_{V^-1}`` and ``log(det V / lambda^2)``."""
        lam = self.sigma**2 / (self.alpha_max**2 + 1)
        a = lam + sum(s ** (-2 * self.rho) for s in range(1, n + 1))
        b, d = harmonic(1, n, self.rho), lam + n
        det, x = a * d - b * b, m**-self.rho
        return math.sqrt((d * x * x - 2 * b * x + a) / det), math.log(det / lam**2)

    def radius(self, n: int, m: int, histories: list[list[float]]) -> float:
        norm, information = self._terms(n, m)
        return self.scale * norm * self.sigma * (math.sqrt(2 * math.log(self.K / self.delta) + information) + 1)

    def gap(self, n: int, m: int, histories: list[list[float]]) -> float:
        norm, information = self._terms(n, m)
        pairs = max(self.K * (self.K - 1) / 2, 1)
        stacked = math.sqrt(2) * math.sqrt(2 * math.log(pairs / self.delta) + 2 * information)
        return self.scale * norm * self.sigma * (stacked + 2)


Radius = Theorem2 | ExactWeights | Empirical | SelfNormalized


@dataclass
class Played:
    pulls: list[int]
    answer: int
    eliminated: list[tuple[int, int]] = field(default_factory=list)  # (pulls spent, arm), in order
    ended_by: str = "budget"


@dataclass
class Naive:
    """One game; ``table[i][s-1]`` is the s-th loss of arm i."""

    table: Sequence[Sequence[float]]
    T: int
    rho: float
    estimate: Callable[[Sequence[float], float], Line]
    radius: Radius

    def curve(self, losses: Sequence[float]) -> Callable[[int], float]:
        if len(losses) < 2:
            return lambda m: sum(losses) / len(losses)
        alpha, beta = self.estimate(losses, self.rho)
        return lambda m: alpha * m**-self.rho + beta

    def explore_then_commit(self) -> Played:
        """Algorithm 1."""
        K, T = len(self.table), self.T
        answer, n = -1, 0
        for n in range(1, T // K + 1):
            histories = [list(row[:n]) for row in self.table]
            if n < 2:
                continue
            mu = [self.curve(h) for h in histories]
            tau_out = T - n * (K - 1)
            for i in range(K):
                others = [mu[j](tau_out) for j in range(K) if j != i]
                if mu[i](tau_out) < min(others, default=math.inf) - self.radius.gap(n, tau_out, histories):
                    answer = i
            if answer >= 0:
                return self._commit([n] * K, answer, [], "line 4")
        tau_out = T - n * (K - 1)
        mu = [self.curve(row[:n]) for row in self.table]
        return self._commit([n] * K, min(range(K), key=lambda i: mu[i](tau_out)), [], "budget")

    def rest_sure(self) -> Played:
        """Algorithm 2."""
        K, T = len(self.table), self.T
        active, n, t = list(range(K)), 0, 0
        pulls, eliminated = [0] * K, list[tuple[int, int]]()
        while True:
            tau_out = T - t + n
            if n >= 2:
                histories = [list(self.table[i][:n]) for i in active]
                mu = {i: self.curve(self.table[i][:n]) for i in active}
                gap = cache(lambda m, n=n, histories=histories: self.radius.gap(n, m, histories))
                for i in active:  # line 4
                    others = [mu[j](tau_out) for j in active if j != i]
                    if mu[i](tau_out) < min(others, default=math.inf) - gap(tau_out):
                        return self._commit(pulls, i, eliminated, "line 4")
                best = min(active, key=lambda i: mu[i](tau_out))
                after = tau_out - len(active) + 1
                if after < 1:  # line 7
                    return self._commit(pulls, best, eliminated, "line 7")
                width = self.radius.radius(n, after, histories) + self.radius.radius(n, tau_out, histories)
                if min(mu[i](after) for i in active) - width > mu[best](tau_out):
                    return self._commit(pulls, best, eliminated, "line 7")
                out = [  # line 11
                    i
                    for i in active
                    if all(any(mu[i](m) - mu[j](m) > gap(m) for j in active) for m in range(n, tau_out + 1))
                ]
                eliminated += [(t, i) for i in out]
                active = [i for i in active if i not in out]
            if T - t < len(active):
                mu = {i: self.curve(self.table[i][:n]) for i in active}
                return self._commit(pulls, min(active, key=lambda i: mu[i](tau_out)), eliminated, "budget")
            for i in active:  # line 14
                pulls[i] += 1
            t, n = t + len(active), n + 1

    def _commit(self, pulls: list[int], answer: int, eliminated: list[tuple[int, int]], ended_by: str) -> Played:
        pulls = list(pulls)
        pulls[answer] += self.T - sum(pulls)
        return Played(pulls, answer, eliminated, ended_by)

"""How surprised a test may be: exact limits of counts, so that a statistical test states its false-alarm rate."""

import math

FALSE_ALARM = 1e-6


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _mass(n: int, k: int, p: float) -> float:
    if p in (0.0, 1.0):
        return float(k == n * p)
    return math.exp(_log_choose(n, k) + k * math.log(p) + (n - k) * math.log1p(-p))


def most_events(n: int, p: float, false_alarm: float = FALSE_ALARM) -> int:
    """The smallest k with P(Binomial(n, p) > k) <= false_alarm: more events than that refute a probability of p."""
    tail, k = 0.0, n
    while k > 0:
        tail += _mass(n, k, p)
        if tail > false_alarm:
            return k
        k -= 1
    return 0


def fewest_events(n: int, p: float, false_alarm: float = FALSE_ALARM) -> int:
    """The largest k with P(Binomial(n, p) < k) <= false_alarm."""
    return n - most_events(n, 1 - p, false_alarm)


Z = 4.9  # |N(0, 1)| exceeds this with probability 9.6e-7

import numpy as np

from tests.chance import fewest_events, most_events


def test_limits_by_direct_summation() -> None:
    n, p = 40, 0.3
    mass = np.array([1.0])
    for _ in range(n):
        mass = np.convolve(mass, [1 - p, p])
    k = most_events(n, p, 1e-3)
    assert mass[k + 1 :].sum() <= 1e-3 < mass[k:].sum()
    low = fewest_events(n, p, 1e-3)
    assert mass[:low].sum() <= 1e-3 < mass[: low + 1].sum()

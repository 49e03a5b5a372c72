"""Line 11 without a scan over m, against the scan."""

import numpy as np
import pytest

from restsure.policies.envelope import dominated_arms, lower_envelope, lower_hull


def scan(alpha, beta, first, last, rho, gap):
    m = np.arange(first, last + 1.0)
    losses = alpha[:, None] * m**-rho + beta[:, None]
    return ((losses - losses.min(axis=0)) > gap(m**-rho)).all(axis=1)


def random_lines(rng, shape):
    k = int(rng.integers(1, 60))
    if shape == "any":
        return rng.normal(0, 1, k), rng.normal(0, 1, k)
    if shape == "crossing":
        alpha = rng.random(k)
        return alpha, 0.5 - 0.45 * alpha + rng.normal(0, 0.02, k)
    slope = np.sort(rng.uniform(-2, 2, k))  # tangents of a concave curve: every line is on the envelope
    return slope, 0.25 * slope**2 + rng.normal(0, 1e-3, k)


@pytest.mark.parametrize("shape", ["any", "crossing", "tangents"])
@pytest.mark.parametrize("width", ["constant", "norm"])
def test_equals_the_scan(shape: str, width: str) -> None:
    rng = np.random.default_rng([len(shape), len(width)])
    dropped = kept_by_the_middle = 0
    for _ in range(400):
        alpha, beta = random_lines(rng, shape)
        first = int(rng.integers(2, 50))
        last = first + int(rng.integers(0, 2_000))
        rho = float(rng.choice([0.05, 0.3, 0.5, 0.9, 1.0]))
        size = 10 ** rng.uniform(-4, -0.3)
        centre, bend = rng.random(), 10 ** rng.uniform(-1, 2)

        def gap(x, size=size, centre=centre, bend=bend):
            return np.full_like(x, size) if width == "constant" else size * np.sqrt(1 + bend * (x - centre) ** 2)

        verdict = dominated_arms(alpha, beta, first=first, last=last, rho=rho, gap=gap)
        expected = scan(alpha, beta, first, last, rho, gap)
        np.testing.assert_array_equal(verdict.dominated, expected)
        ends = np.array([first, last], dtype=float) ** -rho
        losses = alpha[:, None] * ends + beta[:, None]
        at_ends = (losses - losses.min(axis=0) > gap(ends)).all(axis=1)
        dropped += expected.sum()
        kept_by_the_middle += (at_ends & ~expected).sum()
        # The report of each arm is true: at that m, against that rival, by that much.
        x = verdict.at.astype(float) ** -rho
        behind = alpha * x + beta - (alpha[verdict.rival] * x + beta[verdict.rival])
        np.testing.assert_allclose(verdict.behind, behind, atol=1e-12)
        np.testing.assert_allclose(verdict.needed, gap(x))
        assert ((verdict.at >= first) & (verdict.at <= last)).all()
    assert dropped > 100
    if shape != "any":
        assert kept_by_the_middle > 20  # the corners of the envelope do decide


def test_equal_arms_both_survive() -> None:
    verdict = dominated_arms(np.ones(3), np.ones(3), first=2, last=9, rho=0.5, gap=lambda x: np.zeros_like(x))
    assert not verdict.dominated.any()


def test_lower_envelope_by_definition() -> None:
    rng = np.random.default_rng(2)
    for _ in range(100):
        alpha, beta = random_lines(rng, "crossing")
        owners, corners = lower_envelope(alpha, beta, 0.1, 0.9)
        assert (np.diff(corners) > 0).all()
        x = rng.uniform(0.1, 0.9, 50)
        best = alpha[owners][np.searchsorted(corners, x)] * x + beta[owners][np.searchsorted(corners, x)]
        np.testing.assert_allclose(best, (alpha[:, None] * x + beta[:, None]).min(axis=0), atol=1e-12)


def test_lower_hull_of_a_parabola_is_all_of_it() -> None:
    x = np.linspace(-1, 1, 21)
    assert lower_hull(x, x**2).tolist() == list(range(21))
    assert lower_hull(x, -(x**2)).tolist() == [0, 20]

"""Noises keep the mean, and have the spread and range they claim."""

import numpy as np
import pytest

import restsure as rs
from tests.chance import Z

N = 200_000


def draws(noise, mean: float) -> np.ndarray:
    return noise.sample([np.random.default_rng(3)], np.full((1, N), mean))[0]


@pytest.mark.parametrize(
    ("noise", "mean", "variance"),
    [
        (rs.Gaussian(0.3), 0.4, 0.09),
        (rs.Gaussian(0.0), 0.4, 0.0),
        (rs.Bernoulli(), 0.3, 0.21),
        (rs.Bernoulli(), 0.0, 0.0),
        (rs.Bernoulli(), 1.0, 0.0),
        (rs.Bernoulli(), 1.3, 0.21),
        (rs.BetaNoise(2.0), 0.3, 0.3 * 0.7 / (2 / 0.3 + 1)),
        (rs.BetaNoise(5.0), 0.9, 0.9 * 0.1 / (5 / 0.9 + 1)),
        (rs.BetaNoise(), 0.0, 0.0),
        (rs.BetaNoise(), 1.0, 0.0),
    ],
)
def test_mean_and_variance(noise, mean: float, variance: float) -> None:
    """Mean within 4.9 standard errors; variance within 4.9 times sqrt(kurtosis/n), kurtosis at most 10 here."""
    losses = draws(noise, mean)
    assert abs(losses.mean() - mean) <= Z * np.sqrt(variance / N) + 1e-15
    assert losses.var() == pytest.approx(variance, rel=Z * np.sqrt(10 / N), abs=1e-15)


def test_ranges() -> None:
    assert set(draws(rs.Bernoulli(), 0.4)) == {0.0, 1.0}
    assert set(draws(rs.Bernoulli(), 1.4)) == {1.0, 2.0}
    losses = draws(rs.BetaNoise(), 0.2)
    assert 0 < losses.min() < losses.max() < 1


def test_beta_noise_in_terms_of_the_reward() -> None:
    """1 - loss ~ Beta(2 m / (1 - m), 2) for a reward of mean m: its mode, m > 1/3, is (a - 1) / a with a = 2 m / (1 - m)."""
    rewards = 1 - draws(rs.BetaNoise(2.0), 0.2)
    a = 2 * 0.8 / 0.2
    second_moment = a / (a + 2) * (a + 1) / (a + 3)
    assert np.mean(rewards**2) == pytest.approx(second_moment, rel=0.01)

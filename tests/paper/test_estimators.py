"""Eqs. (4) to (6), and least squares beside them."""

import numpy as np
import pytest

import restsure as rs
from restsure.estimators import Estimator
from tests.chance import Z
from tests.paper import reference

ESTIMATORS = {"two-window": rs.TwoWindow(), "least-squares": rs.LeastSquares()}
RHOS = (0.05, 0.2, 0.5, 0.8, 1.0)


def fitted(estimator: Estimator, losses: np.ndarray, rho: float) -> tuple[np.ndarray, np.ndarray]:
    curves = estimator.start(rho, len(losses))
    curves.update(slice(None), losses)
    return curves.coefficients(slice(None))


@pytest.mark.parametrize("method", ESTIMATORS)
@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("n", [2, 3, 10, 101])
def test_exact_without_noise(method: str, rho: float, n: int) -> None:
    losses = 0.7 * np.arange(1, n + 1) ** -rho + 0.2
    fit = rs.fit_curve(losses, method=method, rho=rho)
    assert fit.alpha == pytest.approx(0.7, rel=1e-9)
    assert fit.beta == pytest.approx(0.2, abs=1e-9)
    mean, _ = fit.predict([1, n, 10 * n])
    assert mean == pytest.approx(0.7 * np.array([1, n, 10 * n]) ** -rho + 0.2, rel=1e-9)


@pytest.mark.parametrize("method", ESTIMATORS)
@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("n", [2, 3, 7, 40])
def test_same_as_the_equations(method: str, rho: float, n: int) -> None:
    losses = np.random.default_rng([n, int(100 * rho)]).random(n)
    fit = rs.fit_curve(losses, method=method, rho=rho)
    assert (fit.alpha, fit.beta) == pytest.approx(reference.ESTIMATORS[method](losses.tolist(), rho), rel=1e-9)
    for m in (1, n, 500):
        assert fit.design.weight_norm(m**-rho) == pytest.approx(reference.weight_norm(method, n, rho, m), rel=1e-7)


def test_ridge_same_as_the_normal_equations() -> None:
    losses = np.random.default_rng(5).random((1, 30))
    alpha, beta = fitted(rs.LeastSquares(ridge=0.3), losses, 0.4)
    assert (alpha[0], beta[0]) == pytest.approx(reference.least_squares(losses[0].tolist(), 0.4, 0.3), rel=1e-12)


@pytest.mark.parametrize("method", ESTIMATORS)
@pytest.mark.parametrize("rho", [0.3, 0.7, 1.0])
@pytest.mark.parametrize("noise", [rs.Gaussian(0.3), rs.Bernoulli()])
def test_unbiased(method: str, rho: float, noise: rs.Gaussian | rs.Bernoulli) -> None:
    """5,000 fits; the mean of mu^(m) lies within 4.9 standard errors of the truth (false alarm 1e-6 a cell).

    Power: a bias of 4.9 / sqrt(5000) = 7 % of the estimate's standard deviation shows with probability 1/2.
    """
    runs, n = 5_000, 50
    s = np.arange(1, n + 1.0)
    means = np.broadcast_to(0.6 * s**-rho + 0.3, (runs, n))
    streams = [np.random.default_rng([7, k]) for k in range(runs)]
    alpha, beta = fitted(ESTIMATORS[method], noise.sample(streams, means), rho)
    for m in (1, 50, 1000):
        estimates = alpha * m**-rho + beta
        error = estimates.std(ddof=1) / np.sqrt(runs)
        assert abs(estimates.mean() - (0.6 * m**-rho + 0.3)) < Z * error


@pytest.mark.parametrize("rho", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("m_factor", [2, 10, 100])
def test_least_squares_needs_fewer_losses(rho: float, m_factor: int) -> None:
    """Variance of two windows over that of least squares at the reach: 2 to 3.5, i.e. as many times fewer losses."""
    n = 1_000
    norms = [
        rs.fit_curve(np.zeros(n), method=method, rho=rho).design.weight_norm((m_factor * n) ** -rho)
        for method in ("two-window", "least-squares")
    ]
    assert 2 < (norms[0] / norms[1]) ** 2 < 3.5


def test_variance_is_what_the_weights_say() -> None:
    """Sample variance of 5,000 fits within 4.9 standard errors (sqrt(2/5000) each) of sigma^2 ||w||^2."""
    runs, n, m, sigma = 5_000, 41, 200, 0.3
    losses = np.random.default_rng(11).normal(0.4, sigma, (runs, n))
    for method, estimator in ESTIMATORS.items():
        alpha, beta = fitted(estimator, losses, 0.5)
        variance = (alpha * m**-0.5 + beta).var(ddof=1)
        expected = (sigma * reference.weight_norm(method, n, 0.5, m)) ** 2
        assert abs(variance / expected - 1) < Z * np.sqrt(2 / runs), method


def test_digits_survive_a_small_exponent_and_a_large_constant() -> None:
    s = np.arange(1, 100_001)
    losses = 1e6 + 0.5 * s**-0.01
    fit = rs.fit_curve(losses, method="least-squares", rho=0.01)
    assert fit.alpha == pytest.approx(0.5, rel=1e-5)


def test_sigma_is_estimated() -> None:
    """Standard error of the estimate is sigma / sqrt(2 n) = .7 %; 4.9 of them are allowed."""
    losses = np.random.default_rng(3).normal(0.5, 0.2, 10_000)
    assert rs.fit_curve(losses).sigma == pytest.approx(0.2, rel=Z / np.sqrt(2 * 10_000))


@pytest.mark.parametrize("estimator", ESTIMATORS.values())
def test_blocks_and_uneven_cells(estimator: Estimator) -> None:
    """Fed in any blocks, cell by cell or together, the curves are the same."""
    rng = np.random.default_rng(8)
    losses = rng.random((3, 60))
    whole = estimator.start(0.5, 3)
    whole.update(slice(None), losses)
    pieces = estimator.start(0.5, 3)
    at = np.zeros(3, dtype=int)
    while (left := np.flatnonzero(at < 60)).size:
        cells = rng.permutation(left)[: rng.integers(1, left.size + 1)]
        block = int(min(rng.integers(1, 9), (60 - at[cells]).min()))
        pieces.update(cells, np.stack([losses[c, at[c] : at[c] + block] for c in cells]))
        at[cells] += block
    for one, other in zip(whole.coefficients(slice(None)), pieces.coefficients(slice(None)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)
    np.testing.assert_allclose(whole.squares(slice(None)), pieces.squares(slice(None)), rtol=1e-9)
    for cell in range(3):
        assert whole.design(cell).spread == pytest.approx(pieces.design(cell).spread, rel=1e-10)

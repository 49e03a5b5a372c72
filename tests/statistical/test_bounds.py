"""Every bound covers at its level, and separates a known gap in the expected number of pulls.

5,000 runs a cell. Coverage: with delta = .05 a run counts as a miss when the true curve leaves the band at any of the pull
counts n and any of the targets m looked at. More misses than ``most_events(5000, .05) = 330`` have probability below 1e-6
if the bound holds: that is the false-alarm rate of each cell. Power of the check: see ``test_a_bound_too_narrow_is_caught``.
"""

import math

import numpy as np
import pytest

import restsure as rs
from restsure.bounds import Claim
from restsure.estimators import Estimator, Residuals
from tests.chance import fewest_events, most_events

RUNS, DELTA = 5_000, 0.05
LOOKS_AT = (2, 3, 4, 6, 10, 20, 50, 100, 200, 400)
TARGETS = np.array([1.0, 2, 5, 10, 50, 200, 1_000, 10_000, 1e6])
ALPHA, BETA = 0.6, 0.3


def losses_of(noise: rs.Gaussian | rs.Bernoulli, rho: float, runs: int, seed: int) -> np.ndarray:
    means = ALPHA * np.arange(1, LOOKS_AT[-1] + 1.0) ** -rho + BETA
    streams = [np.random.default_rng([seed, k]) for k in range(runs)]
    return noise.sample(streams, np.broadcast_to(means, (runs, len(means))))


def misses(
    bound: rs.bounds.Bound,
    estimator: Estimator,
    noise: rs.Gaussian | rs.Bernoulli,
    rho: float,
    *,
    arms: int = 1,
    looks: tuple[int, ...] = LOOKS_AT,
    targets: np.ndarray = TARGETS,
    seed: int = 1,
) -> int:
    """Runs of ``arms`` equal arms in which the truth leaves the band of some arm at some look and target."""
    losses = losses_of(noise, rho, RUNS * arms, seed)
    claim = Claim(arms, arms * LOOKS_AT[-1], DELTA)
    curves = estimator.start(rho, RUNS * arms)
    missed, at, x = np.zeros(RUNS, dtype=bool), 0, targets**-rho
    truth = ALPHA * x + BETA
    for n in looks:
        curves.update(slice(None), losses[:, at:n])
        at = n
        residuals = None
        if bound.needs_residuals:
            freedom = arms * (n - 2)
            pooled = curves.squares(slice(None)).reshape(RUNS, arms).sum(axis=1) / max(freedom, 1)
            residuals = Residuals(np.repeat(pooled, arms)[:, None], freedom)
        radius = bound.radius(curves.design(0), x, claim, residuals)
        alpha, beta = curves.coefficients(slice(None))
        off = np.abs(alpha[:, None] * x + beta[:, None] - truth) > radius
        missed |= off.reshape(RUNS, -1).any(axis=1)
    return int(missed.sum())


GAUSS, COIN = rs.Gaussian(0.2), rs.Bernoulli()
PAIRS = len(LOOKS_AT) * len(TARGETS)
CELLS = {
    "Theorem 2": (rs.bounds.Theorem2(1.0), rs.TwoWindow(), COIN),
    "exact, two windows": (rs.bounds.ExactWeights(0.2, PAIRS), rs.TwoWindow(), GAUSS),
    "exact, least squares": (rs.bounds.ExactWeights(0.2, PAIRS), rs.LeastSquares(), GAUSS),
    "exact, losses in [0, 1]": (rs.bounds.ExactWeights(0.5, PAIRS), rs.LeastSquares(), COIN),
    "exact, all rounds and m": (rs.bounds.ExactWeights(0.2), rs.LeastSquares(), GAUSS),
    "self-normalised, ridge": (
        rs.bounds.SelfNormalized(0.2),
        rs.LeastSquares(rs.bounds.SelfNormalized(0.2).ridge),
        GAUSS,
    ),
    "self-normalised": (rs.bounds.SelfNormalized(0.2), rs.LeastSquares(), GAUSS),
    "self-normalised, losses in [0, 1]": (rs.bounds.SelfNormalized(0.5), rs.LeastSquares(), COIN),
    "empirical, two windows": (rs.bounds.Empirical(PAIRS), rs.TwoWindow(), GAUSS),
    "empirical, least squares": (rs.bounds.Empirical(PAIRS), rs.LeastSquares(), GAUSS),
    "empirical, all rounds and m": (rs.bounds.Empirical(), rs.LeastSquares(), GAUSS),
}


@pytest.mark.parametrize("rho", [0.3, 0.7, 1.0])
@pytest.mark.parametrize("cell", CELLS)
def test_coverage(cell: str, rho: float) -> None:
    bound, estimator, noise = CELLS[cell]
    if isinstance(bound, rs.bounds.Theorem2) and rho == 1:
        rho = 0.95
    assert misses(bound, estimator, noise, rho) <= most_events(RUNS, DELTA)


@pytest.mark.parametrize("cell", ["exact, least squares", "self-normalised", "empirical, least squares"])
def test_coverage_for_all_arms_together(cell: str) -> None:
    bound, estimator, noise = CELLS[cell]
    assert misses(bound, estimator, noise, 0.5, arms=4) <= most_events(RUNS, DELTA)


def test_one_look_has_the_exact_rate() -> None:
    """At one n and m the Gaussian rate is known: 2 (1 - Phi(sqrt(2 log(2/.05)))) = .0066; both sides at 1e-6."""
    count = misses(
        rs.bounds.ExactWeights(0.2, 1), rs.LeastSquares(), GAUSS, 0.5, looks=(400,), targets=np.array([1_000.0])
    )
    assert fewest_events(RUNS, 0.0066) <= count <= most_events(RUNS, 0.0066)


@pytest.mark.parametrize(
    ("cell", "factor"),
    [("exact, least squares", 0.6), ("self-normalised", 0.45), ("empirical, least squares", 0.35)],
)
def test_a_bound_too_narrow_is_caught(cell: str, factor: float) -> None:
    """The power of the coverage check: a bound that claims this much too little is refuted."""
    bound, estimator, noise = CELLS[cell]
    assert misses(rs.bounds.Scaled(bound, factor), estimator, noise, 0.5) > most_events(RUNS, DELTA)


HORIZON, GAP, SIGMA = 10_000, 0.1, 0.1


def chance_of_separation(bound: rs.bounds.Bound, estimator: Estimator, pulls: int) -> tuple[float, float, float]:
    """Normal noise: the estimated difference at the reach is normal, so the chance to see the gap is known exactly."""
    curves = estimator.start(0.5, 1)
    curves.update(slice(None), np.zeros((1, pulls)))
    x = float(HORIZON - pulls) ** -0.5
    residuals = Residuals(SIGMA**2, 2 * (pulls - 2)) if bound.needs_residuals else None
    needed = float(bound.gap(curves.design(0), x, Claim(2, HORIZON, 1 / HORIZON), residuals))
    noise = math.sqrt(2) * SIGMA * float(curves.design(0).weight_norm(x))
    return 0.5 * math.erfc((needed - GAP) / noise / math.sqrt(2)), needed, x


def pairs_separated(estimator: Estimator, pulls: int, needed: float, x: float) -> int:
    """Of 5,000 simulated pairs of arms a gap apart, those whose estimates differ by more than is needed."""
    rng, count = np.random.default_rng([9, pulls]), 0
    means = 0.5 * np.arange(1, pulls + 1.0) ** -0.5 + 0.2
    for _ in range(0, RUNS, 250):  # in parts, to keep the memory small
        losses = means + rng.normal(0, SIGMA, (500, pulls))
        losses[1::2] += GAP
        curves = estimator.start(0.5, 500, track_noise=False)
        curves.update(slice(None), losses)
        alpha, beta = curves.coefficients(slice(None))
        estimates = alpha * x + beta
        count += int((estimates[1::2] - estimates[::2] > needed).sum())
    return count


@pytest.mark.parametrize(
    ("bound", "estimator", "expected"),
    [
        (rs.bounds.ExactWeights(0.1), rs.TwoWindow(), (480, 600)),
        (rs.bounds.ExactWeights(0.1), rs.LeastSquares(), (190, 240)),
        (rs.bounds.SelfNormalized(0.1), rs.LeastSquares(), (215, 270)),
        (rs.bounds.Empirical(), rs.LeastSquares(), (270, 350)),
    ],
)
def test_power(bound: rs.bounds.Bound, estimator: Estimator, expected: tuple[int, int]) -> None:
    """A gap of .1 under noise of .1 is seen when it should be.

    At the first n with chances of .001, .5 and .999 the number of pairs told apart lies within the exact binomial limits
    on both sides, false alarm 1e-6 each. ``expected`` is the n of even chances at T = 1e4, K = 2, delta = 1/T.
    """
    grid = range(12, 4_000, 4)
    for target in (0.001, 0.5, 0.999):
        pulls = next(n for n in grid if chance_of_separation(bound, estimator, n)[0] >= target)
        chance, needed, x = chance_of_separation(bound, estimator, pulls)
        count = pairs_separated(estimator, pulls, needed, x)
        assert fewest_events(RUNS, chance) <= count <= most_events(RUNS, chance), (target, pulls)
        if target == 0.5:
            assert expected[0] <= pulls <= expected[1]


def test_power_of_theorem_2() -> None:
    """With U = 0 and a gap of .9, 2 CB falls below the gap after some 750,000 losses an arm; then all pairs separate.

    The window means are drawn from their own normal law: no simulation needs a billion losses for that.
    """
    sigma, gap, horizon = 0.5, 0.9, 10**6
    bound = rs.bounds.Theorem2(alpha_max=0.0)
    claim = Claim(2, horizon, 1 / horizon)

    def needed(tau: int) -> float:
        return float(2 * rs.theory.theorem2_radius(tau, n_arms=2, horizon=horizon, rho=0.5, alpha_max=0.0, delta=1e-6))

    tau = next(t for t in range(100_000, 400_000, 1_000) if needed(t) < gap - 0.05)
    curves = rs.TwoWindow().start(0.5, 1)
    curves.update(slice(None), np.zeros((1, 2 * tau)))
    design, x = curves.design(0), float(horizon - 2 * tau) ** -0.5
    assert bound.gap(design, x, claim) == pytest.approx(needed(tau))
    noise = sigma * float(design.weight_norm(x))
    estimates = np.random.default_rng(4).normal([0.05, 0.95], noise, (RUNS, 2))
    assert (estimates[:, 1] - estimates[:, 0] > needed(tau)).sum() >= RUNS - most_events(RUNS, 5e-7)
    assert 150_000 < 2 * tau < 800_000
    assert needed(tau // 4) > gap  # with a quarter of the losses the theorem is silent

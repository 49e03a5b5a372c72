"""Theorem 2's radius, and what it means for the published algorithms."""

import numpy as np
import pytest

import restsure as rs


@pytest.mark.parametrize(("horizon", "expected"), [(10**4, 26.0), (10**6, 2.9), (10**9, 0.11)])
def test_twice_the_radius_at_half_the_horizon(horizon: int, expected: float) -> None:
    radius = rs.theory.theorem2_radius(
        horizon // 2, n_arms=2, horizon=horizon, rho=0.5, alpha_max=1.0, delta=1 / horizon
    )
    assert float(f"{2 * radius:.2g}") == expected


def test_arrays_and_too_few_losses() -> None:
    radius = rs.theory.theorem2_radius([0, 1, 100], n_arms=2, horizon=100, rho=0.5, delta=0.1)
    assert np.isinf(radius[0])
    assert radius[1] > radius[2] > 0


@pytest.mark.parametrize("policy", [rs.RestSure.as_published(), rs.ExploreThenCommit.as_published()])
def test_published_is_round_robin_at_ten_thousand_pulls(policy: rs.Policy) -> None:
    """Even arms as far apart as losses allow are pulled equally often, and only the left-over goes to the best."""
    arms = rs.PowerLawArms([0.0] * 7, [0.0, 1.0, 1.0, 0.5, 0.9, 0.3, 0.7], noise=rs.Bernoulli())
    out = rs.simulate(policy, arms, horizon=10_000, replicates=20, seed=1)
    each, left = divmod(10_000, 7)
    assert (np.sort(out.arm_pulls, axis=1) == [each] * 6 + [each + left]).all()
    assert (out.pulls == each + left).all()


@pytest.mark.parametrize("rho", [0.2, 0.35, 0.5, 0.65, 0.8])
@pytest.mark.parametrize("pulls", [200, 2_000, 4_000])
@pytest.mark.parametrize(("method", "low", "high"), [("two-window", 150, 430), ("least-squares", 250, 690)])
def test_exact_weights_are_hundreds_of_times_narrower(
    rho: float, pulls: int, method: str, low: float, high: float
) -> None:
    """At the reach, losses in [0, 1] (sigma = 1/2), K = 2, T = 1e4, delta = 1/T."""
    claim = rs.bounds.Claim(n_arms=2, horizon=10_000, delta=1e-4)
    design = rs.fit_curve(np.zeros(pulls), method=method, rho=rho).design
    x = (10_000 - pulls) ** -rho
    ratio = rs.bounds.Theorem2().radius(design, x, claim) / rs.bounds.ExactWeights(0.5).radius(design, x, claim)
    assert low < ratio < high


def test_rho_one_says_why() -> None:
    with pytest.raises(rs.InvalidParameter, match=r"rho=1: must be below 1 for Theorem 2.*1/\(1 - rho\)"):
        rs.RestSure.as_published(rho=1.0)
    with pytest.raises(rs.InvalidParameter, match="rho=1"):
        rs.theory.theorem2_radius(10, n_arms=2, horizon=10, rho=1.0, delta=0.1)
    for bound in (rs.bounds.ExactWeights(0.1), rs.bounds.SelfNormalized(0.1), rs.bounds.Empirical()):
        arms = rs.PowerLawArms([0.5, 0.5], [0.1, 0.3], rho=1.0, noise=rs.Gaussian(0.05))
        out = rs.simulate(rs.RestSure(rho=1.0, bound=bound), arms, horizon=1_000, replicates=5, seed=0)
        assert (out.arm == 0).all()

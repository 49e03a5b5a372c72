"""Theorems 1, 3 and 4 and the corollaries: as formulas, and against measured regret."""

import itertools
import math

import numpy as np
import pytest

import restsure as rs
from restsure.theory.rest_sure import recursion
from tests.paper.thompson import Thompson


def brute_tau_sub(alpha: float, gap: float, T: int, rho: float, kl: float) -> int:
    for tau in range(1, T + 1):
        third = math.log(T) / (kl * alpha**2) * max(T - tau - 1, 0) ** (2 * rho + 2)
        if tau > min(T / 2, math.log(T) / (kl * gap**2), third):
            return tau
    return T


def brute_tau_sub_proof(alpha: float, gap: float, T: int, rho: float, kl: float) -> int:
    for tau in range(1, T // 2 + 1):
        step = alpha * ((T - tau - 1) ** -rho - (T - tau) ** -rho) if T - tau > 1 else math.inf
        bars = [math.log(kl * d**2 * tau / 4) / (8 * kl * d**2) if math.isfinite(d) else 0 for d in (gap, step)]
        if tau >= min(bars):
            return tau
    return max(T // 2, 1)


@pytest.mark.parametrize("rho", [0.2, 0.5, 1.0])
@pytest.mark.parametrize("T", [3, 10, 117, 1000])
def test_theorem_1_by_scanning_tau(rho: float, T: int) -> None:
    for alpha, gap, kl in itertools.product((0.01, 0.5, 10.0), (0.001, 0.1, 5.0), (0.5, 50.0, 5000.0)):
        options = dict(horizon=T, rho=rho, kl=kl)
        tau = brute_tau_sub(alpha, gap, T, rho, kl)
        assert rs.theory.suboptimal_pulls(alpha, gap, **options) == tau
        lost = alpha * (max(T - tau, 1) ** -rho - T**-rho)
        assert rs.theory.lower_bound(alpha, gap, **options) == pytest.approx(lost)
        exact = brute_tau_sub_proof(alpha, gap, T, rho, kl)
        assert rs.theory.suboptimal_pulls(alpha, gap, exact=True, **options) == exact
        if rho == 0.5:
            assert rs.theory.corollary1_bound(alpha, gap, horizon=T, kl=kl) == pytest.approx(lost)


def test_the_proofs_form_claims_a_single_pull() -> None:
    """``log(z/4)/(8 z)`` is at most 1/(32 e) < 1, so tau = 1 satisfies it whatever C, gap and alpha are (docs/paper_map.md)."""
    for alpha, gap, kl, T in itertools.product((0.01, 1.0), (1e-4, 1.0), (0.5, 1e6), (10, 10**9)):
        assert rs.theory.suboptimal_pulls(alpha, gap, horizon=T, kl=kl, exact=True) == 1
        assert rs.theory.corollary1_bound(alpha, gap, horizon=T, kl=kl, exact=True) <= alpha * (
            (T - 1) ** -0.5 - T**-0.5
        ) * (1 + 1e-9)


PAIR = dict(alpha=0.5, gap=0.02, horizon=10_000)


def worst_mean_regret(policy: rs.Policy, runs: int, horizon: int = 10_000) -> float:
    """Theorem 1's left side: the larger of the mean regrets on the two instances."""
    instances = ([0.2, 0.22], [0.22, 0.2])
    return max(
        rs.simulate(
            policy, rs.PowerLawArms([0.5, 0.5], beta, noise=rs.Gaussian(0.1)), horizon=horizon, replicates=runs, seed=3
        ).regret.mean()
        for beta in instances
    )


@pytest.mark.parametrize(
    "policy",
    [
        rs.RestSure.as_published(),
        rs.ExploreThenCommit.as_published(),
        rs.RestSure(bound=rs.bounds.ExactWeights(0.1)),
        rs.RestSure(bound=rs.bounds.Scaled(rs.bounds.ExactWeights(0.1), 0.05)),
        rs.ExploreThenCommit(),
        rs.RestSure(),
    ],
)
def test_no_policy_below_the_proofs_form(policy: rs.Policy) -> None:
    """Regret is never negative here, and every policy gives the other arm its two pulls at least: no chance involved."""
    bound = rs.theory.lower_bound(0.5, 0.02, horizon=10_000, kl=50, exact=True)
    assert bound == pytest.approx(2.5e-7, rel=0.01)
    assert worst_mean_regret(policy, runs=50) >= bound


def test_a_good_policy_comes_below_the_printed_statement() -> None:
    """Printed: 1.2e-4. Thompson sampling at the reach: .9e-4, with a standard error of .07e-4 over 3,000 runs.

    The printed statement lies 4.5 standard errors above what is measured; so the statement is one of order only.
    """
    printed = rs.theory.lower_bound(0.5, 0.02, horizon=10_000, kl=50)
    proof = rs.theory.lower_bound(0.5, 0.02, horizon=10_000, kl=50, exact=True)
    assert float(f"{printed:.2g}") == 1.2e-4
    measured = worst_mean_regret(Thompson(sigma=0.1, rho=0.5, seed=0), runs=3_000)
    assert proof < measured < 1.0e-4 < printed


@pytest.mark.parametrize("horizon", [100, 1_000, 10_000])
@pytest.mark.parametrize("gap", [0.02, 0.3])
def test_theorem_3_holds_in_simulation(horizon: int, gap: float) -> None:
    """All of 200 runs stay below the bound, the 2 CB term included; a run may exceed it with probability 1/T only."""
    arms = rs.PowerLawArms([0.5, 0.5], [0.2, 0.2 + gap], noise=rs.Bernoulli())
    out = rs.simulate(rs.ExploreThenCommit.as_published(), arms, horizon=horizon, replicates=200, seed=2)
    terms = rs.theory.explore_then_commit_terms(0.5, gap, horizon=horizon)
    assert (out.regret <= terms.total).all()
    assert rs.theory.explore_then_commit_bound(0.5, gap, horizon=horizon) == terms.total
    right = ~out.error
    assert (out.regret[right] <= terms.training_lost + 1e-12).all()


@pytest.mark.parametrize("n_arms", [2, 3, 8])
def test_theorem_4_holds_in_simulation(n_arms: int) -> None:
    rng = np.random.default_rng(n_arms)
    alpha, beta = rng.random(n_arms), rng.uniform(0, 0.5, n_arms)
    for horizon in (200, 5_000):
        out = rs.simulate(
            rs.RestSure.as_published(),
            rs.PowerLawArms(alpha, beta, noise=rs.Bernoulli()),
            horizon=horizon,
            replicates=100,
            seed=5,
        )
        assert (out.regret <= rs.theory.rest_sure_bound(alpha, beta, horizon=horizon)).all()


def brute_recursion(alpha: np.ndarray, beta: np.ndarray, T: int, rho: float, constant: float) -> tuple[int, int, bool]:
    """Theorem 4's recursion by stepping n and scanning every m."""
    left, gone, n, K = list(range(len(alpha))), 0, 1, len(alpha)
    curve = alpha[:, None] * np.arange(1, T + 1) ** -rho + beta[:, None]
    while len(left) > 1:
        others = len(left) - 1
        mu = curve[left]
        width = math.sqrt(constant * math.log(n * K**2 * T**2) / n)
        reach = T - gone - others * n
        losses = np.sort(mu[:, reach - 1])
        committed = losses[1] - losses[0] > width
        stopped = reach - others < 1 or mu[:, reach - others - 1].min() - losses[0] > width
        margins = (mu[:, n - 1 : reach] - mu[:, n - 1 : reach].min(axis=0)).min(axis=1)
        if committed or stopped:
            return gone + others * n, n, bool(committed)
        if (margins > width).any():
            gone += int((margins > width).sum()) * n
            left = [i for i, margin in zip(left, margins, strict=True) if margin <= width]
        elif n >= (T - gone) // (others + 1):
            return gone + others * n, n, False
        else:
            n += 1
    return gone, n, True


def test_theorem_4_recursion_by_brute_force() -> None:
    """Bisection over pieces finds what stepping one by one finds; with small constants every rule decides somewhere."""
    rng, ends = np.random.default_rng(44), {True: 0, False: 0}
    for _ in range(300):
        K, T, rho = int(rng.integers(2, 7)), int(rng.integers(20, 400)), float(rng.uniform(0.1, 1))
        alpha = rng.random(K)
        beta = rng.choice([0.0, 1.0]) * (0.5 - 0.45 * alpha) + rng.uniform(0, 0.3, K)
        constant = float(10 ** rng.uniform(-7, -1))
        found = recursion(alpha, beta, horizon=T, rho=rho, constant=constant)
        assert found == brute_recursion(alpha, beta, T, rho, constant), (alpha, beta, T, rho, constant)
        ends[found[2]] += 1
    assert min(ends.values()) > 30


def test_theorem_4_predicts_the_exploration() -> None:
    """With all constants scaled down alike, REST-SURE explores no longer than the recursion says, and its regret stays below.

    Noise of .002 is far below the scaled radius, so the event of Theorem 2 holds; random instances, fixed seed. The
    proof drops the term ``log/n`` of the radius, which matters for the first few hundred pulls; the constant keeps clear of it.
    """
    rng, factor, T = np.random.default_rng(6), 0.002, 10_000
    policy = rs.RestSure(0.5, estimator=rs.TwoWindow(), bound=rs.bounds.Scaled(rs.bounds.Theorem2(1.0), factor))
    surely = 0
    for _ in range(12):
        K = int(rng.integers(2, 5))
        alpha, beta = rng.random(K), rng.uniform(0, 0.5, K)
        arms = rs.PowerLawArms(alpha, beta, noise=rs.Gaussian(0.002))
        out = rs.simulate(policy, arms, horizon=T, replicates=5, seed=0)
        constant = rs.theory.separation_constant(0.5, 1.0) * factor**2
        explored, _, sure = recursion(alpha, beta, horizon=T, rho=0.5, constant=constant)
        assert (T - out.pulls <= explored + K).all()
        if sure:
            surely += 1
            best = lambda m, a=alpha, b=beta: (a * m**-0.5 + b).min()  # noqa: E731
            assert (out.regret <= best(T - explored - K) - best(T) + 1e-12).all()
    assert surely >= 4


def test_theorem_4_on_two_arms_is_close_to_corollary_2() -> None:
    for gap, horizon in ((0.5, 10**9), (0.1, 10**10), (0.02, 10**6)):
        four = rs.theory.rest_sure_terms([0.5, 0.5], [0.2, 0.2 + gap], horizon=horizon)
        two = rs.theory.corollary2_terms(0.5, gap, horizon=horizon)
        assert four.explored == pytest.approx(two.explored, rel=0.05)
        assert four.confusion == pytest.approx(two.confusion, rel=0.05)
        three = rs.theory.explore_then_commit_terms(0.5, gap, horizon=horizon)
        assert three.explored == pytest.approx(two.explored, rel=0.05)


def test_bounds_shrink_with_the_gap_and_the_horizon() -> None:
    wide = rs.theory.rest_sure_bound([0.5, 0.5], [0.1, 0.9], horizon=10**9)
    narrow = rs.theory.rest_sure_bound([0.5, 0.5], [0.1, 0.3], horizon=10**9)
    longer = rs.theory.rest_sure_bound([0.5, 0.5], [0.1, 0.3], horizon=10**10)
    assert wide < narrow
    assert longer < narrow


def test_many_arms_are_no_trouble() -> None:
    rng = np.random.default_rng(0)
    terms = rs.theory.rest_sure_terms(rng.random(200), rng.random(200), horizon=10**12)
    assert 0 < terms.explored < 10**12

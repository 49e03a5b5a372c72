"""The closed forms of CurveBank against Gaussian vectors written out."""

import numpy as np
import pytest

import restsure as rs
from restsure.estimators.curve_bank import RHO, SHIFT, CurveBankStates


def plain(losses: np.ndarray, horizon: float, scale: float, noise: float, m: float) -> tuple[float, float]:
    """Mean and spread at ``m`` pulls from dense covariances: of all losses, and of the losses with the prediction."""
    n, means, variances, evidence = len(losses), [], [], []
    for rho, shift in zip(RHO, SHIFT, strict=True):
        s0 = shift * horizon
        g = ((np.arange(1, n + 1) + s0) / (1 + s0)) ** -rho
        at = ((m + s0) / (1 + s0)) ** -rho
        x, new = np.column_stack([g, np.ones(n)]), np.array([at, 1.0])
        prior = np.array([0.3, 0.5]) * scale
        cover = scale**2 * x @ x.T + noise * np.eye(n)
        rest = losses - x @ prior
        means.append(new @ prior + scale**2 * new @ x.T @ np.linalg.solve(cover, rest))
        variances.append(scale**2 * new @ new - scale**4 * new @ x.T @ np.linalg.solve(cover, x @ new))
        evidence.append(-0.5 * (np.linalg.slogdet(cover)[1] + rest @ np.linalg.solve(cover, rest)))
    weights = np.exp(np.array(evidence) - max(evidence))
    weights /= weights.sum()
    mean = weights @ means
    return float(mean), float(np.sqrt(weights @ (np.array(variances) + (np.array(means) - mean) ** 2)))


@pytest.mark.parametrize("seed", range(4))
def test_same_as_dense_gaussians(seed: int) -> None:
    rng = np.random.default_rng(seed)
    states = CurveBankStates(2, np.array([200.0, 200.0, 80.0]))
    table = rng.uniform(0.2, 0.6, (6, 1)) * np.arange(1, 41) ** -0.5 + 0.2 + rng.normal(0, 0.05, (6, 40))
    for start, stop in ((0, 3), (3, 4), (4, 40)):
        states.update(slice(None), table[:, start:stop])
        states.refresh(np.array([0, 1]))
        for cell in range(6):
            scale, noise = states.scale[cell], states.noise[cell]
            for m in (stop, 80.0):
                mean, sd = states.predict(np.array([cell]), np.array([float(m)]))
                expected = plain(table[cell, :stop], [200.0, 200.0, 80.0][cell % 3], scale, noise, m)
                assert (mean[0], sd[0]) == pytest.approx(expected, rel=1e-6)


def test_the_bound_is_one_at_every_reach() -> None:
    rng = np.random.default_rng(0)
    states = CurveBankStates(1, np.full(30, 500.0))
    states.update(slice(None), rng.uniform(0.1, 1, (30, 1)) * np.arange(1, 9) ** -rng.uniform(-0.5, 2, (30, 1)))
    states.refresh(np.array([0]))
    low, high = states.bound(slice(None), np.full(30, 8.0), np.full(30, 500.0))
    for m in np.linspace(8, 500, 40):
        mean, sd = states.predict(slice(None), np.full(30, m))
        assert (mean >= low - 1e-12).all()
        assert (sd <= high + 1e-12).all()


def test_plays_well_in_the_model() -> None:
    """Half the regret of halving, or less, on random power laws."""
    rng = np.random.default_rng(5)
    arms = rs.PowerLawArms(rng.random((100, 8)), rng.uniform(0, 0.5, (100, 8)), noise=rs.Gaussian(0.1))
    ours = rs.simulate(rs.HorizonLCB(rs.CurveBank()), arms, 1_000, 100, seed=5).regret.mean()
    assert ours < 0.5 * rs.simulate(rs.SuccessiveHalving(), arms, 1_000, 100, seed=5).regret.mean()

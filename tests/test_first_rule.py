"""The rule as it was first written (benchmarks/first_rule.py), against filters in matrices."""

import math

import numpy as np
import pytest

import restsure as rs
from benchmarks.first_rule import FILTERS, FirstArm, play
from restsure.simulation.tape import tape_for


@pytest.mark.parametrize("seed", range(3))
def test_filters_are_kalman_filters(seed: int) -> None:
    """State (level, drop), steps of log-time, and a prediction at any pull count with all losses in between unseen."""
    rng, horizon, scale, noise = np.random.default_rng(seed), 200, 0.4, 0.01
    losses = 0.5 / np.arange(1, 31) ** 0.5 + 0.2 + rng.normal(0, 0.1, 30)
    arm = FirstArm(horizon)
    for block in (losses[:2], losses[2:7], losses[7:]):
        arm.tell(block.tolist())
        arm.run(scale, noise)
    weights, means, variances = [], [], []
    for offset, prior, slope_sd in FILTERS:
        s0, state, spread = (
            offset * horizon,
            np.array([scale, 0.1 * scale]),
            np.diag([scale**2, (slope_sd * scale) ** 2]),
        )
        likelihood = 0.0

        def step(before: float, after: float, state, spread, s0=s0):
            du = math.log((after + s0) / (before + s0))
            q = min(max(state[0], 0.02 * scale), 2 * scale)
            f = math.exp(-0.5 * du)
            move = np.array([[1, -2 * (1 - f)], [0, f]])
            return move @ state, move @ spread @ move.T + np.diag([(0.05 * q) ** 2 * du, (0.1 * q) ** 2 * du])

        for n, loss in enumerate(losses):
            if n:
                state, spread = step(n, n + 1, state, spread)
            variance = spread[0, 0] + noise
            likelihood -= 0.5 * (math.log(variance) + (loss - state[0]) ** 2 / variance)
            gain = spread[:, 0] / variance
            state, spread = state + gain * (loss - state[0]), spread - np.outer(gain, spread[0])
        weights.append(prior * math.exp(likelihood))
        assert state[1] > 0  # or else the mean would not be the one below
        level, f = state[0], math.exp(-0.5 * math.log((180 + s0) / (30 + s0)))
        means.append(level - 2 * (1 - f) * state[1])
        # many small steps, each with the process noise of where it begins
        for k in range(3_000):
            (a, b), size = (30 + s0) * ((180 + s0) / (30 + s0)) ** (np.arange(k, k + 2) / 3_000) - s0, state[0]
            state[0] = level
            state, spread = step(a, b, state, spread)
            state[0] = size
        variances.append(spread[0, 0])
    share = np.array(weights) / sum(weights)
    mean = share @ means
    expected = mean, share @ (np.array(variances) + (np.array(means) - mean) ** 2)
    assert arm.predict(180) == pytest.approx(expected, rel=2e-3)
    assert arm.predict(180)[0] == pytest.approx(mean, rel=1e-9)


def test_a_game_of_it() -> None:
    arms = rs.PowerLawArms([0.5, 0.3, 0.4], [0.1, 0.3, 0.35], noise=rs.Gaussian(0.05))
    returned, pulls = play(tape_for(arms, np.array([0]), 0, 300), 0, 3, 300)
    assert (returned, sum(pulls)) == (0, 300)
    assert pulls[0] > 150
    assert (returned, pulls) == play(tape_for(arms, np.array([0]), 0, 300), 0, 3, 300)

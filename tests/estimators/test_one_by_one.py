"""What an arm is told alone, as in a live game, comes to the same as what many are told at once."""

import numpy as np
import pytest

from restsure.estimators.log_trend import LogTrendStates
from restsure.estimators.roughness import HANDFUL, Roughness

RUN = np.array([0])


def series(rng: np.random.Generator, n_arms: int, pulls: int) -> np.ndarray:
    """Falling curves; some start far above the others, and some run away."""
    s = np.arange(1, pulls + 1)
    losses = rng.uniform(0.1, 0.8, (n_arms, 1)) * s**-0.5 + 0.2 + rng.normal(0, 0.03, (n_arms, pulls))
    losses[0, :3] *= 1e4
    losses[1, pulls // 2 :] *= 50
    return losses


@pytest.mark.parametrize("seed", range(6))
def test_scale_and_noise(seed: int) -> None:
    """Blocks of all lengths, told to one arm or to all, with stock taken at the same times."""
    rng = np.random.default_rng(seed)
    losses, told = series(rng, 5, 300), 0
    alone, together = Roughness(1, 5), Roughness(1, 5)
    while told < 280:
        block = int(rng.choice([1, 2, HANDFUL, HANDFUL + 1, 17]))
        part = losses[:, told : told + block]
        together.update(np.arange(5), part)
        for arm in rng.permutation(5).tolist():
            cut = int(rng.integers(block + 1))
            for piece in (part[arm : arm + 1, :cut], part[arm : arm + 1, cut:]):
                if piece.size:
                    alone.update(slice(arm, arm + 1) if rng.random() < 0.5 else np.array([arm]), piece)
        told += block
        if rng.random() < 0.5:
            scale = together.scale(RUN)
            np.testing.assert_allclose(alone.scale(RUN), scale, rtol=1e-12)
            np.testing.assert_allclose(alone.noise(RUN, scale), together.noise(RUN, scale), rtol=1e-9)
            np.testing.assert_array_equal(alone.highest, together.highest)


@pytest.mark.parametrize("seed", range(4))
def test_predictions(seed: int) -> None:
    """A run by itself, whose arms are fed one at a time, and the same beside another one."""
    rng = np.random.default_rng(seed)
    losses, lengths = np.stack([series(rng, 4, 400), series(rng, 4, 400)]), np.full(4, 1_000.0)
    alone, together, told = LogTrendStates(1, lengths), LogTrendStates(2, lengths), np.zeros((2, 4), dtype=int)
    for k in range(120):
        block, arms = int(rng.integers(1, 7)), rng.permutation(4)[:2] if k > 3 else np.array([k, 3 - k])
        parts = [losses[run, arm, told[run, arm] : told[run, arm] + block] for run, arm in enumerate(arms)]
        alone.update(slice(arms[0], arms[0] + 1), parts[0][None])
        together.update(np.array([arms[0], 4 + arms[1]]), np.stack(parts))
        told[[0, 1], arms] += block
        assert set(alone.refresh(RUN)) == {cell for cell in together.refresh(np.arange(2)) if cell < 4}
        for pulls in (told[0] + 1.0, np.full(4, 1_000.0)):
            np.testing.assert_allclose(
                alone.predict(slice(None), pulls), together.predict(np.arange(4), pulls), rtol=1e-9
            )
    assert told[0].max() > 45  # losses stood in groups


def test_steps_are_the_same_looked_up_or_not() -> None:
    """Arms of one length look them up; those of others, even of nearly the same, do not."""
    losses = series(np.random.default_rng(3), 3, 200)[[0, 2]]
    found = []
    for lengths in (np.array([1_000.0, 1_000.0]), np.array([1_000.0, 1_000.0 + 1e-6])):
        states = LogTrendStates(1, lengths)
        for arm, count in ((0, 2), (1, 2), (0, 61), (1, 70), (0, 3)):
            told = int(states.losses.pulls[arm])
            states.update(np.array([arm]), losses[arm : arm + 1, told : told + count])
            states.refresh(RUN)
        states.update(slice(None), losses[:, 100:140])
        states.refresh(RUN)
        assert (states.time.s0 is None) == (lengths[0] != lengths[1])
        found.append(states.predict(slice(None), np.full(2, 900.0)))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-7)

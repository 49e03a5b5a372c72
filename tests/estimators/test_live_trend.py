"""The arms of a live game, in plain numbers, come to the same as those of many games in arrays."""

import numpy as np
import pytest

from restsure.estimators.arm_losses import ArmLosses, noises_of, scale_of
from restsure.estimators.live_trend import LiveTrend
from restsure.estimators.log_trend import LogTrendStates
from restsure.estimators.misfit import windows
from restsure.estimators.roughness import Roughness
from restsure.estimators.thinned import Groups, ThinnedLosses

RUN = np.array([0])


def series(rng: np.random.Generator, n_arms: int, pulls: int) -> np.ndarray:
    """Falling curves; some start far above the others, and some run away."""
    s = np.arange(1, pulls + 1)
    losses = rng.uniform(0.1, 0.8, (n_arms, 1)) * s**-0.5 + 0.2 + rng.normal(0, 0.03, (n_arms, pulls))
    losses[0, :3] *= 1e4
    losses[1, pulls // 2 :] *= 50
    return losses


@pytest.mark.parametrize("seed", range(6))
def test_scale_noise_and_windows(seed: int) -> None:
    """Blocks of all lengths, with stock taken at the same times; some arms have no loss yet."""
    rng = np.random.default_rng(seed)
    losses, height = series(rng, 5, 300), np.inf
    groups = Groups()
    plain = [ArmLosses(groups) for _ in range(5)]
    rough, thinned = Roughness(1, 5), ThinnedLosses(5)
    assert scale_of(plain) == (1e-9, np.inf)
    looks = 0
    while max(arm.pulls for arm in plain) < 280:
        arm, block = int(rng.integers(5)), int(rng.choice([1, 2, 8, 17]))
        part = losses[arm, plain[arm].pulls : plain[arm].pulls + block]
        rough.update(np.array([arm]), part[None])
        thinned.update(np.array([arm]), part[None])
        plain[arm].add(part.tolist(), height)
        if rng.random() < 0.5:
            looks += 1
            [scale] = rough.scale(RUN)
            assert scale_of(plain) == pytest.approx((scale, rough.height[0]), rel=1e-12)
            height = float(rough.height[0])
            np.testing.assert_allclose(noises_of(plain, scale), rough.noise(RUN, np.array([scale]))[0], rtol=1e-9)
            np.testing.assert_allclose([each.mean for each in plain], rough.mean(slice(None)), rtol=1e-12)
            assert [each.highest for each in plain] == rough.highest.tolist()
            assert [each.complete for each in plain] == thinned.groups.complete(thinned.pulls).tolist()
            counts, totals = windows(thinned, np.array([arm]))
            np.testing.assert_allclose(plain[arm].windows(), (counts[:, 0], totals[:, 0]), rtol=1e-9)
    assert looks > 20


@pytest.mark.parametrize("lengths", [[1_000.0] * 4, [1_000.0, 300.0, 1_000.0, 450.5]])
@pytest.mark.parametrize("seed", range(4))
def test_predictions(seed: int, lengths: list[float]) -> None:
    """A live run, whose arms are fed one or two at a time, and the same beside another one; arms may have ends."""
    rng, many = np.random.default_rng(seed), np.array(lengths)
    losses = np.stack([series(rng, 4, 400), series(rng, 4, 400)])
    live, together, told = LiveTrend(many), LogTrendStates(2, many), np.zeros((2, 4), dtype=int)
    for k in range(120):
        block, arms = int(rng.integers(1, 7)), rng.permutation(4)[:2] if k > 3 else np.array([k, 3 - k])
        both = k % 5 == 4  # arms of the live run
        runs = [0, 0] if both else [0, 1]
        parts = np.stack([losses[r, a, told[r, a] : told[r, a] + block] for r, a in zip(runs, arms, strict=True)])
        live.update(arms if both else slice(arms[0], arms[0] + 1), parts if both else parts[:1])
        together.update(np.array(runs) * 4 + arms, parts)
        told[runs, arms] += block
        assert live.refresh(RUN).tolist() == [cell for cell in together.refresh(np.arange(2)) if cell < 4]
        for pulls in (told[0] + 1.0, np.full(4, 1_000.0)):
            np.testing.assert_allclose(
                live.predict(slice(None), pulls), together.predict(np.arange(4), pulls), rtol=1e-9
            )
            np.testing.assert_allclose(live.hope(np.arange(4), pulls), together.hope(np.arange(4), pulls), rtol=1e-9)
        assert live.misfits().tolist() == together.misfits()[:4].tolist()
        if told[0].all():
            noises = [[states.variance_of_a_loss(cell) for cell in range(4)] for states in (live, together)]
            assert noises[0] == pytest.approx(noises[1], rel=1e-9)
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

"""The arms of a live game, in plain numbers, come to the same as those of many games in arrays."""

import copy
import math
import pickle
from unittest.mock import patch

import numpy as np
import pytest

import restsure as rs
from restsure.estimators import live_filters, live_trend
from restsure.estimators.filters import STALE
from restsure.estimators.live_trend import LiveTrend
from restsure.estimators.log_trend import LogTrendStates
from restsure.estimators.misfit import FOLLOWS, bends, windows
from restsure.estimators.roughness import Roughness
from restsure.estimators.thinned import ThinnedLosses

RUN = np.array([0])


def series(rng: np.random.Generator, n_arms: int, pulls: int) -> np.ndarray:
    """Falling curves; some start far above the others, and some run away."""
    s = np.arange(1, pulls + 1)
    losses = rng.uniform(0.1, 0.8, (n_arms, 1)) * s**-0.5 + 0.2 + rng.normal(0, 0.03, (n_arms, pulls))
    losses[0, :3] *= 1e4
    losses[1, pulls // 2 :] *= 50
    return losses


def plain_filters(lengths: np.ndarray) -> live_filters.LiveFilters:
    """As they are written, whatever was compiled."""
    with patch.object(live_trend, "LiveFilters", live_filters.LiveFilters):
        return LiveTrend(lengths).live


@pytest.mark.parametrize("seed", range(6))
def test_scale_noise_and_windows(seed: int) -> None:
    """Blocks of all lengths, with stock taken at the same times; some arms have no loss yet."""
    rng = np.random.default_rng(seed)
    losses, plain = series(rng, 5, 300), plain_filters(np.full(5, 1_000.0))
    rough, thinned = Roughness(1, 5), ThinnedLosses(5)
    looks = 0
    while max(arm.pulls for arm in plain.arms) < 280:
        arm, block = int(rng.integers(5)), int(rng.choice([1, 2, 8, 17]))
        part = losses[arm, plain.arms[arm].pulls :][:block]
        rough.update(np.array([arm]), part[None])
        thinned.update(np.array([arm]), part[None])
        plain.add(arm, part.tolist())
        if rng.random() < 0.5:
            looks += 1
            fresh = [k for k, each in enumerate(plain.arms) if each.seen < each.pulls]
            assert sorted(plain.fresh) == fresh
            [scale] = rough.scale(RUN)
            plain.refresh(True)
            assert plain.height == pytest.approx(rough.height[0], rel=1e-12)
            noise = rough.noise(RUN, np.array([scale]))[0]
            for each, true in zip(plain.arms, noise, strict=True):
                if each.pulls:  # within a quarter: filters that were started with other numbers begin again
                    assert max(each.scale / scale, scale / each.scale, each.noise / true, true / each.noise) <= STALE
            np.testing.assert_allclose([each.mean() for each in plain.arms], rough.mean(slice(None)), rtol=1e-12)
            assert [each.highest for each in plain.arms] == rough.highest.tolist()
            counts, totals = windows(thinned, np.array([arm]))
            found = plain.arms[arm].windows(plain.edges)
            np.testing.assert_allclose(found, (counts[:, 0], totals[:, 0]), rtol=1e-9)
    assert looks > 20


def test_without_losses() -> None:
    plain = plain_filters(np.full(3, 100.0))
    assert plain.refresh(True) == []
    assert math.isinf(plain.height)
    assert all(math.isinf(arm.mean()) for arm in plain.arms)


@pytest.mark.parametrize("seed", range(30))
def test_what_is_not_suspected_does_not_bend(seed: int) -> None:
    """Arrays are asked only where plain numbers say that a curve may rise or speed up."""
    rng = np.random.default_rng(seed)
    plain, thinned = plain_filters(np.full(4, 1_000.0)), ThinnedLosses(4)
    for arm in range(4):
        size, bend = int(rng.integers(12, 200)), rng.choice([-1.0, 0.0, 0.0, 1.0])
        s = np.arange(size) / size
        losses = 0.5 + bend * 0.4 * np.maximum(s - 0.7, 0) + 10 ** rng.uniform(-4, -1) * rng.normal(size=size)
        plain.add(arm, losses.tolist())
        thinned.update(np.array([arm]), losses[None])
        plain.refresh(True)
        noise = plain.arms[arm].noise
        found = bends(*windows(thinned, np.array([arm])), np.array([noise]))
        assert plain.arms[arm].may_bend(plain.edges) or found.kind[0] == FOLLOWS


def test_all_that_changes_is_kept() -> None:
    """A copy, and what comes back from pickle, goes on as the game itself."""
    arm = plain_filters(np.full(1, 50.0)).arms[0]
    assert set(vars(arm)) == {*live_filters.OF_ARM, "track", "filters", "scanned"}
    assert set(vars(arm.filters[0])) == {*live_filters.OF_FILTER, "kind", "rate", "offset"}
    losses = series(np.random.default_rng(5), 4, 240)
    game = rs.HorizonLCB().start(n_arms=4, horizon=240)
    while game.spent < 120:
        pull = game.ask()
        game.tell(pull.arm, losses[pull.arm, game.pulls[pull.arm] :][: pull.times])
    others = [copy.deepcopy(game), pickle.loads(pickle.dumps(game))]
    while (pull := game.ask()) is not None:
        part = losses[pull.arm, game.pulls[pull.arm] :][: pull.times]
        for other in others:
            assert other.ask() == pull
            other.tell(pull.arm, part)
        game.tell(pull.arm, part)
    assert [other.recommend() for other in others] == [game.recommend()] * 2


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
            for width in (0.1, 1.0, 3.0):
                some = np.flatnonzero(told[0])
                straight = together.straight(some, pulls[some], np.full(len(some), width))
                plain = [live.live.arms[arm].straight(pulls[arm], width) for arm in some]
                np.testing.assert_allclose(plain, straight, rtol=1e-9)
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

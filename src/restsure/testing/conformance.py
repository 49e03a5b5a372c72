"""The laws of a policy, as functions of the policy."""

from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields

import numpy as np
from numpy.typing import NDArray

from restsure.arms import Gaussian, PowerLawArms, TableArms
from restsure.policies import Game, Policy
from restsure.simulation import simulate

SIZES = ((1, 1), (1, 30), (2, 2), (3, 4), (3, 60), (5, 100), (6, 257))
"""Numbers of arms and horizons that are played, from the shortest possible on."""


def losses_for(n_arms: int, horizon: int, seed: int = 0) -> NDArray[np.float64]:
    """Noisy power-law curves: shape (arms, pulls)."""
    rng = np.random.default_rng([n_arms, horizon, seed])
    alpha, beta = rng.uniform(0.1, 0.6, (n_arms, 1)), rng.uniform(0.05, 0.4, (n_arms, 1))
    noise = rng.normal(0, 0.02, (n_arms, horizon))
    return np.asarray(alpha * np.arange(1, horizon + 1) ** -0.5 + beta + noise)


def play(
    policy: Policy,
    losses: NDArray[np.float64],
    *,
    max_times: int | None = None,
    fail: tuple[tuple[int, ...], int] = ((), 0),
) -> Game:
    """A whole live game; ``fail=(arms, spent)`` fails these arms once so many pulls have been told."""
    n_arms, horizon = losses.shape
    game = policy.start(n_arms, horizon, seed=0)
    told = np.zeros(n_arms, dtype=np.int64)
    while (pull := game.ask(max_times=max_times)) is not None:
        assert pull.arm not in game.failures, f"{policy}: asks arm {pull.arm}, which has failed"
        assert 1 <= pull.times <= horizon - told.sum(), (
            f"{policy}: asks {pull.times} pulls, {horizon - told.sum()} are left"
        )
        if not game.failures and told.sum() >= fail[1]:
            for arm in fail[0]:
                game.fail(arm, "a test")
            if pull.arm in game.failures:
                continue
        start = told[pull.arm]
        game.tell(pull.arm, losses[pull.arm, start : start + pull.times].tolist())
        told[pull.arm] += pull.times
        answer = game.recommend()
        assert game.pulls[answer.arm] > 0, f"{policy}: recommends arm {answer.arm}, which was never pulled"
        assert answer.arm not in game.failures, f"{policy}: recommends arm {answer.arm}, which has failed"
    return game


def spends_exactly_the_budget(policy: Policy) -> None:
    """All T pulls are made, and every arm is tried."""
    for n_arms, horizon in SIZES:
        game = play(policy, losses_for(n_arms, horizon))
        assert game.spent == horizon, f"{policy}: {game.spent} pulls of {horizon} with {n_arms} arms"
        assert game.over
        assert min(game.pulls) >= 1, f"{policy}: an arm was never tried: {game.pulls}"
        assert game.recommend().pulls == game.pulls[game.recommend().arm]


def is_deterministic(policy: Policy) -> None:
    """The same seed and losses give the same game."""
    losses = losses_for(4, 120)
    one, two = play(policy, losses), play(policy, losses)
    assert one.pulls == two.pulls, f"{policy}: {one.pulls} and {two.pulls} on the same losses"
    assert one.log == two.log
    assert one.recommend() == two.recommend()


def does_not_mind_the_order_of_arms(policy: Policy) -> None:
    """Permuting the arms permutes the pulls and the answer (the horizon divides by the number of arms)."""
    for seed in range(5):
        losses = losses_for(4, 200, seed)
        order = np.random.default_rng(seed).permutation(4)
        plain, permuted = play(policy, losses), play(policy, losses[order])
        assert [plain.pulls[arm] for arm in order] == list(permuted.pulls), f"{policy}: the order of arms matters"
        assert order[permuted.recommend().arm] == plain.recommend().arm, f"{policy}: the order of arms matters"


def does_not_mind_blocks(policy: Policy) -> None:
    """Told one by one or in long blocks, the game is the same."""
    losses = losses_for(4, 150)
    whole, pieces = play(policy, losses), play(policy, losses, max_times=1)
    assert whole.pulls == pieces.pulls, f"{policy}: blocks change the game"
    assert whole.recommend().arm == pieces.recommend().arm


def survives_failures(policy: Policy) -> None:
    """Any arm may fail at any time: the others get the rest of the budget, and the failed arm is never returned."""
    losses = losses_for(4, 80)
    for arm in range(4):
        others = tuple(other for other in range(4) if other != arm)
        for spent in (0, 1, 3, 4, 11, 40, 76, 79):
            for arms in ((arm,), others):
                game = play(policy, losses, fail=(arms, spent))
                if game.failures:
                    answer = game.recommend().arm
                    assert answer not in arms, f"{policy}: returns arm {answer}, which failed after {spent} pulls"
                    assert game.spent == 80, f"{policy}: {game.spent} pulls of 80 after {arms} failed at {spent}"
    game = policy.start(3, 30)
    for arm in range(3):
        game.fail(arm, "a test")
    assert game.over, f"{policy}: goes on without arms"
    assert game.ask() is None


def is_a_frozen_description(policy: Policy) -> None:
    """Hashable, printable, unchangeable, and the same after a trip through JSON."""
    again = Policy.from_json(policy.to_json())
    assert again == policy, f"{policy}: not the same after JSON: {again}"
    assert hash(again) == hash(policy)
    assert type(policy).__name__ in repr(policy)
    for field in fields(policy)[:1]:  # type: ignore[arg-type]
        try:
            setattr(policy, field.name, None)
        except FrozenInstanceError:
            continue
        raise AssertionError(f"{policy}: {field.name} can be changed")


def plays_the_same_in_bulk(policy: Policy) -> None:
    """R simulated runs are R live games fed the same losses."""
    tables = np.stack([losses_for(4, 130, seed) for seed in range(8)])
    out = simulate(policy, TableArms(tables), horizon=130, replicates=8, seed=0)
    for run, losses in enumerate(tables):
        game = play(policy, losses)
        assert game.pulls == tuple(out.arm_pulls[run]), f"{policy}: run {run} differs from the live game"
        assert game.recommend().arm == out.arm[run], f"{policy}: run {run} differs from the live game"


def keeps_runs_apart(policy: Policy) -> None:
    """A run does not depend on how many others are played beside it."""
    arms = PowerLawArms([0.5, 0.2, 0.4], [0.1, 0.2, 0.3], noise=Gaussian(0.05))
    many = simulate(policy, arms, horizon=90, replicates=7, seed=1)
    few = simulate(policy, arms, horizon=90, replicates=3, seed=1)
    assert (many.arm_pulls[:3] == few.arm_pulls).all(), f"{policy}: runs depend on each other"
    assert (many.arm[:3] == few.arm).all()


CHECKS: tuple[Callable[[Policy], None], ...] = (
    spends_exactly_the_budget,
    is_deterministic,
    does_not_mind_the_order_of_arms,
    does_not_mind_blocks,
    survives_failures,
    is_a_frozen_description,
    plays_the_same_in_bulk,
    keeps_runs_apart,
)


def check_policy(policy: Policy) -> None:
    """Run every check on a policy.

    >>> from restsure import SuccessiveHalving
    >>> check_policy(SuccessiveHalving(eta=3))
    """
    for check in CHECKS:
        check(policy)

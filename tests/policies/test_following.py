"""A game that was played by another version of its rule is played again as it was."""

import numpy as np
import pytest

import restsure as rs


def table(n_arms: int, horizon: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.uniform(0.2, 0.6, (n_arms, 1)) + 0.4 / np.arange(1, horizon + 1) ** 0.5


@pytest.mark.parametrize("seed", range(5))
def test_any_pulls_can_be_followed(seed: int) -> None:
    """In any order, several out at a time, some instead of what the rule has handed out: the arms are as they were told."""
    rng, losses, game = np.random.default_rng(seed), table(4, 60), rs.HorizonLCB().start(4, 60)
    out, told = dict[int, int](), [0] * 4
    while game.spent + sum(out.values()) < 60:
        left = int(60 - game.spent - sum(out.values()))
        free = [arm for arm in range(4) if arm not in out]
        if free and rng.random() < 0.7:
            pull = game.ask(workers=1)[0] if not out and rng.random() < 0.5 else None
            arm, times = int(rng.choice(free)), int(rng.integers(1, min(left, 9) + 1))
            assert game.follow((arm, times), pull) == rs.Pull(arm, times)
            out[arm] = times
        elif out:
            arm = int(rng.choice(list(out)))
            times = out.pop(arm)
            game.tell(arm, losses[arm, told[arm] : told[arm] + times].tolist())
            told[arm] += times
        else:
            assert game.follow(None) is None
    for arm, times in out.items():
        game.tell(arm, losses[arm, told[arm] : told[arm] + times].tolist())
        told[arm] += times
    assert game.pulls == tuple(told)
    assert game.over
    worst = int(max(range(4), key=lambda arm: losses[arm, told[arm] - 1]))
    game.conclude(worst)
    assert game.recommend().arm == worst
    assert game.recommend().reason.startswith("returned, as was recorded")
    assert "is what was recorded" in game.explain()
    assert game.ask() is None


def test_a_game_goes_on_after_following() -> None:
    losses, game = table(3, 50), rs.HorizonLCB().start(3, 50)
    game.follow((2, 5))
    game.tell(2, losses[2, :5].tolist())
    told = [0, 0, 5]
    while (pull := game.ask()) is not None:
        game.tell(pull.arm, losses[pull.arm, told[pull.arm] : told[pull.arm] + pull.times].tolist())
        told[pull.arm] += pull.times
    assert sum(game.pulls) == 50


def test_what_cannot_be_followed() -> None:
    game = rs.HorizonLCB().start(3, 50)
    game.fail(1, "broken")
    game.follow((0, 2))
    for made, words in (
        ((0, 1), "arm=0: has pulls out or has failed"),
        ((1, 1), "arm=1: has pulls out or has failed"),
        ((3, 1), "arm=3: must be"),
        ((2, 0), "times=0: must be"),
    ):
        with pytest.raises(rs.RestSureError, match=words):
            game.follow(made)
    for arm in (1, 2):
        with pytest.raises(rs.OutOfTurn, match=f"arm={arm}: has failed or was never pulled"):
            game.conclude(arm)
    with pytest.raises(rs.OutOfTurn, match="RoundRobin goes its own way only"):
        rs.RoundRobin().start(3, 50).follow((0, 1))

"""A game explains itself: who is next, who is the rival, and what would turn the decision."""

import re

import numpy as np
import pytest

import restsure as rs
from tests.drive import Losses, play


def halfway(policy: rs.Policy, losses: Losses, spent: int) -> tuple[rs.Game, list[int]]:
    game, told = policy.start(len(losses.table), losses.table.shape[1]), [0] * len(losses.table)
    while game.spent < spent:
        pull = game.ask()
        assert pull is not None
        game.tell(pull.arm, losses.table[pull.arm, told[pull.arm] : told[pull.arm] + pull.times].tolist())
        told[pull.arm] += pull.times
    return game, told


@pytest.mark.parametrize("curve", [rs.LogTrend(), rs.PowerLaw(0.5, 0.02), rs.CurveBank()])
@pytest.mark.parametrize("spent", [40, 90, 200])
def test_what_it_says_is_what_it_does(curve, spent: int) -> None:
    """The arm named is asked for next; losses above the figure named bring another arm's turn, losses below do not."""
    losses = Losses(n_arms=4, horizon=300, seed=5)
    game, told = halfway(rs.HorizonLCB(curve), losses, spent)
    text = game.explain()
    assert text.startswith(f"After {sum(told)} of 300 pulls. ")
    arm = int(re.search(r"Arm (\d) is next", text)[1])
    assert "not certified" in text
    assert re.search(r"Its rival is arm \d", text)
    figure = re.search(r"come[s]? out above ([-\d.]+)", text)
    for offset in (1e-3, -1e-3) if figure else ():
        game, _ = halfway(rs.HorizonLCB(curve), losses, spent)
        pull = game.ask()
        assert pull is not None
        assert pull.arm == arm
        game.tell(arm, [float(figure[1]) + offset * 5] * pull.times)
        after = game.ask()
        assert after is not None
        assert (after.arm != arm) == (offset > 0)


def test_explaining_changes_nothing() -> None:
    losses = Losses(n_arms=5, horizon=250, seed=2)
    game, told = rs.HorizonLCB().start(5, 250), [0] * 5
    while (pull := game.ask()) is not None:
        game.explain()
        game.tell(pull.arm, losses.table[pull.arm, told[pull.arm] : told[pull.arm] + pull.times].tolist())
        told[pull.arm] += pull.times
        game.explain()
    assert game.pulls == play(rs.HorizonLCB().start(5, 250), losses).pulls


def test_start_end_and_failures() -> None:
    game = rs.HorizonLCB().start(3, 60)
    assert "Every arm is pulled 2 times before anything is compared; 3 arms have not been." in game.explain()
    play(game, Losses(n_arms=3, horizon=60, seed=0))
    text = game.explain()
    assert text.startswith("After 60 of 60 pulls. The budget is spent. Arm ")
    assert "is returned: its estimated loss" in text
    assert "the next is arm" in text
    gone = rs.HorizonLCB().start(2, 20)
    gone.fail(0, "diverged")
    gone.fail(1, "diverged too")
    assert "Every arm has failed" in gone.explain()
    assert "diverged too" in gone.explain()


@pytest.mark.parametrize("policy", [rs.RestSure(0.5), rs.RoundRobin(), rs.SuccessiveHalving(), rs.RisingUCBE()])
def test_every_policy_can(policy: rs.Policy) -> None:
    losses = Losses(n_arms=4, horizon=120, seed=1)
    game, _ = halfway(policy, losses, 30)
    assert re.search(r"The rule wants arms [\d, ]+ next\.", game.explain())
    assert "is returned" in play(policy.start(4, 120), losses).explain()


def test_one_arm_has_no_rival() -> None:
    game = rs.HorizonLCB().start(1, 30)
    game.tell(0, [0.5] * game.ask().times)
    assert "No other arm can still be pulled." in game.explain()


def test_numbers_are_in_the_users_unit() -> None:
    """With a floor of 10, losses around 10.5 are spoken of as such."""
    rng = np.random.default_rng(0)
    game = rs.HorizonLCB(floor=10.0).start(3, 90)
    while (pull := game.ask()) is not None and game.spent < 40:
        game.tell(pull.arm, rng.normal(10.5 + 0.1 * pull.arm, 0.01, pull.times).tolist())
    assert re.search(r"predicted to be 10\.", game.explain())

"""A game from the outside: asking, telling, failing, recommending, and its log."""

import numpy as np
import pytest

import restsure as rs
from tests.drive import Losses, play

EXACT = rs.RestSure(bound=rs.bounds.ExactWeights(0.02))


def test_ask_and_tell_until_the_budget_is_spent() -> None:
    losses = Losses(n_arms=4, horizon=500, seed=1)
    game = EXACT.start(n_arms=4, horizon=500, seed=0)
    play(game, losses)
    assert game.over
    assert game.ask() is None
    assert game.ask(workers=3) == []
    assert game.spent == 500
    answer = game.recommend()
    assert answer.pulls == game.pulls[answer.arm]
    assert answer.low < answer.loss < answer.high
    assert answer.loss == pytest.approx(losses.mean(answer.arm, answer.pulls), abs=0.02)


def test_log_names_rule_numbers_and_rival() -> None:
    game = EXACT.start(n_arms=4, horizon=2_000)
    play(game, Losses(n_arms=4, horizon=2_000, seed=3))
    dropped = [d for d in game.log if "line 11" in d.rule]
    chosen = [d for d in game.log if "line 4" in d.rule or "line 7" in d.rule or "budget" in d.rule]
    assert dropped
    assert len(chosen) == 1
    for decision in dropped:
        assert decision.rival not in (None, decision.arm)
        assert decision.numbers["behind"] > decision.numbers["needed"] > 0
        assert f"arm {decision.arm} against arm {decision.rival}" in str(decision)
    assert chosen[0].numbers["lead"] > chosen[0].numbers["needed"]
    assert chosen[0].arm == game.recommend().arm
    assert "Alg. 2 line 4" in game.recommend().reason


def test_uncertified_interval_says_so() -> None:
    game = rs.RestSure().start(n_arms=2, horizon=100)
    play(game, Losses(n_arms=2, horizon=100, seed=0))
    assert "not certified" in game.recommend().reason
    certified = EXACT.start(n_arms=2, horizon=100)
    play(certified, Losses(n_arms=2, horizon=100, seed=0))
    assert "not certified" not in certified.recommend().reason


def test_workers_get_distinct_arms_and_may_tell_in_any_order() -> None:
    losses = Losses(n_arms=5, horizon=700, seed=4)
    one = EXACT.start(n_arms=5, horizon=700)
    play(one, losses)
    for workers in (2, 5, 50):
        many = EXACT.start(n_arms=5, horizon=700)
        rng, told = np.random.default_rng(workers), [0] * 5
        while not many.over:
            pulls = many.ask(workers=workers)
            assert len({pull.arm for pull in pulls}) == len(pulls) <= workers
            for k in rng.permutation(len(pulls)):
                arm, times = pulls[k].arm, pulls[k].times
                many.tell(arm, losses.table[arm, told[arm] : told[arm] + times])
                told[arm] += times
        assert many.pulls == one.pulls
        assert many.recommend().arm == one.recommend().arm


def test_workers_wait_for_pulls_that_are_out() -> None:
    game = EXACT.start(n_arms=2, horizon=10)
    first = game.ask(workers=4)
    assert [pull.arm for pull in first] == [0, 1]
    assert game.ask(workers=4) == []
    assert not game.over
    with pytest.raises(rs.OutOfTurn, match=r"arms \[0, 1\] must be told first"):
        game.ask()


def test_recommendation_midway_is_by_what_was_seen() -> None:
    """The arm with the steeper curve would win in the end; midway the other has the lower loss and is recommended."""
    arms = rs.PowerLawArms([1.0, 0.0], [0.0, 0.3], noise=None)
    game = rs.RestSure.as_published().start(n_arms=2, horizon=1_000)
    for s in range(1, 5):
        for _ in range(2):
            pull = game.ask()
            game.tell(pull.arm, [float(arms.mean(0, pull.arm, s))])
    assert game.recommend().arm == 1
    assert "pulls made so far" in game.recommend().reason


def test_a_failed_arm_is_never_asked_again_and_never_wins() -> None:
    losses = Losses(n_arms=4, horizon=400, seed=6)
    best = int(losses.beta.argmin())
    for when in (0, 1, 7, 50, 399):
        game, told, asked_after = EXACT.start(n_arms=4, horizon=400), [0] * 4, []
        failed = False
        while (pull := game.ask()) is not None:
            if not failed and game.spent >= when:
                game.fail(best, "out of memory")
                failed = True
                if pull.arm == best:
                    continue
            if failed:
                asked_after.append(pull.arm)
            start = told[pull.arm]
            game.tell(pull.arm, losses.table[pull.arm, start : start + pull.times])
            told[pull.arm] += pull.times
        if failed:
            assert best not in asked_after
            assert game.recommend().arm != best
            assert game.failures == {best: "out of memory"}
            assert game.spent == 400
            assert any("out of memory" in d.rule for d in game.log)


def test_the_chosen_arm_fails_after_the_commitment() -> None:
    losses = Losses(n_arms=3, horizon=3_000, seed=2)
    game, told = EXACT.start(n_arms=3, horizon=3_000), [0] * 3
    while (pull := game.ask(max_times=100)) is not None:
        if pull.times == 100:  # only a commitment asks for that many
            game.fail(pull.arm, "diverged")
            committed = pull.arm
            break
        game.tell(pull.arm, losses.table[pull.arm, told[pull.arm] : told[pull.arm] + pull.times])
        told[pull.arm] += pull.times
    while (pull := game.ask(max_times=1_000)) is not None:
        assert pull.arm != committed
        game.tell(pull.arm, losses.table[pull.arm, told[pull.arm] : told[pull.arm] + pull.times])
        told[pull.arm] += pull.times
    assert game.spent == 3_000
    assert game.recommend().arm != committed
    assert "chosen arm failed" in game.recommend().reason


def test_an_eliminated_arm_comes_back_when_all_others_fail() -> None:
    """Arms 0 and 1 are alike and explored to the end, arm 2 is dropped early; then the first two fail."""
    table = np.array([[0.1], [0.1], [0.9]]) + np.random.default_rng(0).normal(0, 0.02, (3, 600))
    game, told = EXACT.start(3, 600), [0, 0, 0]
    while (pull := game.ask()) is not None:
        game.tell(pull.arm, table[pull.arm, told[pull.arm] : told[pull.arm] + pull.times])
        told[pull.arm] += pull.times
        if sum(told) == 200:
            assert [d.arm for d in game.log] == [2]
            game.fail(0, "lost")
            game.fail(1, "lost too")
    assert game.spent == 600
    assert game.recommend().arm == 2
    assert "every active arm failed" in game.recommend().reason


def test_all_arms_fail() -> None:
    game = rs.RestSure().start(n_arms=2, horizon=10)
    game.ask()
    game.fail(0, "no data")
    game.fail(1, "no memory")
    assert game.over
    assert game.ask() is None
    with pytest.raises(rs.NoArmLeft, match="no data"):
        game.recommend()


def test_one_arm_gets_everything() -> None:
    game = rs.RestSure().start(n_arms=1, horizon=30)
    play(game, Losses(n_arms=1, horizon=30, seed=0))
    assert game.pulls == (30,)
    assert game.recommend().arm == 0


def test_too_short_for_a_fit_the_lower_loss_wins() -> None:
    game = rs.RestSure().start(n_arms=3, horizon=4)
    for loss in (0.5, 0.3, 0.4):
        game.tell(game.ask().arm, [loss])
    pull = game.ask()
    assert (pull.arm, pull.times) == (1, 1)
    game.tell(1, [0.2])
    assert game.recommend().arm == 1

"""An arm that comes to its end keeps what it has reached; what is left goes to the others."""

import numpy as np
import pytest

import restsure as rs
from restsure.errors import InvalidLoss, InvalidParameter, OutOfTurn


def losses_of(arm: int, first: int, last: int) -> list[float]:
    alpha, beta = [(0.2, 0.1), (0.5, 0.3), (0.3, 0.4)][arm]
    return [alpha / k**0.5 + beta for k in range(first, last + 1)]


def played(end: int, **options: object) -> rs.Game:
    """Arm 0, the best, can be pulled ``end`` times; whoever asks for more is told so then."""
    game = rs.HorizonLCB().start(n_arms=3, horizon=120, **options)
    while (pull := game.ask()) is not None:
        had = game.pulls[pull.arm]
        made = min(pull.times, end - had) if pull.arm == 0 else pull.times
        losses = losses_of(pull.arm, had + 1, had + made)
        cost = 1.0 * made if "costs" in options else None
        if made < pull.times:
            game.finish(0, losses, cost=cost if made else None)
        else:
            game.tell(pull.arm, losses, cost=cost)
    return game


@pytest.mark.parametrize("end", [1, 2, 10, 30])
@pytest.mark.parametrize("options", [{}, {"costs": "measured"}], ids=["pulls", "measured"])
def test_what_is_left_goes_to_the_others(end: int, options: dict) -> None:
    game = played(end, **options)
    assert game.pulls[0] == end
    assert game.spent == sum(game.pulls) == 120
    assert game.failures == {}
    assert game.recommend().arm == (
        0 if losses_of(0, end, end)[0] < losses_of(1, game.pulls[1], game.pulls[1])[0] else 1
    )


def test_an_end_that_was_told_before_is_reached_without_saying_so() -> None:
    told = played(200, max_pulls=[20, 500, 500])
    assert told.pulls[0] == played(20).pulls[0] == 20


def test_among_many_arms() -> None:
    """Where most indices are left as they were."""
    rng = np.random.default_rng(0)
    level, game = rng.uniform(0.1, 0.5, 150), rs.HorizonLCB().start(n_arms=150, horizon=1_500)
    ended = set[int]()
    while (pull := game.ask()) is not None:
        if game.pulls[pull.arm] >= 12:
            ended.add(pull.arm)
            game.finish(pull.arm)
        else:
            had = game.pulls[pull.arm]
            game.tell(pull.arm, [level[pull.arm] + 0.3 / k for k in range(had + 1, had + pull.times + 1)])
    assert len(ended) > 3
    assert game.spent == 1_500
    assert all(game.pulls[arm] == 12 for arm in ended)


def test_out_of_turn() -> None:
    game = rs.HorizonLCB().start(n_arms=2, horizon=20)
    pull = game.ask()
    with pytest.raises(OutOfTurn, match="arm=1: must be pulled before it ends"):
        game.finish(1)
    with pytest.raises(InvalidLoss, match="must be 2 numbers for arm 0, but there are 3"):
        game.finish(pull.arm, [0.5] * (pull.times + 1))
    game.fail(1, "broken")
    with pytest.raises(OutOfTurn, match="has failed already"):
        game.finish(1)
    with pytest.raises(InvalidParameter, match="must not end in a game of RoundRobin, which knows no ends"):
        rs.RoundRobin().start(n_arms=2, horizon=20).finish(0)

"""Costs, ends of arms, and pulls that are out: the rule written plainly, and what must hold whatever it decides."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import restsure as rs
from tests.drive import play
from tests.paper import reference

RHO, SIGMA = 0.5, 0.03


def table_of(n_arms: int, length: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    alpha, beta = rng.uniform(0, 0.8, (n_arms, 1)), rng.uniform(0, 0.3, (n_arms, 1))
    return alpha * np.arange(1, length + 1) ** -RHO + beta + rng.normal(0, SIGMA, (n_arms, length))


def plain(table: np.ndarray, budget: float, costs: list[float], ends: list[float]) -> tuple[list[int], int]:
    """Optimism at the reach with known shape, arm by arm."""
    k = len(table)
    first = 1 if 2 * sum(costs) > budget / 2 else 2
    pulls = [int(min(first, end)) for end in ends]

    def curve(i: int, m: float) -> tuple[float, float]:
        if pulls[i] < 2:
            return float(table[i, 0]), math.inf
        alpha, beta = reference.least_squares(table[i, : pulls[i]], RHO)
        return alpha * m**-RHO + beta, SIGMA * reference.weight_norm("least-squares", pulls[i], RHO, m)

    while True:
        left = budget - sum(c * n for c, n in zip(costs, pulls, strict=True))
        room = [min(left / costs[i], ends[i] - pulls[i]) for i in range(k)]
        index = {}
        for i in range(k):
            if room[i] >= 1 - 1e-9:
                mean, sd = curve(i, pulls[i] + min(min(1, 3 / k) * left / costs[i], room[i]))
                width = math.sqrt(2 * math.log(1 + room[i] / (k * pulls[i])))
                index[i] = mean - width * sd if math.isfinite(sd) else -1e300 / (1 + pulls[i])
        if not index:
            break
        arm = min(index, key=lambda i: index[i])
        pulls[arm] += min(int(room[arm] + 1e-9), -(-pulls[arm] // 20))
    now = [curve(i, pulls[i])[0] for i in range(k)]
    return pulls, now.index(min(now))


@pytest.mark.parametrize("seed", range(12))
def test_same_as_the_plain_rule(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 7))
    costs = rng.uniform(0.3, 3, k).tolist() if seed % 3 else [1.0] * k
    ends = rng.integers(2, 90, k).astype(float).tolist() if seed % 2 else [math.inf] * k
    budget = float(rng.uniform(2, 40) * sum(costs)) if seed % 3 else int(rng.integers(2, 40)) * k
    table = table_of(k, 4_000, seed)
    game = rs.HorizonLCB(rs.PowerLaw(RHO, SIGMA)).start(
        k, budget, costs=costs if seed % 3 else None, max_pulls=[int(e) for e in ends] if seed % 2 else None
    )
    play(game, table)
    assert (list(game.pulls), game.recommend().arm) == plain(table, budget, costs, ends)
    assert game.spent == pytest.approx(sum(c * n for c, n in zip(costs, game.pulls, strict=True)))
    assert game.spent <= budget * (1 + 1e-9)


def test_a_slow_learner_must_be_worth_its_time() -> None:
    """Two equal curves, one of them ten times as expensive: it gets a small part of the budget."""
    s = np.arange(1, 2_001)
    table = np.tile(0.5 * s**-0.5 + 0.2, (2, 1)) + np.random.default_rng(0).normal(0, 0.01, (2, 2_000))
    game = play(rs.HorizonLCB().start(2, 1_000, costs=[1.0, 10.0]), table)
    assert game.recommend().arm == 0
    assert 10 * game.pulls[1] < 0.2 * 1_000


def test_a_finished_arm_is_judged_by_its_level() -> None:
    """The best arm ends after 10 pulls; the rest of the budget goes to the others, and it is returned all the same."""
    s = np.arange(1, 301)
    table = np.stack([0.1 + 0.2 / s, 0.4 + 0.2 / s, 0.5 + 0.2 / s])
    game = play(rs.HorizonLCB().start(3, 300, max_pulls=[10, 300, 300]), table)
    assert game.pulls[0] == 10
    assert game.spent == 300
    assert game.recommend().arm == 0


def test_a_game_ends_when_all_arms_have() -> None:
    game = play(rs.HorizonLCB().start(3, 300, max_pulls=[10, 20, 30]), table_of(3, 300, 0))
    assert game.pulls == (10, 20, 30)
    assert game.over
    assert game.recommend().arm in range(3)


def test_cheap_leftovers_are_spent() -> None:
    """What is left when the dear arm no longer fits goes to the cheap one."""
    game = play(rs.HorizonLCB().start(2, 30.0, costs=[7.0, 1.0]), table_of(2, 300, 1))
    assert 30 - game.spent < 1


@given(st.integers(0, 10_000), st.integers(1, 7), st.integers(1, 5), st.booleans())
def test_workers(seed: int, n_arms: int, workers: int, dear: bool) -> None:
    """Pulls out are of distinct arms, never more than the budget, told in any order; failures on the way."""
    rng = np.random.default_rng(seed)
    costs = rng.uniform(0.5, 2, n_arms).tolist() if dear else None
    budget = float(sum(costs) * 12) if costs else 12 * n_arms
    game = rs.HorizonLCB().start(n_arms, budget, costs=costs)
    table, told, out = table_of(n_arms, 400, seed), [0] * n_arms, list[rs.Pull]()
    prices = costs or [1.0] * n_arms
    while not game.over:
        if len(out) < workers:
            out += game.ask(workers=workers - len(out))
        assert out, "nothing is out, the game is not over, and nothing is asked for"
        assert len({pull.arm for pull in out}) == len(out) <= workers
        assert game.spent + sum(prices[p.arm] * p.times for p in out) <= budget * (1 + 1e-9)
        pull = out.pop(int(rng.integers(len(out))))
        if rng.random() < 0.02 and len(game.failures) < n_arms - 1:
            game.fail(pull.arm, "a test")
            continue
        game.tell(pull.arm, table[pull.arm, told[pull.arm] : told[pull.arm] + pull.times].tolist())
        told[pull.arm] += pull.times
    assert not out
    assert game.recommend().arm not in game.failures
    assert budget - game.spent < min(p for i, p in enumerate(prices) if i not in game.failures) + 1e-6


def test_one_worker_plays_the_same_game() -> None:
    table = table_of(5, 400, 3)
    alone = play(rs.HorizonLCB().start(5, 400), table)
    game, told = rs.HorizonLCB().start(5, 400), [0] * 5
    while not game.over:
        for pull in game.ask(workers=1):
            game.tell(pull.arm, table[pull.arm, told[pull.arm] : told[pull.arm] + pull.times].tolist())
            told[pull.arm] += pull.times
    assert game.pulls == alone.pulls


def test_nobody_trains_beside_a_clear_winner() -> None:
    """At first several arms are worth a pull at once; when one is far ahead, the other workers wait for it."""
    s = np.arange(1, 401)
    table = np.stack([0.1 + 0.3 / s, 0.6 + 0.3 / s, 0.7 + 0.3 / s, 0.8 + 0.3 / s])
    game, told = rs.HorizonLCB().start(4, 400), [0] * 4
    widths = []
    while not game.over:
        pulls = game.ask(workers=4)
        widths.append(len(pulls))
        for pull in pulls:
            game.tell(pull.arm, table[pull.arm, told[pull.arm] : told[pull.arm] + pull.times].tolist())
            told[pull.arm] += pull.times
    assert max(widths) == 4
    assert widths[-5:] == [1] * 5
    assert game.pulls[0] > 300


@pytest.mark.parametrize("curve", [rs.LogTrend(), rs.PowerLaw(0.5, 0.05), rs.PowerLaw(0.5), rs.CurveBank()])
@pytest.mark.parametrize("seed", range(3))
def test_a_lazy_scan_is_a_scan(curve, seed: int, monkeypatch) -> None:
    """The same game, arm by arm, whether all indices are computed at each decision or only those that may be lowest."""
    from restsure.policies import horizon_play

    table = table_of(60, 900, seed)
    games = []
    for many in (0, 1_000):
        monkeypatch.setattr(horizon_play, "MANY", many)
        monkeypatch.setattr(horizon_play, "BATCH", 7)
        games.append(play(rs.HorizonLCB(curve).start(60, 900), table))
    assert games[0].pulls == games[1].pulls
    assert games[0].recommend() == games[1].recommend()


def test_a_decision_among_many_arms_refreshes_few(monkeypatch) -> None:
    """2,000 arms: after the start a decision computes the index of 150 arms or fewer, on average."""
    from restsure.policies import horizon_play

    refreshed, decisions = 0, 0
    plain_refresh = horizon_play.HorizonLCBPlay._refresh_some

    def counting(self, row, arms, *arguments):
        nonlocal refreshed
        refreshed += len(arms)
        return plain_refresh(self, row, arms, *arguments)

    game, told = rs.HorizonLCB().start(2_000, 12_000), np.zeros(2_000, dtype=int)
    rng = np.random.default_rng(0)
    alpha, beta = rng.uniform(0, 0.8, 2_000), rng.uniform(0, 0.5, 2_000)
    while decisions < 800:
        pull = game.ask()
        assert pull is not None
        if game.spent >= 4_000 + 1:
            monkeypatch.setattr(horizon_play.HorizonLCBPlay, "_refresh_some", counting)
            decisions += 1
        s = told[pull.arm] + np.arange(1, pull.times + 1)
        game.tell(pull.arm, (alpha[pull.arm] * s**-0.5 + beta[pull.arm] + rng.normal(0, 0.05, pull.times)).tolist())
        told[pull.arm] += pull.times
    assert refreshed / decisions < 150

"""Several workers in virtual time: the regret stays, the time falls, and a fleet that loses workers loses little else."""

import numpy as np
import pytest

import restsure as rs
from restsure.simulation import simulate_workers
from restsure.simulation.tape import ArmTape
from restsure.simulation.workers import Fleet, Shift, play_by_fleet


def drawn(n_arms: int, runs: int, seed: int = 0) -> rs.TableArms:
    chance = np.random.default_rng(seed)
    steps = np.arange(1, 401) ** -0.5
    alpha, beta = chance.uniform(0, 0.8, (runs, n_arms, 1)), chance.uniform(0, 0.5, (runs, n_arms, 1))
    return rs.TableArms(alpha * steps + beta, noise=rs.Gaussian(0.05))


def on_fleet(game: rs.Game, arms: rs.TableArms, fleet: Fleet, seed: int = 0) -> Shift:
    return play_by_fleet(game, ArmTape(arms, np.array([0]), seed), fleet, seed=seed)


def test_regret_stays_and_time_falls() -> None:
    """Within a tenth at the same budget; to speculate is sooner."""
    arms, runs = drawn(10, 60), 60
    alone, once = simulate_workers(rs.HorizonLCB(), arms, 300, runs, 1, workers=1)
    sequential = rs.simulate(rs.HorizonLCB(), arms, 300, runs, seed=1)
    np.testing.assert_array_equal(alone.arm_pulls, sequential.arm_pulls)
    assert (once == 300).all()
    slower = once
    for workers in (2, 8):
        many, times = simulate_workers(rs.HorizonLCB(), arms, 300, runs, 1, workers=workers)
        assert (many.arm_pulls.sum(axis=1) == 300).all()
        assert many.regret.mean() < 1.1 * alone.regret.mean()
        assert times.mean() < slower.mean()
        slower = times
    eager, sooner = simulate_workers(rs.HorizonLCB(speculative=True), arms, 300, runs, 1, workers=8)
    assert sooner.mean() < 0.9 * slower.mean()
    assert (eager.arm_pulls.sum(axis=1) == 300).all()


def test_one_worker_never_speculates() -> None:
    arms = drawn(5, 20)
    one, other = (rs.simulate(rs.HorizonLCB(speculative=eager), arms, 200, 20, seed=3) for eager in (False, True))
    np.testing.assert_array_equal(one.arm_pulls, other.arm_pulls)


def test_nobody_waits_for_a_slow_beginner() -> None:
    """One arm takes a thousand times as long: others go on while it makes its first pulls."""
    arms, seconds = drawn(4, 1), np.array([1.0, 1.0, 1.0, 1_000.0])
    game = rs.HorizonLCB().start(4, 6_000, costs=seconds.tolist(), max_pulls=[300] * 4)
    out = {pull.arm: pull.times for pull in game.ask(workers=4)}
    tape = ArmTape(arms, np.array([0]), 0)
    for _ in range(40):
        arm = min(arm for arm in out if arm != 3)
        game.tell(arm, tape.read(np.array([arm]), out.pop(arm))[0].tolist())
        out |= {pull.arm: pull.times for pull in game.ask(workers=4 - len(out))}
        assert len(out) > 1
    assert 3 in out


def test_all_train_where_the_budget_is_enough_for_all_ends() -> None:
    arms = drawn(8, 1)
    game = rs.HorizonLCB().start(8, 320, max_pulls=[40] * 8)
    shift = on_fleet(game, arms, Fleet(8))
    assert game.pulls == (40,) * 8
    assert shift.clock == 40
    assert shift.idle == 0


def test_clock_and_idle_time_add_up() -> None:
    arms, seconds = drawn(6, 1), np.array([1.0, 2.0, 4.0, 0.5, 1.0, 3.0])
    game = rs.HorizonLCB().start(6, 500, costs=seconds.tolist())
    shift = on_fleet(game, arms, Fleet(3, seconds))
    assert shift.clock * 3 == pytest.approx(game.spent + shift.idle)
    assert 0 < shift.halfway[0] < shift.clock
    assert (shift.deaths, shift.lost) == (0, 0)


def test_deaths_cost_time_and_change_the_order_only() -> None:
    arms, seconds = drawn(6, 1), np.full(6, 60.0)
    fleet = Fleet(3, seconds, failures_per_hour=2.0, repair_s=30.0, max_restarts=1_000)
    games = [rs.HorizonLCB().start(6, 60_000, costs=seconds.tolist()) for _ in range(3)]
    shifts = [on_fleet(game, arms, fleet, seed) for game, seed in zip(games, (0, 0, 1), strict=True)]
    assert (games[0].pulls, shifts[0].clock) == (games[1].pulls, shifts[1].clock)
    assert shifts[0].clock != shifts[2].clock
    for game, shift in zip(games, shifts, strict=True):
        assert shift.deaths > 5
        assert shift.lost >= 30 * shift.deaths
        assert shift.clock * 3 == pytest.approx(game.spent + shift.idle + shift.lost)
        assert game.spent == 60_000
        assert not game.failures


def test_an_arm_that_loses_too_many_workers_fails() -> None:
    arms, seconds = drawn(4, 1), np.array([1.0, 1.0, 1.0, 36_000.0])
    game = rs.HorizonLCB().start(4, 100_000, costs=seconds.tolist(), max_pulls=[300] * 4)
    shift = on_fleet(game, arms, Fleet(2, seconds, failures_per_hour=1.0, max_restarts=2))
    assert game.failures == {3: "lost 3 workers"}
    assert shift.deaths >= 3
    assert game.recommend().arm != 3


@pytest.mark.parametrize(
    ("field", "value", "rule"),
    [("workers", 0, "at least 1"), ("failures_per_hour", -1, "at least 0"), ("max_restarts", -1, "at least 0")],
)
def test_bad_fleets(field: str, value: float, rule: str) -> None:
    with pytest.raises(rs.InvalidParameter, match=f"{field}={value}: must be {rule}"):
        Fleet(**{"workers": 2, field: value})

"""Suites, their runner, several processes and several workers."""

import tracemalloc

import numpy as np
import pytest

import restsure as rs
from restsure.simulation.suites import DEFAULTS, LINE_UP, SUITES, Row, entries, run_suite
from restsure.simulation.suites.in_model import in_model
from restsure.simulation.workers import simulate_workers

ARMS = rs.PowerLawArms([0.5, 0.2, 0.6], [0.1, 0.2, 0.05], noise=rs.Gaussian(0.05))
EXACT = rs.RestSure(bound=rs.bounds.ExactWeights(0.05))


def test_in_model_rows_are_the_protocol() -> None:
    rows = in_model()
    assert len(rows) == 2 * 2 * 3 * 3 + 9 + 2
    assert len({row.name for row in rows}) == len(rows)
    crossing = next(row for row in rows if row.name == "crossing, K = 8, T = 10,000, Gaussian .1")
    arms = crossing.make(4_000, 0)
    assert isinstance(arms, rs.PowerLawArms)
    assert arms.alpha.shape == (4_000, 8)
    off = arms.beta - (0.5 - 0.45 * arms.alpha)
    assert off.std() == pytest.approx(0.02, rel=0.05)
    np.testing.assert_array_equal(crossing.make(3, 0).alpha, arms.alpha[:3])  # type: ignore[attr-defined]
    assert (crossing.make(3, 1).alpha != arms.alpha[:3]).any()  # type: ignore[attr-defined]


def test_round_robin_has_the_known_regret_in_the_model() -> None:
    """K = 8, T = 1e4: .0087 on random and .0163 on crossing arms, within 4.9 standard errors of 300 runs."""
    for kind, expected in (("random", 0.87), ("crossing", 1.63)):
        row = next(row for row in in_model() if row.name == f"{kind}, K = 8, T = 10,000, Gaussian .1")
        score = next(run_suite("in-model", [row], entries(["round-robin"]), replicates=300, seed=1))
        assert abs(score.regret - expected) < 4.9 * score.se + 0.01


def test_defaults_exist_and_every_entry_plays() -> None:
    assert DEFAULTS.keys() == SUITES.keys()
    assert all(name in LINE_UP for names in DEFAULTS.values() for name in names)
    row = Row("test", "test", 60, lambda replicates, seed: ARMS)
    scores = list(run_suite("test", [row], LINE_UP, replicates=6, seed=0))
    assert [score.policy for score in scores] == list(LINE_UP)
    for score in scores:
        assert score.runs == 6
        assert score.regret >= 0
        assert 0 < score.pulls <= 1
        assert score.p90 >= 0


def test_score_is_what_it_says() -> None:
    row = Row("test", "test", 80, lambda replicates, seed: ARMS)
    score = next(run_suite("test", [row], entries(["halving"]), replicates=50, seed=3))
    out = rs.simulate(rs.SuccessiveHalving(), ARMS, 80, 50, seed=3)
    regret = 100 * out.regret
    assert score.regret == pytest.approx(regret.mean())
    assert score.se == pytest.approx(regret.std(ddof=1) / np.sqrt(50))
    assert score.p90 == pytest.approx(np.quantile(regret, 0.9))
    assert score.within == (regret <= 1).mean()
    assert score.error == out.error.mean()
    assert score.pulls == pytest.approx(out.pulls.mean() / 80)


def test_a_row_that_is_the_same_in_every_run_is_played_once() -> None:
    row = Row("test", "test", 80, lambda replicates, seed: ARMS, replicates=1)
    assert next(run_suite("test", [row], entries(["sr"]), replicates=50, seed=3)).runs == 1


def test_unknown_policy_is_named() -> None:
    with pytest.raises(rs.InvalidParameter, match="policies='best': must be one of 'horizon', 'round-robin'"):
        entries(["best"])


@pytest.mark.parametrize("policy", [EXACT, rs.SuccessiveHalving(), rs.RisingUCBE(sigma=0.05)])
def test_processes_change_nothing(policy: rs.Policy) -> None:
    one = rs.simulate(policy, ARMS, 200, 31, seed=5)
    for n_jobs in (2, 3):
        many = rs.simulate(policy, ARMS, 200, 31, seed=5, n_jobs=n_jobs)
        np.testing.assert_array_equal(one.arm_pulls, many.arm_pulls)
        np.testing.assert_array_equal(one.regret, many.regret)


def test_rising_settings_can_be_sent_to_other_processes() -> None:
    row = next(row for row in SUITES["rising"](None) if row.horizon == 200)
    scores = [
        next(run_suite("rising", [row], entries(["r-sr"]), replicates=20, seed=0, n_jobs=jobs)) for jobs in (1, 2)
    ]
    assert scores[0].regret == scores[1].regret


def test_workers_pull_the_same_and_end_sooner() -> None:
    """With unit pulls in rounds, W workers change no decision of REST-SURE; only exploring takes less time."""
    sequential = rs.simulate(EXACT, ARMS, 300, 10, seed=2)
    times = dict[int, np.ndarray]()
    for workers in (1, 2, 3, 8):
        out, times[workers] = simulate_workers(EXACT, ARMS, 300, 10, 2, workers=workers)
        np.testing.assert_array_equal(out.arm_pulls, sequential.arm_pulls)
        np.testing.assert_array_equal(out.arm, sequential.arm)
        np.testing.assert_allclose(out.regret, sequential.regret)
    assert (times[1] == 300).all()
    assert (times[2] < times[1]).all()
    assert (times[3] <= times[2]).all()
    assert (times[8] == times[3]).all()  # three arms keep no more than three workers busy
    assert (times[3] >= out.pulls).all()


def test_workers_bad_input() -> None:
    with pytest.raises(rs.InvalidParameter, match="workers=0: must be at least 1"):
        simulate_workers(EXACT, ARMS, 300, 1, 2, workers=0)


def test_memory_does_not_grow_with_the_horizon() -> None:
    """Ten times the pulls, the same memory (within a tenth): closed-form curves and least squares keep sums alone."""
    peaks = list[int]()
    for horizon in (100_000, 1_000_000):
        tracemalloc.start()
        rs.simulate(rs.RestSure(bound=rs.bounds.Theorem2()), ARMS, horizon, 1, seed=0)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]


def test_tables() -> None:
    losses = np.array([[0.5, 0.4, 0.3], [0.44, 0.44, 0.44]])
    out = rs.simulate(rs.RoundRobin(), rs.TableArms(losses), 3, 2, seed=0)
    assert out.arm_pulls.tolist() == [[2, 1], [2, 1]]
    assert out.regret.tolist() == pytest.approx([0.44 - 0.3] * 2)
    seen = rs.simulate(rs.RoundRobin(), rs.TableArms(losses, observed=1 - losses), 3, 1, seed=0)
    assert seen.arm[0] == 0
    assert seen.regret[0] == pytest.approx(0.4 - 0.3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rs.TableArms([0.1, 0.2]), r"losses: must have shape \(K, T\) or \(R, K, T\), but has \(2,\)"),
        (lambda: rs.TableArms([[0.1, np.nan]]), "losses: must be finite"),
        (lambda: rs.TableArms([[0.1]], observed=[[0.1, 0.2]]), r"observed: must have the shape \(1, 1\)"),
        (lambda: rs.TableArms([[0.1]], noise=0.1), "noise=0.1: must be of kind Noise"),
        (lambda: rs.FunctionArms([]), "curves: must not be empty"),
        (lambda: rs.FunctionArms([0.5]), "curves: must be functions"),
        (lambda: rs.RoundNoise(-1), "sigma=-1: must be at least 0"),
        (lambda: rs.simulate(EXACT, rs.TableArms([[0.1, 0.2]]), 3, 1, 0), "horizon=3: must be at most 2"),
        (lambda: rs.simulate(EXACT, ARMS, 30, 1, 0, n_jobs=0), "n_jobs=0: must be at least 1"),
        (lambda: rs.RoundNoise(0.1).sample([], np.zeros((0, 1))), "drawn by simulate"),
    ],
)
def test_bad_input(make, message) -> None:
    with pytest.raises(rs.InvalidParameter, match=message):
        make()

"""The simulator: its losses, its scores, and its equality with live games."""

import numpy as np
import pytest

import restsure as rs
from restsure.arms import Arms
from restsure.simulation import engine
from restsure.simulation.tape import ArmTape
from tests.chance import Z
from tests.drive import play

CROSSING = rs.PowerLawArms([0.9, 0.5, 0.1], [0.1, 0.27, 0.4], noise=rs.Gaussian(0.05))
POLICY = rs.RestSure(bound=rs.bounds.ExactWeights(0.05))


def tape_of(arms: Arms, runs: int, pulls: int, seed: int) -> np.ndarray:
    """All losses of the first pulls: shape (runs, arms, pulls)."""
    tape = ArmTape(arms, np.arange(runs), seed)
    blocks = [tape.read(slice(None), min(tape.width, pulls - k)).copy() for k in range(0, pulls, tape.width)]
    return np.concatenate(blocks, axis=1).reshape(runs, arms.n_arms, pulls)


@pytest.mark.parametrize("noise", [rs.Gaussian(0.1), rs.Bernoulli(), rs.BetaNoise(), None])
def test_a_loss_is_fixed_by_seed_run_arm_and_pull(noise) -> None:
    """However the tape is read, whatever else is read: the same loss."""
    arms = rs.PowerLawArms([0.5, 0.2], [0.1, 0.3], noise=noise)
    whole = tape_of(arms, runs=3, pulls=2_500, seed=5)
    tape, rng, at = ArmTape(arms, np.array([0, 1, 2]), 5), np.random.default_rng(0), np.zeros(6, dtype=int)
    while (left := np.flatnonzero(at < 2_500)).size:
        cells = rng.permutation(left)[: rng.integers(1, left.size + 1)]
        times = int(min(rng.integers(1, 200), (2_500 - at[cells]).min()))
        read = tape.read(cells, times)
        for cell, row in zip(cells, read, strict=True):
            np.testing.assert_array_equal(row, whole[cell // 2, cell % 2, at[cell] : at[cell] + times])
        at[cells] += times
    alone = ArmTape(arms, np.array([2]), 5)
    np.testing.assert_array_equal(alone.read(slice(None), 50), whole[2, :, :50])


def test_streams_are_independent() -> None:
    """Correlations between arms, runs, neighbouring pulls and seeds stay within 4.9 / sqrt(n) (false alarm 1e-6 each)."""
    arms = rs.PowerLawArms([0.0, 0.0], [0.5, 0.5], noise=rs.Gaussian(1.0))
    losses = tape_of(arms, runs=2, pulls=50_000, seed=1) - 0.5
    other = tape_of(arms, runs=2, pulls=50_000, seed=2) - 0.5
    series = [losses[0, 0], losses[0, 1], losses[1, 0], losses[1, 1], other[0, 0]]
    for k, one in enumerate(series):
        for two in series[k + 1 :]:
            assert abs(np.mean(one * two)) < Z / np.sqrt(len(one))
    assert abs(np.mean(series[0][1:] * series[0][:-1])) < Z / np.sqrt(len(series[0]))


def test_simulated_runs_are_live_games() -> None:
    """R replicates are R live games fed the same losses: pulls, answers and, with the true curves, regrets."""
    horizon, runs = 400, 25
    losses = tape_of(CROSSING, runs, horizon, seed=9)
    for policy in (POLICY, rs.RestSure(), rs.ExploreThenCommit(), rs.RestSure.as_published()):
        out = rs.simulate(policy, CROSSING, horizon=horizon, replicates=runs, seed=9)
        at_end = CROSSING.alpha * horizon**-0.5 + CROSSING.beta
        for run in range(runs):
            game = play(policy.start(3, horizon), losses[run])
            answer = game.recommend()
            assert game.pulls == tuple(out.arm_pulls[run])
            assert (answer.arm, answer.pulls) == (out.arm[run], out.pulls[run])
            loss = CROSSING.alpha[answer.arm] * answer.pulls**-0.5 + CROSSING.beta[answer.arm]
            assert out.regret[run] == pytest.approx(loss - at_end.min(), abs=1e-12)
            assert out.error[run] == (answer.arm != at_end.argmin())


def test_chunks_change_nothing(monkeypatch) -> None:
    whole = rs.simulate(POLICY, CROSSING, horizon=300, replicates=40, seed=3)
    monkeypatch.setattr(engine, "_MOST_CELLS", 21)  # seven runs at a time
    parts = rs.simulate(POLICY, CROSSING, horizon=300, replicates=40, seed=3)
    np.testing.assert_array_equal(whole.arm_pulls, parts.arm_pulls)
    np.testing.assert_array_equal(whole.regret, parts.regret)


def test_one_instance_a_run() -> None:
    rng = np.random.default_rng(0)
    alpha, beta = rng.random((30, 4)), rng.uniform(0, 0.5, (30, 4))
    many = rs.simulate(POLICY, rs.PowerLawArms(alpha, beta, noise=None), horizon=200, replicates=30, seed=0)
    for run in (0, 7, 29):
        one = rs.simulate(POLICY, rs.PowerLawArms(alpha[run], beta[run], noise=None), horizon=200, replicates=1, seed=0)
        assert one.regret[0] == many.regret[run]
        np.testing.assert_array_equal(one.arm_pulls[0], many.arm_pulls[run])


def test_progress_counts_every_pull() -> None:
    seen = list[tuple[int, int]]()
    rs.simulate(POLICY, CROSSING, horizon=200, replicates=10, seed=0, progress=lambda *at: seen.append(at))
    assert seen[-1] == (2_000, 2_000)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_regret_is_never_negative_for_falling_curves() -> None:
    rng = np.random.default_rng(4)
    arms = rs.PowerLawArms(rng.random((200, 5)), rng.uniform(0, 0.5, (200, 5)), noise=rs.Bernoulli())
    assert rs.simulate(rs.RestSure(), arms, horizon=100, replicates=200, seed=0).regret.min() >= 0


def test_tied_arms_are_no_error() -> None:
    arms = rs.PowerLawArms([0.5, 0.5], [0.2, 0.2])
    assert not rs.simulate(POLICY, arms, horizon=100, replicates=20, seed=0).error.any()

"""The certified interval of HorizonLCB holds at all times at once, for all arms, whatever it pulls."""

import numpy as np
import pytest

import restsure as rs
from restsure.policies.certified import CertifiedStates
from restsure.policies.horizon_play import HorizonLCBPlay
from restsure.simulation.tape import tape_for
from tests.chance import most_events

RUNS, K, T, SIGMA = 400, 4, 300, 0.1


def runs_with_a_miss(delta: float, narrowed: float, noise: rs.arms.Noise) -> int:
    """Runs in which, at some decision, some arm's loss now or at its reach is outside ``narrowed`` times the radius."""
    rng = np.random.default_rng(8)
    arms = rs.PowerLawArms(rng.uniform(0.2, 0.6, (RUNS, K)), rng.uniform(0, 0.3, (RUNS, K)), noise=noise)
    everyone = np.arange(RUNS)
    sigma = SIGMA if isinstance(noise, rs.Gaussian) else 0.5
    play = rs.HorizonLCB(rs.PowerLaw(0.5, sigma), certified=True, delta=delta).play(K, T, RUNS)
    assert isinstance(play, HorizonLCBPlay)
    assert isinstance(play.curves, CertifiedStates)
    tape, missed = tape_for(arms, everyone, 8, T), np.zeros(RUNS, dtype=bool)
    while not play.done.all():
        play.decide(everyone[~play.done])
        while (wanted := play.wanted.reshape(-1)).any():
            cells = np.flatnonzero(wanted)
            play.observe(cells, tape.read(cells, 1))
        for pulls in (play.pulls, play.pulls + T - play.spent()[:, None].astype(int)):
            mean, radius = play.curves.predict(slice(None), pulls.reshape(-1).astype(float))
            truth = arms.mean(everyone[:, None], np.arange(K), pulls).reshape(-1)
            missed |= (np.abs(mean - truth) > narrowed * radius).reshape(RUNS, K).any(axis=1)
    return int(missed.sum())


@pytest.mark.parametrize("noise", [rs.Gaussian(SIGMA), rs.Bernoulli()], ids=["Gaussian", "Bernoulli"])
@pytest.mark.parametrize("delta", [0.05, 0.3])
def test_holds_at_all_times(delta: float, noise: rs.arms.Noise) -> None:
    assert runs_with_a_miss(delta, 1.0, noise) <= most_events(RUNS, delta)


def test_too_narrow_a_radius_is_caught() -> None:
    """The same test fails when the radius is cut to 55 %."""
    assert runs_with_a_miss(0.05, 0.55, rs.Gaussian(SIGMA)) > most_events(RUNS, 0.05)


def test_says_that_it_is_certified() -> None:
    game = rs.HorizonLCB(rs.PowerLaw(0.5, 0.1), certified=True, delta=0.05).start(2, 60)
    rng = np.random.default_rng(0)
    while (pull := game.ask()) is not None:
        game.tell(pull.arm, rng.normal(0.3 + 0.2 * pull.arm, 0.1, pull.times).tolist())
    answer = game.recommend()
    assert "interval at level 0.95, certified" in answer.reason
    assert "(certified)" in game.explain()
    assert answer.low < answer.loss < answer.high

"""Bad input: an error that names the parameter, the value and the rule, and nothing half-applied."""

import math

import numpy as np
import pytest

import restsure as rs

START = dict(n_arms=2, horizon=10)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(n_arms=0), "n_arms=0: must be at least 1"),
        (dict(n_arms=-3), "n_arms=-3: must be at least 1"),
        (dict(n_arms=2.0), "n_arms=2.0: must be a whole number, not float"),
        (dict(n_arms="2"), "n_arms='2': must be a whole number, not str"),
        (dict(n_arms=None), "n_arms=None: must be a whole number, not NoneType"),
        (dict(n_arms=True), "n_arms=True: must be a whole number, not bool"),
        (dict(horizon=1), "horizon=1: must be at least n_arms=2"),
        (dict(horizon=0), "horizon=0: must be at least 1"),
        (dict(horizon=1e4), "horizon=10000.0: must be a whole number, not float"),
        (dict(horizon=math.nan), "horizon=nan: must be a whole number"),
        (dict(horizon=None), "horizon=None: must be a whole number"),
        (dict(horizon=True), "horizon=True: must be a whole number, not bool"),
        (dict(seed=-1), "seed=-1: must be at least 0"),
        (dict(seed="x"), "seed='x': must be a whole number"),
        (dict(costs=[1.0, 2.0]), r"costs=\[1.0, 2.0\]: must be None for RestSure"),
        (dict(max_pulls=[5, 5]), r"max_pulls=\[5, 5\]: must be None for RestSure"),
    ],
)
def test_start(change, message) -> None:
    with pytest.raises(rs.InvalidParameter, match=message) as error:
        rs.RestSure().start(**(START | change))
    assert isinstance(error.value, rs.RestSureError)
    assert isinstance(error.value, ValueError)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(rho=0), "rho=0: must be above 0 and at most 1"),
        (dict(rho=-0.5), "rho=-0.5: must be above 0"),
        (dict(rho=1.01), "rho=1.01: must be above 0 and at most 1"),
        (dict(rho=math.nan), "rho=nan: must be above 0"),
        (dict(rho=math.inf), "rho=inf: must be above 0"),
        (dict(rho="0.5"), "rho='0.5': must be a real number, not str"),
        (dict(rho=None), "rho=None: must be a real number"),
        (dict(rho=True), "rho=True: must be a real number, not bool"),
        (dict(rho=0.5 + 0j), "must be a real number, not complex"),
        (dict(delta=0), "delta=0: must be above 0 and below 1"),
        (dict(delta=1), "delta=1: must be above 0 and below 1"),
        (dict(delta=-0.1), "delta=-0.1: must be above 0"),
        (dict(delta="small"), "delta='small': must be a real number"),
        (dict(delta=False), "delta=False: must be a real number, not bool"),
        (dict(estimator="two-window"), "estimator='two-window': must be of kind Estimator"),
        (dict(bound=None), "bound=None: must be of kind Bound"),
        (dict(bound=rs.LeastSquares()), "must be of kind Bound, not LeastSquares"),
        (
            dict(estimator=rs.TwoWindow(), bound=rs.bounds.SelfNormalized(0.1)),
            "must be LeastSquares for SelfNormalized",
        ),
        (dict(estimator=rs.LeastSquares(0.1), bound=rs.bounds.ExactWeights(0.1)), "must be unbiased for ExactWeights"),
        (dict(rho=1, bound=rs.bounds.Theorem2()), "rho=1: must be below 1 for Theorem 2"),
    ],
)
@pytest.mark.parametrize("policy", [rs.RestSure, rs.ExploreThenCommit])
def test_policies(policy, change, message) -> None:
    with pytest.raises(rs.InvalidParameter, match=message):
        policy(**change)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rs.RestSure.as_published(alpha_max=-1), "alpha_max=-1: must be at least 0"),
        (lambda: rs.bounds.Theorem2(alpha_max=math.nan), "alpha_max=nan: must be at least 0"),
        (lambda: rs.bounds.ExactWeights(0), "sigma=0: must be above 0"),
        (lambda: rs.bounds.ExactWeights("x"), "sigma='x': must be a real number"),
        (lambda: rs.bounds.ExactWeights(0.1, 0), "looks=0: must be at least 1"),
        (lambda: rs.bounds.Empirical(2.5), "looks=2.5: must be a whole number"),
        (lambda: rs.bounds.SelfNormalized(-1), "sigma=-1: must be above 0"),
        (lambda: rs.bounds.Scaled(0.5, 2), "bound=0.5: must be of kind Bound"),
        (lambda: rs.bounds.Scaled(rs.bounds.Empirical(), -2), "factor=-2: must be above 0"),
        (lambda: rs.LeastSquares(-1), "ridge=-1: must be at least 0"),
        (lambda: rs.Gaussian(-0.1), "sigma=-0.1: must be at least 0"),
        (lambda: rs.Gaussian(None), "sigma=None: must be a real number"),
        (lambda: rs.BetaNoise(0), "shape=0: must be above 0"),
        (lambda: rs.PowerLawArms([], []), "alpha: must not be empty"),
        (lambda: rs.PowerLawArms([1.0], [0.1, 0.2]), r"shape \(K,\) or \(R, K\), but have \(1,\) and \(2,\)"),
        (lambda: rs.PowerLawArms([-1.0], [0.1]), "alpha: must be at least 0, but entry 0 is -1"),
        (lambda: rs.PowerLawArms([1.0], [1.5]), r"beta: must be in \[0, 1\], but entry 0 is 1.5"),
        (lambda: rs.PowerLawArms([math.nan], [0.1]), "alpha: must be finite, but entry 0 is nan"),
        (lambda: rs.PowerLawArms(["a"], [0.1]), "alpha=.*must hold real numbers"),
        (lambda: rs.PowerLawArms([True], [0.1]), "alpha=.*must hold real numbers, not bool"),
        (lambda: rs.PowerLawArms([[1.0], [1.0, 2.0]], [0.1]), "alpha: must be a rectangular array"),
        (lambda: rs.PowerLawArms([1.0], [0.1], rho=2), "rho=2: must be above 0 and at most 1"),
        (lambda: rs.PowerLawArms([1.0], [0.1], noise=0.1), "noise=0.1: must be of kind Noise"),
        (lambda: rs.fit_curve([0.1]), r"losses: must be a series of at least 2 numbers, but has shape \(1,\)"),
        (lambda: rs.fit_curve([0.1, math.inf]), "losses: must be finite, but entry 1 is inf"),
        (lambda: rs.fit_curve("abc"), "losses=.*must hold real numbers"),
        (lambda: rs.fit_curve([0.1, 0.2], method="magic"), "method='magic': must be one of 'two-window'"),
        (lambda: rs.fit_curve([0.1, 0.2]).predict(0), "pulls: must be at least 1, but entry 0 is 0"),
        (lambda: rs.theory.lower_bound(-1, 0.1, horizon=10), "alpha=-1: must be at least 0"),
        (lambda: rs.theory.lower_bound(1, 0, horizon=10), "gap=0: must be above 0"),
        (lambda: rs.theory.lower_bound(1, 0.1, horizon=0), "horizon=0: must be at least 1"),
        (lambda: rs.theory.explore_then_commit_bound(1, 0.1, horizon=10, rho=1), "rho=1: must be below 1"),
        (lambda: rs.theory.rest_sure_bound([1, 1], [0.1], horizon=10), r"shape \(K,\), but have \(2,\) and \(1,\)"),
        (lambda: rs.theory.rest_sure_bound([1, 1], [0.1, 0.2], horizon=1), "horizon=1: must be at least 2"),
        (lambda: rs.theory.theorem2_radius(1, n_arms=0, horizon=1, rho=0.5, delta=0.1), "n_arms=0: must be at least 1"),
        (lambda: rs.Policy.from_json("{"), "must be JSON"),
        (lambda: rs.Policy.from_json('{"kind": "Nothing"}'), "kind='Nothing': must be one of ExploreThenCommit"),
        (lambda: rs.Policy.from_json('{"kind": "Gaussian", "sigma": 1}'), "kind='Gaussian': must be a Policy"),
        (lambda: rs.Policy.from_json('{"kind": "RestSure", "speed": 9}'), "speed=9: no parameter of RestSure"),
        (lambda: rs.Policy.from_json("[1]"), r"kind=\[1\]: must be one of"),
    ],
)
def test_everything_else(make, message) -> None:
    with pytest.raises(rs.InvalidParameter, match=message):
        make()


ARMS = rs.PowerLawArms([0.5, 0.5], [0.1, 0.2])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(policy="best"), "policy='best': must be of kind Policy"),
        (dict(arms=[1, 2]), "must be of kind Arms"),
        (dict(horizon=1), "horizon=1: must be at least n_arms=2"),
        (dict(replicates=0), "replicates=0: must be at least 1"),
        (dict(seed=None), "seed=None: must be a whole number"),
        (dict(arms=rs.PowerLawArms(np.ones((3, 2)), np.ones((3, 2)))), "replicates=5: must be at most the 3 instances"),
    ],
)
def test_simulate(change, message) -> None:
    with pytest.raises(rs.InvalidParameter, match=message):
        rs.simulate(**(dict(policy=rs.RestSure(), arms=ARMS, horizon=10, replicates=5, seed=0) | change))


def test_beta_noise_outside_its_range() -> None:
    arms = rs.PowerLawArms([1.0], [0.5], noise=rs.BetaNoise())
    with pytest.raises(rs.InvalidParameter, match=r"mean=1.5: must be in \[0, 1\] with BetaNoise"):
        rs.simulate(rs.RestSure(), arms, horizon=5, replicates=1, seed=0)


@pytest.fixture
def game() -> rs.Game:
    """A game with arm 0 out for one pull."""
    game = rs.RestSure().start(n_arms=2, horizon=10)
    assert game.ask() == rs.Pull(0, 1)
    return game


BAD_LOSSES = [
    ([], "must be 1 numbers for arm 0, but there are 0"),
    ([0.1, 0.2], "must be 1 numbers for arm 0, but there are 2"),
    ([math.nan], "must be finite, but one of arm 0 is nan"),
    ([math.inf], "must be finite, but one of arm 0 is inf"),
    ([-math.inf], "must be finite"),
    (["0.1"], "must be numbers, but '0.1' of arm 0 is str"),
    ([None], "must be numbers, but None of arm 0 is NoneType"),
    ([True], "must be numbers, but True of arm 0 is bool"),
    ([np.True_], "must be numbers"),
    ([0.1j], "must be numbers"),
    ([[0.1]], "must be numbers"),
    (np.array([[0.1]]), "must be a sequence of 1 numbers"),
    ("0", "losses='0': must be a sequence"),
    (b"0", "must be a sequence"),
    (0.1, "losses=0.1: must be a sequence of 1 numbers for arm 0"),
    (None, "losses=None: must be a sequence"),
    ([0.1] * 11, "must be 1 numbers"),
    (np.full(10**6, 0.1), "must be 1 numbers"),
]


@pytest.mark.parametrize(("losses", "message"), BAD_LOSSES)
def test_tell_bad_losses(game, losses, message) -> None:
    before = game.pulls, game.log
    with pytest.raises(rs.InvalidLoss, match=message):
        game.tell(0, losses)
    assert (game.pulls, game.log) == before
    game.tell(0, [0.5])  # the pull is still out, and the game goes on as if nothing had been said
    assert game.pulls == (1, 0)


@pytest.mark.parametrize("arm", [2, -1, 1.0, "0", None, True, np.float64(0)])
def test_tell_no_such_arm(game, arm) -> None:
    with pytest.raises(rs.InvalidParameter, match="arm="):
        game.tell(arm, [0.1])
    assert game.pulls == (0, 0)


def test_tell_what_was_not_asked(game) -> None:
    with pytest.raises(rs.OutOfTurn, match="arm=1: must be asked for before it is told"):
        game.tell(1, [0.1])
    game.tell(0, [0.1])
    with pytest.raises(rs.OutOfTurn, match="arm=0: must be asked"):
        game.tell(0, [0.1])
    assert game.pulls == (1, 0)


def test_no_pull_beyond_the_budget() -> None:
    game = rs.RestSure().start(n_arms=1, horizon=3)
    while (pull := game.ask()) is not None:
        game.tell(pull.arm, [0.1] * pull.times)
    with pytest.raises(rs.OutOfTurn, match="must be asked"):
        game.tell(0, [0.1])
    assert game.spent == 3


def test_ask_with_nonsense(game) -> None:
    for options in (
        dict(workers=0),
        dict(workers="2"),
        dict(workers=True),
        dict(max_times=0),
        dict(max_times=1.5),
        dict(max_times=[0, 0]),
        dict(max_times=[1]),
        dict(max_times="ab"),
    ):
        with pytest.raises(rs.InvalidParameter, match="workers=|max_times="):
            game.ask(**options)
    assert game.ask() == rs.Pull(1, 1)


def test_fail_with_nonsense(game) -> None:
    with pytest.raises(rs.InvalidParameter, match="arm=7: must be at most 1"):
        game.fail(7, "x")
    with pytest.raises(rs.WrongType, match="reason=None: must be of kind str"):
        game.fail(0, None)
    game.fail(0, "broken")
    with pytest.raises(rs.OutOfTurn, match=r"arm=0: has failed already \(broken\)"):
        game.fail(0, "again")
    with pytest.raises(rs.OutOfTurn, match="arm=0: must be asked for"):
        game.tell(0, [0.1])


def test_recommend_before_anything_was_pulled() -> None:
    with pytest.raises(rs.NoArmLeft, match="no arm has been pulled yet"):
        rs.RestSure().start(n_arms=2, horizon=10).recommend()


def test_numpy_numbers_are_numbers() -> None:
    game = rs.RestSure(rho=np.float64(0.5)).start(n_arms=np.int64(2), horizon=np.int32(10))
    game.tell(game.ask().arm, np.array([0.5], dtype=np.float32))
    assert game.pulls == (1, 0)
    assert rs.Policy.from_json(rs.RestSure(rho=np.float64(0.25)).to_json()).rho == 0.25

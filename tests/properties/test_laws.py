"""Laws that hold for every game, found or refuted by Hypothesis."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import restsure as rs
from restsure.policies import Policy
from tests.drive import play

BOUNDS = st.one_of(
    st.builds(rs.bounds.ExactWeights, st.floats(0.001, 0.5), st.none() | st.integers(1, 10**6)),
    st.builds(rs.bounds.Empirical, st.none() | st.integers(1, 10**6)),
    st.builds(
        rs.bounds.Scaled,
        st.builds(rs.bounds.Theorem2, st.floats(0, 4)),
        st.floats(1e-5, 1e-2),
    ),
)
ESTIMATORS = st.sampled_from([rs.TwoWindow(), rs.LeastSquares()])
POLICIES: st.SearchStrategy[Policy] = st.builds(
    lambda kind, rho, estimator, bound, delta: kind(rho, estimator=estimator, bound=bound, delta=delta),
    st.sampled_from([rs.RestSure, rs.ExploreThenCommit]),
    st.floats(0.05, 0.99),
    ESTIMATORS,
    BOUNDS,
    st.none() | st.floats(0.001, 0.9),
)


@st.composite
def games(draw: st.DrawFn) -> tuple[Policy, np.ndarray]:
    """A policy and the losses of a game: power laws with noise, from a seed that Hypothesis chooses."""
    policy, n_arms = draw(POLICIES), draw(st.integers(1, 6))
    horizon = draw(st.integers(n_arms, 150))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    alpha, beta = rng.uniform(0, 1, (n_arms, 1)), rng.uniform(0, 0.5, (n_arms, 1))
    noise = rng.normal(0, draw(st.sampled_from([0.002, 0.05])), (n_arms, horizon))
    return policy, alpha * np.arange(1, horizon + 1) ** -policy.rho + beta + noise


def outcome(policy: Policy, table: np.ndarray, max_times: int | None = None):
    game = play(policy.start(*table.shape), table, max_times)
    return game.pulls, game.recommend().arm, [(d.spent, d.rule, d.arm, d.rival) for d in game.log]


@given(games(), st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_permuting_the_arms_permutes_the_answer(game, random) -> None:
    policy, table = game
    order = list(range(len(table)))
    random.shuffle(order)
    pulls, arm, _ = outcome(policy, table)
    permuted_pulls, permuted_arm, _ = outcome(policy, table[order])
    assert permuted_pulls == tuple(pulls[i] for i in order)
    assert order[permuted_arm] == arm


@given(games(), st.sampled_from([-3.0, 0.5, 100.0]))
@settings(max_examples=150, deadline=None)
def test_a_constant_on_all_losses_changes_no_pull(game, constant) -> None:
    """None of the bounds of the paper's algorithms looks at the level of the losses."""
    policy, table = game
    assert outcome(policy, table + constant) == outcome(policy, table)


@given(games(), st.integers(1, 40))
@settings(max_examples=100, deadline=None)
def test_told_in_blocks_or_one_by_one(game, max_times) -> None:
    policy, table = game
    assert outcome(policy, table, max_times) == outcome(policy, table)


@given(games(), st.randoms(use_true_random=False), st.integers(2, 6))
@settings(max_examples=100, deadline=None)
def test_fact_1_order_of_pulls_between_decisions(game, random, workers) -> None:
    """Fact 1: what counts is which arm is returned and how often it was pulled, not the order of the pulls."""
    policy, table = game
    shuffled = policy.start(*table.shape)
    told = [0] * len(table)
    while not shuffled.over:
        pulls = shuffled.ask(workers=workers)
        random.shuffle(pulls)
        for pull in pulls:
            shuffled.tell(pull.arm, table[pull.arm, told[pull.arm] : told[pull.arm] + pull.times])
            told[pull.arm] += pull.times
    assert (shuffled.pulls, shuffled.recommend().arm) == outcome(policy, table)[:2]


@given(games())
@settings(max_examples=100, deadline=None)
def test_spends_exactly_the_budget_and_every_arm_is_tried(game) -> None:
    policy, table = game
    pulls, arm, _ = outcome(policy, table)
    assert sum(pulls) == table.shape[1]
    assert min(pulls) >= 1
    assert pulls[arm] == max(pulls)


@given(games())
@settings(max_examples=50, deadline=None)
def test_same_losses_same_game(game) -> None:
    policy, table = game
    assert outcome(policy, table) == outcome(policy, table)


@given(POLICIES)
@settings(max_examples=200, deadline=None)
def test_json_round_trip(policy) -> None:
    again = Policy.from_json(policy.to_json())
    assert again == policy
    assert hash(again) == hash(policy)
    assert type(policy).from_dict(policy.to_dict()) == policy
    assert eval(repr(policy), vars(rs) | vars(rs.bounds)) == policy


@given(
    st.integers(0, 2**63),
    st.sampled_from([rs.Gaussian(0.1), rs.Bernoulli(), rs.BetaNoise(), None]),
    st.integers(1, 12),
)
@settings(max_examples=25, deadline=None)
def test_same_seed_same_simulation_and_runs_do_not_depend_on_each_other(seed, noise, fewer) -> None:
    arms = rs.PowerLawArms([0.5, 0.2, 0.6], [0.1, 0.2, 0.3], noise=noise)
    policy = rs.RestSure(bound=rs.bounds.ExactWeights(0.05))
    all_runs = rs.simulate(policy, arms, horizon=60, replicates=12, seed=seed)
    some = rs.simulate(policy, arms, horizon=60, replicates=fewer, seed=seed)
    for name in ("regret", "arm", "pulls", "error", "arm_pulls"):
        np.testing.assert_array_equal(getattr(all_runs, name)[:fewer], getattr(some, name))


@given(games())
@settings(max_examples=60, deadline=None)
def test_a_dominated_arm_is_never_returned_without_noise(game) -> None:
    """Without noise an arm that is worse everywhere than another loses to it."""
    policy, table = game
    n_arms, horizon = table.shape
    rng = np.random.default_rng(n_arms * horizon)
    alpha, beta = rng.uniform(0, 1, n_arms), rng.uniform(0, 0.5, n_arms)
    clean = alpha[:, None] * np.arange(1, horizon + 1) ** -policy.rho + beta[:, None]
    arm = outcome(policy, clean)[1]
    worse = (alpha[arm] > alpha + 1e-9) & (beta[arm] > beta + 1e-9)
    assert not worse.any()

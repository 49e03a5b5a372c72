"""The real algorithms against the naive ones: identical pulls, eliminations and answers, live and in bulk."""

import numpy as np
import pytest

import restsure as rs
from restsure.policies import Policy
from restsure.simulation.engine import play_out
from restsure.simulation.tape import ArmTape
from tests.paper import reference

GROUPS, RUNS = 300, 8  # 2,400 games of each algorithm
RHOS = (0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95, 1.0)


def random_group(seed: int):
    """One policy for each algorithm, its naive twins, and a table of losses (runs, arms, pulls)."""
    rng = np.random.default_rng([2012, 3522, seed])
    K = int(rng.integers(1, 9))
    T = int(rng.integers(K, 201))
    rho = float(rng.choice(RHOS))
    sigma = float(10 ** rng.uniform(-3, -0.5))
    delta = float(rng.choice([1 / max(T, 2), 0.05, 0.5]))
    scale = float(10 ** rng.uniform(-2, 0.3))
    looks = int(rng.integers(1, 1000))
    kind = str(rng.choice(["theorem2", "exact", "empirical", "self-normalized"]))
    estimator = str(rng.choice(["two-window", "least-squares"]))
    twin: reference.Radius
    estimate = reference.ESTIMATORS[estimator]
    real: rs.bounds.Bound
    fitted = {"two-window": rs.TwoWindow(), "least-squares": rs.LeastSquares()}[estimator]
    if kind == "theorem2" and rho < 1:
        scale *= 10 ** rng.uniform(-4, -1)  # the paper's constants never fire at such horizons
        real, twin = rs.bounds.Theorem2(1.0), reference.Theorem2(K, T, rho, 1.0, delta, scale)
    elif kind == "self-normalized":
        alpha_max = float(rng.uniform(0.5, 2))
        bound = rs.bounds.SelfNormalized(sigma, alpha_max)
        real, twin = bound, reference.SelfNormalized(K, rho, sigma, alpha_max, delta, scale)
        fitted = rs.LeastSquares(ridge=bound.ridge)
        estimate = lambda losses, rho: reference.least_squares(losses, rho, bound.ridge)  # noqa: E731
    elif kind == "empirical":
        real, twin = rs.bounds.Empirical(looks), reference.Empirical(K, T, rho, estimator, looks, delta, scale)
    else:
        real = rs.bounds.ExactWeights(sigma, looks)
        twin = reference.ExactWeights(K, rho, estimator, sigma, looks, delta, scale)
    options = dict(rho=rho, estimator=fitted, bound=rs.bounds.Scaled(real, scale), delta=delta)
    alpha, beta = rng.uniform(0, 1, (RUNS, K, 1)), rng.uniform(0, 0.5, (RUNS, K, 1))
    instance = rng.random()
    if instance < 0.4:  # crossing arms: the fast start ends high
        beta = 0.5 - 0.45 * alpha
    elif instance < 0.7:  # steep and nearly equal arms: exploring costs more than it tells
        alpha, beta = 1 - 0.001 * alpha, 0.001 * beta
    table = alpha * np.arange(1, T + 1) ** -rho + beta + rng.normal(0, sigma, (RUNS, K, T))
    policies = {"etc": rs.ExploreThenCommit(**options), "rest-sure": rs.RestSure(**options)}
    naive = [reference.Naive(rows.tolist(), T, rho, estimate, twin) for rows in table]
    return policies, naive, table, T


def played_live(policy: Policy, losses: np.ndarray, T: int):
    game = policy.start(len(losses), T)
    told = [0] * len(losses)
    while (pull := game.ask()) is not None:
        end = told[pull.arm] + pull.times
        game.tell(pull.arm, losses[pull.arm, told[pull.arm] : end])
        told[pull.arm] = end
    dropped = [(d.spent, d.arm) for d in game.log if "line 11" in d.rule]
    chosen = next(d for d in game.log if "line 11" not in d.rule)
    ended_by = next((line for line in ("line 4", "line 7") if line in chosen.rule), "budget")
    return reference.Played(list(game.pulls), game.recommend().arm, dropped, ended_by)


@pytest.mark.parametrize("batch", range(20))
def test_identical_games(batch: int) -> None:
    for seed in range(batch, GROUPS, 20):
        policies, naive, table, T = random_group(seed)
        for name, policy in policies.items():
            wanted = [game.rest_sure() if name == "rest-sure" else game.explore_then_commit() for game in naive]
            live = [played_live(policy, rows, T) for rows in table]
            assert live == wanted, (seed, policy)
            runs = np.arange(RUNS)
            bulk = play_out(policy.play(table.shape[1], T, RUNS), ArmTape(rs.TableArms(table), runs, seed=0))
            assert bulk.pulls.tolist() == [game.pulls for game in wanted], (seed, policy)
            assert bulk.choice.tolist() == [game.answer for game in wanted], (seed, policy)


def test_every_rule_fires_often() -> None:
    """The comparison means something only if all rules are at work in these games."""
    ended = {"line 4": 0, "line 7": 0, "budget": 0}
    eliminations = etc_commits = games = 0
    for seed in range(GROUPS):
        policies, _, table, T = random_group(seed)
        for rows in table[:2]:
            games += 1
            game = played_live(policies["rest-sure"], rows, T)
            ended[game.ended_by] += 1
            eliminations += len(game.eliminated)
            etc_commits += played_live(policies["etc"], rows, T).ended_by == "line 4"
    assert games == 600
    assert min(ended.values()) >= 40, ended
    assert eliminations >= 300
    assert etc_commits >= 100

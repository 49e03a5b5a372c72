"""Games of any kind, played at random: pulls told in any order, arms that fail or end, costs, and many looks in between."""

from typing import Any

import numpy as np
import pytest

import restsure as rs

POLICIES: dict[str, rs.Policy] = {
    "trend": rs.HorizonLCB(),
    "patient": rs.HorizonLCB(patience=2.5, floor=-0.5),
    "bank": rs.HorizonLCB(rs.CurveBank()),
    "known": rs.HorizonLCB(rs.PowerLaw(0.6)),
    "certified": rs.HorizonLCB(rs.PowerLaw(0.5, 0.1), certified=True, delta=0.1),
    "reference": rs.HorizonLCB(reference=2.0),
    "speculative": rs.HorizonLCB(speculative=True),
}
CURVES = {
    "falls": lambda arm, s: s**-0.5 + 0.05 * arm,
    "stands": lambda arm, s: 0.1,
    "rises": lambda arm, s: 0.01 * s + 0.1 * arm,
    "nothing": lambda arm, s: 0.0,
    "below": lambda arm, s: -1 + 1 / s,
    "explodes": lambda arm, s: 1.5 ** min(s, 100),
}


@pytest.mark.parametrize("kind", ["pulls", "costs", "ends", "both", "measured"])
@pytest.mark.parametrize("name", POLICIES)
def test_every_game_ends_in_good_order(name: str, kind: str) -> None:
    if (name, kind) == ("certified", "measured"):
        with pytest.raises(rs.InvalidParameter, match="must be known beforehand when certified"):
            POLICIES[name].start(2, 10.0, costs="measured")
        return
    for seed in range(12):
        rng = np.random.default_rng([seed, len(name), len(kind)])
        play_at_random(POLICIES[name], kind, rng)


def play_at_random(policy: rs.Policy, kind: str, rng: np.random.Generator) -> None:
    n_arms = int(rng.choice([1, 2, 3, 5, 12]))
    total: Any = max(int(rng.choice([n_arms, 2 * n_arms, 60])), n_arms)
    options: dict[str, Any] = {}
    if kind in ("costs", "both"):
        options["costs"] = rng.uniform(0.2, 3, n_arms).tolist()
        total = 1.01 * max(total, sum(options["costs"]))
    if kind in ("ends", "both"):
        options["max_pulls"] = rng.integers(1, 30, n_arms).tolist()
    if kind == "measured":
        options["costs"] = "measured"
    game = policy.start(n_arms, total, **options)
    curve, noise, workers = rng.choice(list(CURVES.values())), rng.choice([0, 0.1]), int(rng.integers(1, 5))
    out, told, dearest = dict[int, int](), [0] * n_arms, 0.0
    while not game.over:
        for pull in game.ask(workers=workers - len(out)) if len(out) < workers else ():
            assert pull.arm not in out
            assert pull.times >= 1
            out[pull.arm] = pull.times
        if rng.random() < 0.1:
            look(game, sum(told))
        if not out:
            continue
        arm = int(rng.choice(list(out)))
        times = out.pop(arm)
        if rng.random() < 0.02 and len(game.failures) < n_arms - 1:
            game.fail(arm, "by chance")
            continue
        cost = {"cost": times * rng.uniform(0.01, 2)} if kind == "measured" else {}
        dearest = max(dearest, *cost.values(), 0.0)
        game.tell(arm, [curve(arm, told[arm] + k) + noise * rng.normal() for k in range(1, times + 1)], **cost)
        told[arm] += times
        if rng.random() < 0.02:
            game.finish(arm)
    best = game.recommend()
    assert best.arm not in game.failures
    assert best.low <= best.loss <= best.high
    assert game.pulls == tuple(told)
    assert game.spent <= total * (1 + 1e-6) + workers * dearest
    assert all(pulls <= most for pulls, most in zip(told, options.get("max_pulls", told), strict=True))
    look(game, sum(told))


def look(game: rs.Game, spent: int) -> None:
    """Whoever looks at a game finds something, and changes nothing."""
    before = game.pulls, game.log
    assert game.explain().startswith("After ")
    assert game.outlook(spent + 1) is not None
    assert len(game.lengths) == len(game.costs) == game.n_arms
    assert game.given_up >= game.failures.keys()
    assert (game.pulls, game.log) == before

"""Every policy of the package passes every check of ``restsure.testing``."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

import restsure as rs
from restsure.policies.phases import Phase, PhasesPlay
from restsure.testing import CHECKS, check_policy

POLICIES: list[rs.Policy] = [
    rs.RestSure(),
    rs.RestSure.as_published(),
    rs.RestSure(bound=rs.bounds.ExactWeights(0.02)),
    rs.RestSure(bound=rs.bounds.SelfNormalized(0.02)),
    rs.ExploreThenCommit(bound=rs.bounds.ExactWeights(0.02)),
    rs.HorizonLCB(),
    rs.HorizonLCB(floor=-0.2, patience=0.5),
    rs.HorizonLCB(rs.PowerLaw(0.5)),
    rs.HorizonLCB(rs.PowerLaw(0.5, sigma=0.02), patience=2),
    rs.HorizonLCB(rs.PowerLaw(0.5, sigma=0.02), certified=True, delta=0.1),
    rs.HorizonLCB(rs.CurveBank(), patience=2),
    rs.RoundRobin(),
    rs.RoundRobin(eps=0.25),
    rs.FixedExploration(0.1),
    rs.FixedExploration(0.5),
    rs.SuccessiveRejects(),
    rs.SuccessiveHalving(),
    rs.SuccessiveHalving(eta=3),
    rs.UCBE(),
    rs.UCBE(a=1.0),
    rs.RisingSuccessiveRejects(),
    rs.RisingUCBE(sigma=0.02),
    rs.RisingUCBE(sigma=0.02, a=3.0, factor=10),
    rs.RisingUCB(sigma=0.02),
    rs.RisingElimination(),
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_conformance(policy: rs.Policy, check: Callable[[rs.Policy], None]) -> None:
    check(policy)


def test_every_public_policy_is_checked() -> None:
    public = {value for value in vars(rs).values() if isinstance(value, type) and issubclass(value, rs.Policy)}
    assert public - {rs.Policy} == {type(policy) for policy in POLICIES}


@dataclass(frozen=True)
class Lavish(rs.Policy):
    """Wants more pulls than there are."""

    def play(self, n_arms: int, horizon: int, runs: int, *, log: bool = False) -> PhasesPlay:
        return PhasesPlay([Phase(horizon, 1)], n_arms, horizon, runs, eps=None, log=log)


class FavouritePlay(PhasesPlay):
    """Returns arm 0 whatever happens."""

    def best(self, rows, allowed=None):
        return np.zeros(len(rows), dtype=np.intp)


@dataclass(frozen=True)
class Favourite(rs.Policy):
    def play(self, n_arms: int, horizon: int, runs: int, *, log: bool = False) -> PhasesPlay:
        return FavouritePlay([Phase(horizon // (2 * n_arms) or 1, 1)], n_arms, horizon, runs, eps=None, log=log)


@pytest.mark.parametrize("bad", [Lavish(), Favourite()])
def test_the_checks_catch_bad_policies(bad: rs.Policy) -> None:
    with pytest.raises(AssertionError, match=type(bad).__name__):
        check_policy(bad)

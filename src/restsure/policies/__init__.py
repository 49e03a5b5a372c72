"""Radius in, next pull out: one rule a file, the paper's lines named."""

from restsure.policies.exploration import rising_ucbe_exploration, ucbe_exploration
from restsure.policies.explore_then_commit import ExploreThenCommit
from restsure.policies.fixed_exploration import FixedExploration
from restsure.policies.game import Game
from restsure.policies.horizon_lcb import HorizonLCB
from restsure.policies.play import Play
from restsure.policies.policy import Policy, check_game
from restsure.policies.rest_sure import RestSure
from restsure.policies.rising_elimination import RisingElimination
from restsure.policies.rising_successive_rejects import RisingSuccessiveRejects
from restsure.policies.rising_ucb import RisingUCB
from restsure.policies.rising_ucbe import RisingUCBE
from restsure.policies.round_robin import RoundRobin
from restsure.policies.successive_halving import SuccessiveHalving
from restsure.policies.successive_rejects import SuccessiveRejects
from restsure.policies.ucbe import UCBE

__all__ = [
    "UCBE",
    "ExploreThenCommit",
    "FixedExploration",
    "Game",
    "HorizonLCB",
    "Play",
    "Policy",
    "RestSure",
    "RisingElimination",
    "RisingSuccessiveRejects",
    "RisingUCB",
    "RisingUCBE",
    "RoundRobin",
    "SuccessiveHalving",
    "SuccessiveRejects",
    "check_game",
    "rising_ucbe_exploration",
    "ucbe_exploration",
]

"""Radius in, next pull out: one rule a file, the paper's lines named."""

from restsure.policies.explore_then_commit import ExploreThenCommit
from restsure.policies.game import Game
from restsure.policies.play import Play
from restsure.policies.policy import Policy, check_game
from restsure.policies.rest_sure import RestSure

__all__ = ["ExploreThenCommit", "Game", "Play", "Policy", "RestSure", "check_game"]

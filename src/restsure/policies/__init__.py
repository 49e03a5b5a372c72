"""Radius in, next pull out: one rule a file, the paper's lines named."""

from restsure.policies.base import Play, Policy
from restsure.policies.explore_then_commit import ExploreThenCommit
from restsure.policies.game import Game
from restsure.policies.rest_sure import RestSure

__all__ = ["ExploreThenCommit", "Game", "Play", "Policy", "RestSure"]

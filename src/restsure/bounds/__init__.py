"""Curve in, radius out: how far an estimated loss can be from the true one."""

from restsure.bounds.base import Bound, Claim
from restsure.bounds.empirical import Empirical
from restsure.bounds.exact_weights import ExactWeights
from restsure.bounds.scaled import Scaled
from restsure.bounds.self_normalized import SelfNormalized
from restsure.bounds.theorem2 import Theorem2

__all__ = ["Bound", "Claim", "Empirical", "ExactWeights", "Scaled", "SelfNormalized", "Theorem2"]

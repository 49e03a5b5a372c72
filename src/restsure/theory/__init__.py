"""The theorems as functions. Each docstring says which statement it is and what it assumes."""

from restsure.theory.explore_then_commit import (
    UpperBound,
    explore_then_commit_bound,
    explore_then_commit_terms,
    separation_constant,
)
from restsure.theory.lower_bound import corollary1_bound, lower_bound, suboptimal_pulls
from restsure.theory.radius import theorem2_radius, unchecked_radius
from restsure.theory.rest_sure import corollary2_bound, corollary2_terms, rest_sure_bound, rest_sure_terms

__all__ = [
    "UpperBound",
    "corollary1_bound",
    "corollary2_bound",
    "corollary2_terms",
    "explore_then_commit_bound",
    "explore_then_commit_terms",
    "lower_bound",
    "rest_sure_bound",
    "rest_sure_terms",
    "separation_constant",
    "suboptimal_pulls",
    "theorem2_radius",
    "unchecked_radius",
]

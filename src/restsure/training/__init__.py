"""Real learners under one budget: data in, the best model out, trained."""

from restsure.training.adapters import Learner, as_learner
from restsure.training.result import Certificate, History, Result
from restsure.training.select import select

__all__ = ["Certificate", "History", "Learner", "Result", "as_learner", "select"]

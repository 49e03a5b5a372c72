"""Real learners under one budget: data in, the best model out, trained."""

from restsure.training.adapters import Learner, as_learner
from restsure.training.checkpoints import Checkpoints
from restsure.training.executors import ProcessExecutor
from restsure.training.recorded import Recorded, findings, read_run, saved_types
from restsure.training.result import Certificate, History, Result
from restsure.training.select import select

__all__ = [
    "Certificate",
    "Checkpoints",
    "History",
    "Learner",
    "ProcessExecutor",
    "Recorded",
    "Result",
    "as_learner",
    "findings",
    "read_run",
    "saved_types",
    "select",
]

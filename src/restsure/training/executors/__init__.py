"""Where pulls run: in this process, or each candidate in one of its own."""

from restsure.training.executors.base import Crew, Executor, Outcome, one_line, trained
from restsure.training.executors.in_process import InProcess
from restsure.training.executors.processes import ProcessExecutor

__all__ = ["Crew", "Executor", "InProcess", "Outcome", "ProcessExecutor", "one_line", "trained"]

"""Optuna: a pruner that looks at where a trial is going, and a loop that pauses and resumes trials under one budget."""

from restsure.errors import MissingExtra

try:
    import optuna as _optuna  # noqa: F401
except ImportError:
    raise MissingExtra("restsure.integrations.optuna needs optuna: pip install 'restsure[optuna]'") from None

from restsure.integrations.optuna_optimize import Optimization, optimize
from restsure.integrations.optuna_pruner import HorizonPruner

__all__ = ["HorizonPruner", "Optimization", "optimize"]

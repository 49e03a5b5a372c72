"""Benchmark suites: problems by name, and who plays them."""

from collections.abc import Callable
from pathlib import Path

from restsure.simulation.suites.bench import Score, run_suite
from restsure.simulation.suites.curves import curves
from restsure.simulation.suites.in_model import in_model
from restsure.simulation.suites.line_up import DEFAULTS, LINE_UP, entries
from restsure.simulation.suites.rising import rising
from restsure.simulation.suites.row import Row
from restsure.simulation.suites.shapes import shapes

SUITES: dict[str, Callable[[Path | str | None], list[Row]]] = {
    "in-model": in_model,
    "rising": rising,
    "shapes": shapes,
    "curves": curves,
}

__all__ = ["DEFAULTS", "LINE_UP", "SUITES", "Row", "Score", "entries", "run_suite"]

"""Show what happened: pictures of games and curves (extra ``plot``), reports (``report``), a live page (``dashboard``)."""

from restsure.report.html import save_report
from restsure.report.plots import plot_curves, plot_ribbon, plot_scores, plot_selection, save_comparison
from restsure.report.story import story_of

__all__ = [
    "plot_curves",
    "plot_ribbon",
    "plot_scores",
    "plot_selection",
    "save_comparison",
    "save_report",
    "story_of",
]

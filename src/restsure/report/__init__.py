"""Show what happened: pictures (extra ``plot``), reports, a live page (extra ``dashboard``)."""

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

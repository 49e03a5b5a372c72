"""Show what happened: pictures of runs and benchmarks (extra ``plot``), reports, a live page (``dashboard``).

A picture takes a run as its result, its directory or the path of that, or its story, which saves making it again for each.
"""

from restsure.report.html import save_report
from restsure.report.plots import plot_curves, plot_outlook, plot_ribbon, plot_run, plot_what_if
from restsure.report.scores import plot_scores
from restsure.report.story import story_of

__all__ = [
    "plot_curves",
    "plot_outlook",
    "plot_ribbon",
    "plot_run",
    "plot_scores",
    "plot_what_if",
    "save_report",
    "story_of",
]

"""Show what happened: pictures of runs and of benchmarks. Drawing needs the extra ``plot``."""

from restsure.report.plots import plot_curves, plot_outlook, plot_ribbon, plot_run, plot_what_if
from restsure.report.scores import plot_scores
from restsure.report.story import story_of

__all__ = ["plot_curves", "plot_outlook", "plot_ribbon", "plot_run", "plot_scores", "plot_what_if", "story_of"]

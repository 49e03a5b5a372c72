"""Show what happened: pictures of games and curves. Needs the extra ``plot``."""

from restsure.report.plots import plot_curves, plot_ribbon, plot_scores, save_comparison

__all__ = ["plot_curves", "plot_ribbon", "plot_scores", "save_comparison"]

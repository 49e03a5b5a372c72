"""Plots with matplotlib, readable in print and by colour-blind readers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from restsure.arms import PowerLawArms
from restsure.errors import MissingExtra
from restsure.estimators import fit_curve
from restsure.report.trace import Trace
from restsure.simulation.suites import Score
from restsure.training import Result

# Okabe and Ito's palette, told apart with every common colour blindness; the yellow is darkened for white paper.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#B8A700", "#000000")


def pyplot() -> Any:
    """matplotlib's pyplot, drawing to files; or an error that names the extra."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtra("plots need matplotlib: pip install 'restsure[plot]'") from None
    return plt


def colour(arm: int) -> str:
    """The colour of an arm, the same in every plot."""
    return PALETTE[arm % len(PALETTE)]


def plot_curves(axes: Any, trace: Trace, names: Sequence[str], arms: PowerLawArms) -> None:
    """True curves (dotted), fitted curves with a band of two standard deviations, solid as far as each arm was pulled.

    Beyond its pulls a curve is an extrapolation to the horizon and drawn dashed.
    """
    horizon = trace.game.horizon
    everywhere = np.unique(np.geomspace(1, horizon, 200).round())
    for arm, losses in enumerate(trace.losses):
        axes.plot(everywhere, arms.mean(0, arm, everywhere), ":", color=colour(arm), lw=1, zorder=2)
        if len(losses) < 3:
            continue
        fit = fit_curve(losses, rho=arms.rho)
        reached = np.unique(np.geomspace(1, len(losses), 100).round())
        beyond = np.unique(np.geomspace(len(losses), horizon, 50).round())
        label = f"{names[arm]}: {len(losses):,} pulls"
        axes.plot(reached, fit.predict(reached)[0], "-", color=colour(arm), lw=1.8, label=label, zorder=3)
        axes.plot(beyond, fit.predict(beyond)[0], "--", color=colour(arm), lw=0.9, zorder=3)
        mean, sd = fit.predict(everywhere)
        axes.fill_between(everywhere, mean - 2 * sd, mean + 2 * sd, color=colour(arm), alpha=0.13, lw=0, zorder=1)
    axes.set_xscale("log")
    axes.set_xlim(1, horizon)
    means = arms.means(np.array([0]), 1)[0]
    axes.set_ylim(0, 1.08 * float(means.max()))
    axes.set_xlabel("pulls of the arm")
    axes.set_ylabel("loss")
    axes.legend(fontsize=7, loc="upper right", frameon=False)
    axes.text(
        0.01,
        0.02,
        "dotted: truth    solid: fit so far    dashed: extrapolation    band: fit ± 2 sd",
        transform=axes.transAxes,
        fontsize=6.5,
        color="#555555",
    )


def plot_ribbon(axes: Any, trace: Trace, names: Sequence[str]) -> None:
    """Who was pulled when, over the whole budget; a cross where an arm was eliminated, a star where the game committed."""
    spans: dict[int, list[tuple[int, int]]] = {arm: [] for arm in range(len(names))}
    spent = 0
    for pull in trace.pulls:
        spans[pull.arm].append((spent, pull.times))
        spent += pull.times
    for arm, blocks in spans.items():
        axes.broken_barh(blocks, (arm - 0.32, 0.64), facecolors=colour(arm), edgecolors=colour(arm), lw=0.3)
    for decision in trace.game.log:
        mark, size = ("x", 5) if "line 11" in decision.rule else ("*", 9)
        edge = "white" if mark == "*" else "black"
        axes.plot(decision.spent, decision.arm, mark, color="black", mec=edge, ms=size, clip_on=False, zorder=5)
    axes.set_xlim(0, trace.game.horizon)
    axes.set_yticks(range(len(names)), names, fontsize=7)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel("pulls spent in total   (x: eliminated, star: chosen for the rest)")


def save_comparison(
    path: str | Path, runs: Mapping[str, tuple[Trace, PowerLawArms]], names: Mapping[str, Sequence[str]]
) -> Path:
    """One column a run: its curves above, its ribbon below. Returns where the picture is."""
    plt = pyplot()
    figure, grid = plt.subplots(
        2, len(runs), figsize=(6.4 * len(runs), 7.2), height_ratios=(3, 2), squeeze=False, layout="constrained"
    )
    for column, (title, (trace, arms)) in enumerate(runs.items()):
        plot_curves(grid[0][column], trace, names[title], arms)
        grid[0][column].set_title(title, fontsize=10)
        plot_ribbon(grid[1][column], trace, names[title])
    path = Path(path)
    figure.savefig(path, dpi=140)
    plt.close(figure)
    return path


def plot_selection(path: str | Path, result: Result) -> Path:
    """A selection: the losses of every candidate, smoothed, over its training steps; and who was trained when."""
    plt = pyplot()
    names = list(result.names)
    figure, (curves, ribbon) = plt.subplots(2, 1, figsize=(8.2, 7.6), height_ratios=(3, 2), layout="constrained")
    for k, name in enumerate(names):
        losses = np.array(result.history.losses(name))
        if not len(losses):
            continue
        steps, style = np.arange(1, len(losses) + 1), "-" if k < len(PALETTE) else "--"
        smooth = [losses[max(0, int(0.8 * s) - 1) : s].mean() for s in steps]
        curves.plot(steps, losses, ".", ms=2, alpha=0.25, color=colour(k))
        width = 2.6 if name == result.name else 1.1
        curves.plot(steps, smooth, style, color=colour(k), lw=width, label=f"{name}: {len(losses):,} steps")
    curves.set_xscale("log")
    curves.set_xlabel("training steps of the candidate")
    curves.set_ylabel("loss on the next batch")
    curves.set_title(str(result), fontsize=9, loc="left")
    curves.legend(fontsize=7, frameon=False, loc="upper right")
    for block in result.history:
        k = names.index(block.name)
        ribbon.broken_barh([(block.spent, block.cost)], (k - 0.36, 0.72), facecolors=colour(k))
    ribbon.set_yticks(range(len(names)), names, fontsize=7)
    ribbon.set_ylim(len(names) - 0.5, -0.5)
    ribbon.set_xlim(0, max(result.budget, result.spent))
    ribbon.set_xlabel(f"{result.unit} in total")
    for axes in (curves, ribbon):
        axes.spines[["top", "right"]].set_visible(False)
    path = Path(path)
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path


def plot_scores(path: str | Path, scores: Sequence[Score], *, unit: str) -> Path:
    """Mean regrets of a benchmark: a line of dots a row, a colour and a shape a policy, with two standard errors."""
    plt = pyplot()
    rows = list(dict.fromkeys((score.group, score.row) for score in scores))
    policies = list(dict.fromkeys(score.policy for score in scores))
    figure, axes = plt.subplots(figsize=(9, 1.6 + 0.3 * len(rows)), layout="constrained")
    floor = max(0.01, min((score.regret for score in scores if score.regret > 0), default=1.0) / 2)
    for k, policy in enumerate(policies):
        mine = [score for score in scores if score.policy == policy]
        at = np.array([max(score.regret, floor) for score in mine])
        spread = 2 * np.array([score.se for score in mine])
        axes.errorbar(
            at,
            [rows.index((score.group, score.row)) for score in mine],
            xerr=[np.minimum(spread, at - floor), spread],
            fmt="osD^v<>PX*"[k % 10],
            ms=5,
            lw=0.8,
            color=colour(k),
            mfc=colour(k) if k < len(PALETTE) else "white",
            label=policy,
        )
    axes.set_xscale("log")
    axes.set_xlim(left=floor)
    axes.set_yticks(range(len(rows)), [row if group in row else f"{group}, {row}" for group, row in rows], fontsize=7)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(axis="y", lw=0.3)
    axes.set_xlabel(f"mean regret in {unit} (log scale, from {floor:.2g} on), ± 2 standard errors")
    figure.legend(*axes.get_legend_handles_labels(), fontsize=7, loc="outside lower center", ncols=6, frameon=False)
    path = Path(path)
    figure.savefig(path, dpi=140)
    plt.close(figure)
    return path

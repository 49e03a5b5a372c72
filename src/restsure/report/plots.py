"""Pictures of a run with matplotlib, all drawn from its :func:`story <restsure.report.story.story_of>`.

Every function takes a result, a run directory or its path, or a story (which saves making it again for each picture),
draws on the axes it is given, or on those of a new figure, and gives them back.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np

from restsure.errors import InvalidParameter
from restsure.report.drawing import (
    GREY,
    INK,
    Look,
    label_ends,
    label_points,
    new_figure,
    own_axes,
    printable,
    save,
)
from restsure.report.panels import (
    EVENTS,
    Run,
    as_story,
    draw_interval,
    draw_key,
    event_mark,
    is_wide,
    label_spent,
    looks_of,
    loss_name,
    parts_of,
    set_limits,
)

_IDLE = "#DDDDDD"  # the line of a row in which nothing happens


def plot_run(run: Run, path: Path | str | None = None) -> Any:
    """Curves, what was predicted, and who was trained when, one above the other; the axes, or the path if one is given.

    The prediction is left out where the policy makes none.
    """
    story = as_story(run)
    predicts = bool(story["outlook"]["spent"])
    rows = len(story["shown"])
    heights = [3.4, *([2.2] if predicts else []), 0.9 + min(0.21 * rows, 4.5)]
    figure = new_figure(7.6, sum(heights) + 0.6, shown=path is None)
    axes = np.atleast_1d(figure.subplots(len(heights), 1, height_ratios=heights))
    plot_curves(story, axes[0])
    if predicts:
        plot_outlook(story, axes[1])
    plot_ribbon(story, axes[-1])
    figure.suptitle(_title(story), fontsize=8.5, x=0.01, ha="left")
    return axes if path is None else save(figure, path)


def plot_curves(run: Run, axes: Any = None) -> Any:
    """The losses of every candidate over its own training steps, smoothed, and where each could still get.

    Dots are losses; a line is the mean of the last fifth of them, with a mark where the candidate stands; dashed, with a band,
    is what the policy predicts from there to the candidate's reach, all that the rest of the budget could give it.
    """
    story, axes = as_story(run), own_axes(axes)
    ends, levels, edges = list[tuple[Look, float, str]](), list[float](), list[float]()
    for arm, style in looks_of(story).items():
        curve, candidate = story["curves"][arm], story["candidates"][arm]
        steps, smooth = np.array(curve["steps"]), np.array(curve["smooth"], dtype=np.float64)
        if not len(steps):
            continue
        winner = arm == story["head"]["leader"]
        if style.leading:
            axes.plot(steps, curve["losses"], ".", ms=3, alpha=0.35, color=style.color, zorder=1.5, mew=0)
        axes.plot(steps, smooth, "-", **style.line | ({"lw": 2.6} if winner else {}))
        axes.plot(steps[-1:], smooth[-1:], **style.mark("X" if candidate["state"] == "failed" else ""))
        end, levels = float(smooth[-1]), levels + smooth.tolist()
        band = parts_of(story["bands"].get(arm))
        if len(band["mean"]):
            axes.plot(band["steps"], band["mean"], "--", **style.line | {"lw": 1.1 if style.leading else 0.5})
            draw_interval(axes, band["steps"], band, style, slice(-1 - style.place, len(band["mean"]) - style.place))
            end, levels = float(band["mean"][-1]), levels + band["mean"].tolist()
            edges += [*band["low"], *band["high"]] if style.banded else []
        ends.append((style, end, _steps(candidate)))
    if axes.dataLim.x1 > 10:
        axes.set_xscale("log")
    else:
        axes.locator_params(axis="x", integer=True)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    set_limits(axes, levels, edges, wide=is_wide(story))
    axes.set_xlabel("training steps of the candidate")
    axes.set_ylabel(loss_name(story))
    label_ends(axes, ends)
    return axes


def plot_ribbon(run: Run, axes: Any = None) -> Any:
    """Who was trained when, over the budget, and where a candidate was given up, failed, or was chosen for the rest."""
    story = as_story(run)
    styles, head = looks_of(story), story["head"]
    axes = own_axes(axes, 6.4, 0.9 + 0.21 * len(styles))
    rows = {arm: row for row, arm in enumerate(styles)}
    for arm, style in styles.items():
        spans = [(start, end - start) for start, end in story["ribbon"][arm]]
        axes.axhline(rows[arm], color=_IDLE, lw=0.5, zorder=0)
        axes.broken_barh(
            spans, (rows[arm] - 0.36, 0.72), facecolors=style.color, edgecolors=style.color, lw=0.4, zorder=2
        )
    marked = [line for line in story["log"] if line["kind"] in EVENTS and line["arm"] in rows]
    for line in marked:
        axes.plot([line["spent"]], [rows[line["arm"]]], **event_mark(line["kind"]), clip_on=False, zorder=5)
    axes.set_xlim(0, max(head["budget"], head["spent"]))
    names = [style.name for style in styles.values()]
    axes.set_yticks(range(len(rows)), names, fontsize=7 if len(rows) <= 20 else 5.5)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    label_spent(axes, head["unit"])
    draw_key(axes, [kind for kind in EVENTS if any(line["kind"] == kind for line in marked)])
    return axes


def plot_outlook(run: Run, axes: Any = None) -> Any:
    """The final loss that was predicted of every candidate, had it got all that was left, as the run went on; 90 % bands.

    Raises InvalidParameter where the policy predicts nothing.
    """
    story = as_story(run)
    spent, of = story["outlook"]["spent"], story["outlook"]["of"]
    if not spent:
        raise InvalidParameter("run: must be one of a policy that predicts losses, and have begun")
    axes, failed = own_axes(axes), {line["arm"]: line["spent"] for line in story["log"] if line["kind"] == "failed"}
    ends, levels, edges = list[tuple[Look, float, str]](), list[float](), list[float]()
    for arm, style in looks_of(story).items():
        known = sum(at <= failed.get(arm, math.inf) for at in spent)  # of one that failed nothing more is expected
        parts = parts_of({part: values[:known] for part, values in (of[arm] | {"spent": spent}).items()})
        if not len(parts["mean"]):
            continue
        at, leads = parts["spent"], arm == story["head"]["leader"]
        axes.plot(at, parts["mean"], "-", **style.line | ({"lw": 2.4} if leads else {}))
        if style.leading:  # marks and intervals here and there, beside those of the others
            some = slice((2 * style.place + 1) * len(at) // 40, None, max(1, len(at) // 5))
            axes.plot(at[some], parts["mean"][some], **style.mark(), clip_on=False)
            draw_interval(axes, at, parts, style, some)
        if arm in failed:
            axes.plot(at[-1:], parts["mean"][-1:], **style.mark("X"))
        ends.append((style, float(parts["mean"][-1]), ", failed" * (arm in failed)))
        settled = len(at) // 10
        levels += parts["mean"][settled:].tolist()
        edges += [*parts["low"][settled:], *parts["high"][settled:]] if style.banded else []
    axes.set_xlim(0, max(story["head"]["budget"], story["head"]["spent"]))
    set_limits(axes, levels, edges, wide=is_wide(story))
    label_spent(axes, story["head"]["unit"])
    axes.set_ylabel(f"predicted final {loss_name(story)}")
    label_ends(axes, ends)
    return axes


def plot_what_if(run: Run, axes: Any = None) -> Any:
    """The loss of the best choice against the budget, with a 90 % band: by the losses as far as the run went, predicted beyond.

    Marks say which candidate that is, from where on; the vertical line is what was spent.
    """
    story, axes = as_story(run), own_axes(axes)
    head = story["head"]
    changes, levels, edges = list[tuple[float, float, int]](), list[float](), list[float]()
    for part, line, label in (("before", "-", "by the losses so far"), ("ahead", "--", "predicted")):
        found = story["what_if"][part]
        at = np.array(found["budget"], dtype=np.float64)
        if not len(at):
            continue
        loss, low, high = (np.array(found[name], dtype=np.float64) for name in ("loss", "low", "high"))
        axes.plot(at, loss, line, color=INK, lw=1.6, zorder=3, label=label)
        axes.fill_between(at, low, high, color=INK, alpha=0.15, lw=0, zorder=1)
        changes += list(zip(at.tolist(), loss.tolist(), found["arm"], strict=True))
        levels += loss.tolist()
        edges += [*low.tolist(), *high.tolist()]
    if not changes:
        raise InvalidParameter("run: must have begun")
    axes.axvline(head["spent"], color=GREY, lw=0.8, ls=":", zorder=0)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:,g}")
    set_limits(axes, levels, edges, wide=is_wide(story))
    axes.set_xlabel(f"budget in {head['unit']}")
    axes.set_ylabel(f"{loss_name(story)} of the best choice")
    _mark_changes(axes, changes, looks_of(story))
    axes.legend(loc="upper right", fontsize=7, frameon=False)
    return axes


def _mark_changes(axes: Any, changes: Sequence[tuple[float, float, int]], styles: Mapping[int, Look]) -> None:
    """The mark and the name of every leading candidate, where it becomes the best choice for the last time."""
    arms = [arm for _, _, arm in changes]
    last = {arm: k for k, arm in enumerate(arms) if k == 0 or arms[k - 1] != arm}
    points = [(styles[arm], *changes[k][:2]) for arm, k in last.items() if arm in styles and styles[arm].leading]
    for style, at, loss in points:
        axes.plot([at], [loss], **style.mark())
    label_points(axes, points)


def _steps(candidate: Mapping[str, Any]) -> str:
    """How many training steps it has had, and whether it failed: what stands behind its name."""
    steps, failed = candidate["steps"], candidate["state"] == "failed"
    return f" · {steps:,} step{'s' * (steps != 1)}{', failed' * failed}"


def _title(story: Mapping[str, Any]) -> str:
    """The outcome in a sentence, on two lines at the most."""
    return "\n".join(printable(wrap(story["head"]["sentence"], 112, max_lines=2, placeholder=" …"), longest=113))

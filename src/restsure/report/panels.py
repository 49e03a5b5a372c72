"""What the pictures of a run have in common: the run itself, looks of its candidates, axes in its units, marks of events."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from restsure.errors import WrongType
from restsure.report.drawing import Look, looks
from restsure.report.story import story_of
from restsure.training import Recorded, Result, read_run

Run = Result | Recorded | Path | str | Mapping[str, Any]
"""A run, however it is at hand: a result, a run directory or its path, or a story."""

EVENTS = {"given up": ("x", 4.5), "failed": ("X", 6.0), "chosen": ("*", 9.0)}
"""What can happen to a candidate -> the shape and the size of its mark."""

_FAR = 30  # times what most candidates end with: losses that far above call for a logarithmic axis


def as_story(run: Run) -> Mapping[str, Any]:
    """The story of whatever stands for a run."""
    if isinstance(run, Mapping) and {"head", "curves", "log"} <= run.keys():
        return run
    if isinstance(run, (str, Path)):
        return story_of(read_run(run))
    if isinstance(run, (Result, Recorded)):
        return story_of(run)
    raise WrongType(f"run: must be a result, a run directory or a story, not {type(run).__name__}")


def loss_name(story: Mapping[str, Any]) -> str:
    """What the losses of a run are called, as far as it was told."""
    told = dict(story["configuration"]).get("data: loss", "")
    return f"{told.replace('_', '-')} loss" if told.isidentifier() else "loss"


def looks_of(story: Mapping[str, Any]) -> dict[int, Look]:
    """Of the candidates that are shown; the one that leads comes first, then those with the most training steps."""
    candidates, leader = story["candidates"], story["head"]["leader"]
    order = sorted(story["shown"], key=lambda arm: (arm != leader, -candidates[arm]["steps"]))
    found = looks([each["name"] for each in candidates], order)
    return {arm: found[arm] for arm in story["shown"]}


def parts_of(told: Mapping[str, Any] | None) -> dict[str, Any]:
    """Lists of a story as arrays, where there is something to draw; empty where there is nothing."""
    parts = {name: np.array(values, dtype=np.float64) for name, values in (told or {"mean": []}).items()}
    known = np.isfinite(parts["mean"])
    return {name: values[known] for name, values in parts.items()}


def draw_interval(axes: Any, at: Any, parts: Mapping[str, Any], style: Look, some: slice) -> None:
    """Of the first few a band, of others that lead bars at ``some`` places."""
    if style.banded:
        axes.fill_between(at, parts["low"], parts["high"], color=style.color, alpha=0.12, lw=0, zorder=1)
    elif style.leading:
        axes.vlines(at[some], parts["low"][some], parts["high"][some], color=style.color, lw=0.9, zorder=2)


def set_limits(axes: Any, levels: Sequence[float], edges: Sequence[float], *, wide: bool) -> None:
    """All lines, and as much of the bands as leaves half of the height to the lines; in logarithms if ``wide``."""
    lines, bands = (np.array(values, dtype=np.float64) for values in (levels, edges))
    lines, bands = lines[np.isfinite(lines)], bands[np.isfinite(bands)]
    if not len(lines):
        return
    if wide:
        axes.set_yscale("log")
        lines = lines[lines > 0]
        axes.set_ylim(lines.min() / 1.5, lines.max() * 1.5)
        return
    low, high = float(lines.min()), float(lines.max())
    span = (high - low) or abs(high) or 1.0
    bottom, top = min([low, *bands]), max([high, *bands])
    axes.set_ylim(max(bottom, low - 0.5 * span) - 0.04 * span, min(top, high + 0.5 * span) + 0.04 * span)


def is_wide(story: Mapping[str, Any]) -> bool:
    """Whether some losses are so far above most of the last ones that these could not be told apart."""
    curves = [np.array(curve["smooth"]) for curve in story["curves"].values() if len(curve["smooth"])]
    if not curves:
        return False
    seen = np.concatenate(curves)
    return bool(seen.min() > 0 and seen.max() > _FAR * np.median([curve[-1] for curve in curves]))


def label_spent(axes: Any, unit: str) -> None:
    """What is spent of the budget, in its unit, along x."""
    axes.locator_params(axis="x", integer=unit != "seconds")
    axes.xaxis.set_major_formatter("{x:,g}")
    axes.set_xlabel(f"{unit} spent, over all candidates")


def event_mark(kind: str) -> dict[str, Any]:
    """The mark of an event, to be seen on every colour."""
    from matplotlib.patheffects import withStroke

    shape, size = EVENTS[kind]
    halo = [withStroke(linewidth=2.4, foreground="white")]
    return {
        "ls": "",
        "marker": shape,
        "ms": size,
        "color": "black",
        "mew": 1.2 if shape == "x" else 0.4,
        "path_effects": halo,
    }


def draw_key(axes: Any, kinds: Sequence[str]) -> None:
    """What the marks mean, above the axes."""
    from matplotlib.lines import Line2D

    if kinds:
        marks = [Line2D([], [], **event_mark(kind)) for kind in kinds]
        axes.legend(marks, kinds, loc="lower right", bbox_to_anchor=(1, 1), ncols=3, fontsize=7, frameon=False)

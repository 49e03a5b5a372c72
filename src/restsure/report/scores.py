"""The table of a benchmark as a picture."""

import csv
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from restsure.errors import InvalidParameter
from restsure.report.drawing import GREY, INK, Look, looks, new_figure, own_axes, printable, save
from restsure.simulation.suites import Score


def plot_scores(scores: Sequence[Score] | Path | str, axes: Any = None, *, unit: str = "points") -> Any:
    """Mean regrets of a benchmark: a line of marks a problem, a colour and a shape a policy, with two standard errors.

    ``scores``: those of ``restsure bench``, or the file that it wrote (``--csv``). The eight policies that are lowest on
    average (of the logarithm) have colours, lowest first; the others are grey.
    """
    found = read_scores(scores) if isinstance(scores, (str, Path)) else list(scores)
    if not found or not all(isinstance(score, Score) for score in found):
        raise InvalidParameter(f"scores={scores!r:.60}: must be scores of a benchmark, one at least")
    rows = list(dict.fromkeys((score.group, score.row) for score in found))
    floor = max(0.01, min((score.regret for score in found if score.regret > 0), default=1.0) / 2)
    policies = _ranked(found, floor)
    styles = looks(policies, range(len(policies)))
    axes = own_axes(axes, *_size(found))
    for policy, style in reversed(list(zip(policies, styles, strict=True))):  # the best on top
        mine = [score for score in found if score.policy == policy]
        at = np.array([max(score.regret, floor) for score in mine])
        spread = 2 * np.array([score.se for score in mine])
        axes.errorbar(
            at,
            [rows.index((score.group, score.row)) for score in mine],
            xerr=[np.minimum(spread, at - floor), spread] if style.leading else None,
            fmt=style.shape,
            ms=5 if style.leading else 4,
            lw=0.8,
            color=style.color,
            zorder=3 if style.leading else 2,
        )
    axes.set_xscale("log")
    axes.set_xlim(left=0.94 * floor)
    names = [row if group.split(",")[0] in row else f"{group}, {row}" for group, row in rows]
    axes.set_yticks(range(len(rows)), printable(names, longest=60), fontsize=7)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(axis="y", lw=0.3)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel(f"mean regret in {unit}, ± 2 standard errors (below {floor:.2g}: at the edge)")
    _key(axes, styles)
    return axes


def save_scores(scores: Sequence[Score], path: Path | str, *, unit: str) -> Path:
    """The same as a file."""
    figure = new_figure(*_size(scores), shown=False)
    plot_scores(scores, figure.subplots(), unit=unit)
    return save(figure, path)


def _size(scores: Sequence[Score]) -> tuple[float, float]:
    return 8.2, max(3.4, 1.0 + 0.24 * len({(score.group, score.row) for score in scores}))


def read_scores(path: Path | str) -> list[Score]:
    """The scores that ``restsure bench --csv`` wrote."""
    kinds = {field.name: field.type for field in fields(Score)}
    with Path(path).open(newline="") as file:
        rows = list(csv.DictReader(file))
    try:
        return [Score(**{name: kind(row[name]) for name, kind in kinds.items()}) for row in rows]  # type: ignore[operator]
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidParameter(f"{path}: must have the columns of restsure bench --csv ({error})") from None


def _ranked(scores: Sequence[Score], floor: float) -> list[str]:
    """Policies, the lowest mean logarithm of the regret first."""
    logs = dict[str, list[float]]()
    for score in scores:
        logs.setdefault(score.policy, []).append(float(np.log(max(score.regret, floor))))
    return sorted(logs, key=lambda policy: (np.mean(logs[policy]), policy))


def _key(axes: Any, styles: Sequence[Look]) -> None:
    """Which mark is whose, below the picture."""
    from matplotlib.lines import Line2D

    leading = [look for look in styles if look.leading]
    marks = [Line2D([], [], ls="", marker=look.shape, ms=5, color=look.color) for look in leading]
    texts = [look.name for look in leading]
    if others := [look.name for look in styles if not look.leading]:
        marks.append(Line2D([], [], ls="", marker=".", ms=5, color=GREY))
        texts.append("\n".join(["others:", *others[:8], *(["…"] if len(others) > 8 else [])]))
    axes.legend(
        marks,
        texts,
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        fontsize=7,
        frameon=False,
        labelcolor=INK,
        title="lowest first",
        title_fontsize=7,
        alignment="left",
    )

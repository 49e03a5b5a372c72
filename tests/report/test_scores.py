"""The picture of a benchmark."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

import restsure as rs
from restsure.report import plot_scores
from restsure.simulation.suites import Score

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results"
ONE = Score("s", "group", "row", "policy", 100, 0.5, 0.1, 1.0, 0.9, 0.1, 0.5, 1.0)


def axes_of() -> Any:
    return Figure().subplots()


def key(axes: Any) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_every_kept_table_can_be_drawn() -> None:
    for name in ("in-model", "shapes", "rising", "curves"):
        axes = plot_scores(RESULTS / f"{name}.csv", axes_of())
        axes.figure.canvas.draw()
        assert len(axes.get_yticklabels()) > 5


def test_marks_are_at_the_regrets_and_the_lowest_comes_first() -> None:
    scores = [replace(ONE, policy="worse", regret=2.0), ONE, replace(ONE, policy="$best_", regret=0.25)]
    axes = plot_scores(scores, axes_of(), unit="loss x 100")
    assert key(axes) == [r"\$best_", "policy", "worse"]
    assert sorted(bar.lines[0].get_xdata()[0] for bar in axes.containers) == [0.25, 0.5, 2.0]
    assert "loss x 100" in axes.get_xlabel()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["group, row"]


def test_of_many_policies_eight_have_colours() -> None:
    scores = [replace(ONE, policy=f"p{k:02}", regret=1.0 + k) for k in range(20)]
    shown = key(plot_scores(scores, axes_of()))
    assert shown[:8] == [f"p{k:02}" for k in range(8)]
    assert shown[8].startswith("others:\np08\np09")
    assert shown[8].endswith("…")


def test_no_regret_at_all_stands_at_the_edge() -> None:
    axes = plot_scores([replace(ONE, regret=0.0, se=0.0), replace(ONE, row="other")], axes_of())
    axes.figure.canvas.draw()
    at = axes.containers[0].lines[0].get_xdata()
    assert axes.get_xlim()[0] < at[0] == 0.25


@pytest.mark.parametrize("wrong", [[], [1], ["policy"]])
def test_refuses_what_are_no_scores(wrong: Any) -> None:
    with pytest.raises(rs.InvalidParameter, match="scores of a benchmark"):
        plot_scores(wrong, axes_of())


def test_refuses_another_table() -> None:
    with pytest.raises(rs.InvalidParameter, match="columns of restsure bench"):
        plot_scores(RESULTS / "live.csv", axes_of())

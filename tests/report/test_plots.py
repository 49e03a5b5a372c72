"""Pictures hold what they claim to hold: lines, labels, limits, marks."""

import builtins
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import restsure as rs
from restsure.report import plot_curves, plot_outlook, plot_ribbon, plot_run, plot_what_if
from restsure.report.drawing import GREY, PALETTE, need_matplotlib
from restsure.report.story import story_of

PLOTS = (plot_curves, plot_outlook, plot_ribbon, plot_what_if)
HOSTILE = [
    "$x^2",
    "_nolegend_",
    "two\nlines",
    r"\frac{$1$}",
    "x" * 300,
    "\u202egnp.exe",
    "<b>&amp;</b>",
    "模型 🤖",
    "\u200b",
    "%s {x}",
]


def losses(alpha: float, beta: float, seed: int, ends_at: float = math.inf, scale: float = 1.0) -> Iterator[float]:
    rng, step = np.random.default_rng(seed), 0
    while step < ends_at:
        step += 1
        yield scale * abs(alpha * step**-0.5 + beta + 0.02 * rng.standard_normal())
    raise FloatingPointError("diverged")


def run(names: list[str], budget: int | str, *, fails: str = "", **more: Any) -> rs.Result:
    """The first name starts lowest, the last ends lowest."""
    candidates = dict[str, Any]()
    for k, name in enumerate(names):
        slow = k / max(len(names) - 1, 1)
        candidates[name] = losses(0.1 + 0.8 * slow, 0.4 - 0.35 * slow, k, ends_at=8 if name == fails else math.inf)
    return rs.select(candidates, budget=budget, progress=False, random_state=0, **more)


def axes_of() -> Any:
    return Figure(layout="constrained").subplots()


def texts(axes: Any) -> list[str]:
    """What is written beside the lines."""
    return [text.get_text() for text in axes.texts if text.get_text()]


@pytest.fixture(scope="module")
def result() -> rs.Result:
    return run(["one", "two", "three"], 300, fails="two")


@pytest.mark.parametrize("plot", PLOTS)
def test_draws_on_the_axes_it_is_given_from_whatever_stands_for_a_run(plot: Any, tmp_path: Path) -> None:
    result = run(["one", "two"], 60, run_dir=tmp_path / "run")
    drawn = []
    for way in (result, story_of(result), rs.read_run(tmp_path / "run"), tmp_path / "run", str(tmp_path / "run")):
        axes = axes_of()
        assert plot(way, axes) is axes
        axes.figure.canvas.draw()
        drawn.append([line.get_xydata().tolist() for line in axes.lines])
    assert drawn[0]
    assert all(other == drawn[0] for other in drawn)


@pytest.mark.parametrize("plot", PLOTS)
@pytest.mark.parametrize("wrong", [None, 3, [1, 2], {"a": 1}, object()])
def test_refuses_what_is_no_run(plot: Any, wrong: Any) -> None:
    with pytest.raises(rs.WrongType, match="run: must be a result"):
        plot(wrong, axes_of())


def test_curves_end_where_the_candidates_stand_and_go_on_to_the_whole_budget(result: rs.Result) -> None:
    axes = plot_curves(result, axes_of())
    solid = [line for line in axes.lines if line.get_linestyle() == "-"]
    dashed = [line for line in axes.lines if line.get_linestyle() == "--"]
    assert [line.get_xdata()[-1] for line in solid] == list(result.pulls.values())
    for line, name in zip(solid, result.names, strict=True):
        assert line.get_ydata()[0] == pytest.approx(result.history.losses(name)[0], rel=1e-5)
    alive = [name for name in result.names if name not in result.failures]
    assert [line.get_xdata()[0] for line in dashed] == [result.pulls[name] for name in alive]
    assert [line.get_xdata()[-1] for line in dashed] == [300] * len(alive)
    assert len(axes.collections) == len(alive)  # a band for each
    widths = {name: line.get_linewidth() for name, line in zip(result.names, solid, strict=True)}
    assert max(widths, key=lambda name: widths[name]) == result.name
    assert axes.get_xscale() == "log"
    assert set(texts(axes)) == {
        f"{name} · {result.pulls[name]:,} steps{', failed' * (name in result.failures)}" for name in result.names
    }
    low, high = axes.get_ylim()
    assert low < min(line.get_ydata().min() for line in solid)
    assert high > max(line.get_ydata().max() for line in solid)


def test_a_run_that_is_cut_short_is_drawn_to_its_reach(tmp_path: Path) -> None:
    def stop(moment: Any) -> None:
        if moment.game.spent >= 40 and not moment.over:
            raise KeyboardInterrupt

    result = run(["one", "two"], 200, callbacks=[stop])
    assert result.interrupted
    axes = plot_curves(result, axes_of())
    ends = [line.get_xdata()[-1] for line in axes.lines if line.get_linestyle() == "--"]
    assert ends == [pulls + 200 - result.spent for pulls in result.pulls.values()]
    assert plot_ribbon(result, axes_of()).get_xlim() == (0, 200)


def test_ribbon_covers_what_was_spent_and_marks_what_happened(result: rs.Result) -> None:
    axes = plot_ribbon(result, axes_of())
    widths = [path.get_extents().width for bars in axes.collections for path in bars.get_paths()]
    assert sum(widths) == pytest.approx(300, rel=0.02)  # gaps that nobody could see are closed
    assert [label.get_text() for label in axes.get_yticklabels()] == ["one", "two", "three"]
    assert axes.get_xlim() == (0, 300)
    marks = {line.get_marker(): line.get_ydata()[0] for line in axes.lines if line.get_marker() in ("X", "*")}
    assert marks == {"X": 1, "*": result.names.index(result.name)}
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["failed", "chosen"]


def test_ribbon_marks_every_elimination() -> None:
    result = run(list("abcdef"), 6_000, policy=rs.RestSure(0.5, bound=rs.bounds.ExactWeights(0.03)))
    axes = plot_ribbon(result, axes_of())
    crossed = [line for line in axes.lines if line.get_marker() == "x"]
    assert len(crossed) == result.explain().count("line 11") >= 2
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["given up", "chosen"]


def test_outlook_ends_with_the_loss_and_stops_at_a_failure(result: rs.Result) -> None:
    axes = plot_outlook(result, axes_of())
    lines = [line for line in axes.lines if line.get_linestyle() == "-"]
    ends = {name: line.get_xydata()[-1] for name, line in zip(result.names, lines, strict=True)}
    assert ends[result.name] == pytest.approx([300, result.loss], rel=1e-5)
    failed = next(line["spent"] for line in story_of(result)["log"] if line["kind"] == "failed")
    assert ends["two"][0] <= failed < 300
    assert axes.get_xlim() == (0, 300)
    assert axes.get_xlabel() == "training steps spent, over all candidates"
    assert {text.split(",")[0] for text in texts(axes)} == {"one", "two", "three"}


def test_outlook_needs_a_policy_that_predicts() -> None:
    result = run(["a", "b"], 20, policy=rs.RoundRobin())
    with pytest.raises(rs.InvalidParameter, match="policy that predicts"):
        plot_outlook(result, axes_of())
    assert len(plot_run(result)) == 2  # curves and ribbon
    close_all()


def test_what_if_says_what_the_result_says(result: rs.Result) -> None:
    axes = plot_what_if(result, axes_of())
    before, ahead = (next(line for line in axes.lines if line.get_linestyle() == style) for style in ("-", "--"))
    assert before.get_xdata()[-1] == ahead.get_xdata()[0] == 300
    for budget, loss in list(zip(*ahead.get_data(), strict=True))[1::10]:
        assert loss == pytest.approx(result.what_if(budget=int(budget))[0], rel=0.01)
    assert result.name in texts(axes)
    assert axes.get_xlabel() == "budget in training steps"


def test_units_and_losses_are_the_users(tmp_path: Path) -> None:
    from sklearn.datasets import load_digits
    from sklearn.linear_model import Perceptron
    from sklearn.naive_bayes import MultinomialNB

    for k, (budget, unit) in enumerate([("2000 samples", "samples"), ("0.2s", "seconds"), (30, "training steps")]):
        result = rs.select(
            {"bayes": MultinomialNB(), "perceptron": Perceptron()},
            load_digits(return_X_y=True),
            budget=budget,
            batch_size=32,
            progress=False,
            loss="zero_one",
            random_state=0,
            run_dir=tmp_path / str(k),
        )
        assert plot_ribbon(result, axes_of()).get_xlabel() == f"{unit} spent, over all candidates"
        assert plot_what_if(result, axes_of()).get_xlabel() == f"budget in {unit}"
        assert plot_curves(result, axes_of()).get_ylabel() == "zero-one loss"
        assert plot_outlook(result, axes_of()).get_ylabel() == "predicted final zero-one loss"


def test_of_many_candidates_eight_have_colours() -> None:
    result = run([f"model {k}" for k in range(40)], 1_200)
    axes = plot_curves(result, axes_of())
    colours = [line.get_color() for line in axes.lines if line.get_linestyle() == "-"]
    assert sorted(set(colours)) == sorted({*PALETTE, GREY})
    assert colours.count(GREY) == 32
    assert len(texts(axes)) == 8
    assert any(text.startswith(f"{result.name} ·") for text in texts(axes))
    assert len(plot_ribbon(result, axes_of()).get_yticklabels()) == 40


def test_losses_far_above_the_others_make_the_axis_logarithmic() -> None:
    wild = {"tame": losses(0.5, 0.1, 0), "tamer": losses(0.6, 0.1, 1), "wild": losses(0.5, 0.1, 2, scale=1e6)}
    result = rs.select(wild, budget=60, progress=False, random_state=0)
    assert plot_curves(result, axes_of()).get_yscale() == "log"


@pytest.mark.parametrize("budget", [1, 2, 3, 12])
@pytest.mark.parametrize("names", [["only"], ["one", "two", "three"]])
def test_the_smallest_runs(names: list[str], budget: int, tmp_path: Path) -> None:
    if budget < len(names):
        return
    result = run(names, budget)
    assert result.plot(tmp_path / "run.png") == tmp_path / "run.png"
    for plot in PLOTS:
        axes = plot(result, axes_of())
        axes.figure.canvas.draw()
        drawn = np.concatenate([np.array(line.get_xydata(), dtype=float) for line in axes.lines])
        assert np.isfinite(drawn).all()
        assert np.isfinite([*axes.get_xlim(), *axes.get_ylim()]).all()


def test_names_are_text_whatever_is_in_them(tmp_path: Path) -> None:
    result = run(HOSTILE, 200)
    for ending in ("png", "svg", "pdf"):
        assert result.plot(tmp_path / f"run.{ending}").stat().st_size > 5_000
    drawn = (tmp_path / "run.svg").read_text()
    for text in ("$x^2", "_nolegend_", "two lines", r"\frac{$1$}", "xxxxxxxxxxxxx…xxxxxxxxxxxx", "%s {x}", "(no name)"):
        shown = text.replace("…", "&#8230;")
        assert f"<!-- {text}" in drawn or f"<!-- {shown}" in drawn, text
    assert "\u202e" not in drawn


def test_plot_without_a_path_gives_axes_of_a_figure_that_pyplot_knows(result: rs.Result) -> None:
    import matplotlib.pyplot as plt

    axes = result.plot()
    assert len(axes) == 3
    assert plt.fignum_exists(axes[0].figure.number)
    close_all()
    alone = plot_ribbon(result)
    assert plt.get_fignums() == [alone.figure.number]
    close_all()


def test_writing_a_file_leaves_pyplot_and_the_backend_alone(tmp_path: Path) -> None:
    code = (
        "import sys, restsure as rs\n"
        "result = rs.select({'a': lambda: .1, 'b': lambda: .2}, budget=20, progress=False)\n"
        "assert 'restsure.report' not in sys.modules and 'matplotlib' not in sys.modules\n"
        "result.plot('run.png')\n"
        "assert 'matplotlib' in sys.modules and 'matplotlib.pyplot' not in sys.modules\n"
        "assert callable(rs.report.plot_ribbon)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_missing_matplotlib_names_the_extra(monkeypatch: pytest.MonkeyPatch, result: rs.Result) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    for way in (need_matplotlib, result.plot, lambda: plot_ribbon(result)):
        with pytest.raises(rs.MissingExtra, match=r"pip install 'restsure\[plot\]'"):
            way()


def close_all() -> None:
    import matplotlib.pyplot as plt

    plt.close("all")

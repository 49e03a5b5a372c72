"""Pictures hold what they claim to hold."""

import builtins

import numpy as np
import pytest

import restsure as rs
from restsure.report.plots import plot_curves, plot_ribbon, pyplot
from restsure.report.trace import record

ARMS = rs.PowerLawArms([0.1, 0.9], [0.4, 0.1], noise=None)


@pytest.fixture
def trace():
    game = rs.RestSure(bound=rs.bounds.ExactWeights(0.02)).start(2, 300)
    rng = np.random.default_rng(0)
    return record(game, lambda arm, pull: float(ARMS.mean(0, arm, pull)) + 0.02 * rng.standard_normal())


def test_trace_keeps_every_pull(trace) -> None:
    assert sum(pull.times for pull in trace.pulls) == 300
    assert [len(losses) for losses in trace.losses] == list(trace.game.pulls)


def test_curves_show_truth_fit_and_extrapolation(trace) -> None:
    plt = pyplot()
    figure, axes = plt.subplots()
    plot_curves(axes, trace, ["one", "two"], ARMS)
    assert {line.get_linestyle() for line in axes.lines} == {":", "-", "--"}
    assert len(axes.collections) == 2
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        f"{name}: {pulls:,} pulls" for name, pulls in zip(("one", "two"), trace.game.pulls, strict=True)
    ]
    plt.close(figure)


def test_ribbon_covers_the_budget(trace) -> None:
    plt = pyplot()
    figure, axes = plt.subplots()
    plot_ribbon(axes, trace, ["one", "two"])
    covered = sum(box.width for bars in axes.collections for box in (path.get_extents() for path in bars.get_paths()))
    assert covered == pytest.approx(300)
    assert len(axes.lines) == len(trace.game.log)
    plt.close(figure)


def test_missing_matplotlib_names_the_extra(monkeypatch) -> None:
    real = builtins.__import__

    def without(name, *rest, **more):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(rs.MissingExtra, match=r"pip install 'restsure\[plot\]'"):
        pyplot()

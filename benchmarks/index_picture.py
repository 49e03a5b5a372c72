"""The picture of docs/policy.md: what HorizonLCB predicts at one moment, and its indices over a whole game.

python benchmarks/index_picture.py [docs/index.png]
"""

import sys
from pathlib import Path

import numpy as np

import restsure as rs
from restsure.policies.horizon_play import HorizonLCBPlay
from restsure.report.drawing import PALETTE, new_figure, save

ALPHA = np.array([0.25, 0.95, 0.6, 0.15, 0.75, 0.4])
BETA = np.array([0.36, 0.06, 0.24, 0.45, 0.19, 0.38])
HORIZON, SIGMA, MOMENT = 800, 0.04, 160


class Moments:
    """Indices, means, spreads and reaches of all arms at every decision of a game."""

    def __init__(self) -> None:
        rng = np.random.default_rng(3)
        s = np.arange(1, HORIZON + 1)
        self.table = ALPHA[:, None] * s**-0.5 + BETA[:, None] + rng.normal(0, SIGMA, (len(ALPHA), HORIZON))
        self.game = rs.HorizonLCB().start(len(ALPHA), HORIZON)
        self.spent: list[float] = []
        self.index: list[np.ndarray] = []
        self.chosen: list[int] = []
        self.blocks: list[tuple[int, int, int]] = []
        self.bands: dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
        self.at_moment: tuple[int, ...] = ()
        told = [0] * len(ALPHA)
        while (pull := self.game.ask()) is not None:
            self.look(pull)
            self.game.tell(pull.arm, self.table[pull.arm, told[pull.arm] : told[pull.arm] + pull.times].tolist())
            told[pull.arm] += pull.times

    def look(self, pull: rs.Pull) -> None:
        play = self.game._play
        assert isinstance(play, HorizonLCBPlay)
        spent = int(self.game.spent)
        self.blocks.append((spent, pull.arm, pull.times))
        if spent < 2 * len(ALPHA):
            return
        row = np.array([0])
        given = play.pulls[row]
        self.spent.append(spent)
        self.index.append(play.index(row, given, play.budget.room(given))[0][0])
        self.chosen.append(pull.arm)
        if spent >= MOMENT and not self.bands:
            self.at_moment, self.moment = self.game.pulls, spent
            self.index_then, self.chosen_then = self.index[-1], pull.arm
            self.reach_then = play.reach(given, play.budget.room(given))[0]
            for arm in range(len(ALPHA)):
                m = np.geomspace(given[0, arm], given[0, arm] + HORIZON - spent, 60)
                mean, sd = play.curves.predict(np.full(60, arm), m)
                self.bands[arm] = m, mean, sd


def draw(path: Path) -> None:
    moments, figure = Moments(), new_figure(7.2, 9.0, shown=False)
    left, right, ribbon = figure.subplots(3, 1, height_ratios=(1.15, 1, 0.42))
    for arm, (m, mean, sd) in moments.bands.items():
        seen = np.arange(1, moments.at_moment[arm] + 1)
        left.plot(seen, moments.table[arm, : len(seen)], ".", color=PALETTE[arm], ms=3, alpha=0.55)
        left.plot(m, mean, "--", color=PALETTE[arm], lw=1.4)
        left.fill_between(m, mean - sd, mean + sd, color=PALETTE[arm], alpha=0.15, lw=0)
        star = arm == moments.chosen_then
        left.plot(
            moments.reach_then[arm],
            moments.index_then[arm],
            "v",
            color=PALETTE[arm],
            ms=12 if star else 7,
            mec="black" if star else PALETTE[arm],
            label=f"arm {arm}: {moments.at_moment[arm]} pulls, index {moments.index_then[arm]:.2f}"
            + (" (next)" if star else ""),
        )
    left.set(xscale="log", xlabel="pulls of the arm", ylabel="loss", ylim=(-0.25, 1.0), xlim=(1, HORIZON))
    left.set_title(
        f"After {moments.moment} of {HORIZON} pulls: losses seen, prediction ± 1 sd, and the index (▼) where each is judged",
        fontsize=9,
        loc="left",
    )
    left.legend(fontsize=7, ncols=2, loc="lower left", frameon=False)
    index = np.array(moments.index)
    for arm in range(len(ALPHA)):
        right.step(moments.spent, index[:, arm], where="post", color=PALETTE[arm], lw=1.2)
        right.annotate(f" {arm}", (moments.spent[-1], index[-1, arm]), color=PALETTE[arm], fontsize=8, va="center")
    right.axvline(moments.moment, color="#999999", lw=0.8, ls=":")
    right.set(ylabel="index: optimistic loss at the reach", xlim=(0, HORIZON), ylim=(-0.45, 0.62))
    right.set_title(
        "The lowest index is pulled; an arm that waits can reach less, and its index rises", fontsize=9, loc="left"
    )
    for spent, arm, times in moments.blocks:
        ribbon.broken_barh([(spent, times)], (arm - 0.4, 0.8), facecolors=PALETTE[arm])
    ribbon.set(xlim=(0, HORIZON), xlabel="pulls in total", ylabel="arm pulled", yticks=range(len(ALPHA)))
    ribbon.invert_yaxis()
    for axes in (left, right, ribbon):
        axes.spines[["top", "right"]].set_visible(False)
    save(figure, path, dpi=110)


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[1] / "docs" / "index.png")

"""What all pictures share: figures, colours and shapes, names that are safe to print, labels at the ends of lines.

A picture must be read in print, in grey and by colour-blind readers: every candidate has a colour *and* a shape, and its name
stands at the end of its line. Of many candidates the leading ones have colours, the others are grey.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from restsure.errors import MissingExtra

# Okabe and Ito's palette, told apart with every common colour blindness; the yellow is darkened for white paper.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#B8A700", "#000000")
SHAPES = "osD^v<>P"  # no cross and no star: those are events
SIZES = {"P": 1.2, "X": 1.2, "D": 0.9}  # of shapes that look smaller or larger than others
GREY = "#A0A0A0"
INK = "#333333"
_BANDS = 3  # candidates with bands
_LONGEST = 26  # characters of a name that are printed, unless there is more room


def need_matplotlib() -> None:
    """Raise an error that names the extra, where matplotlib is missing: better now than after the training."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingExtra("plots need matplotlib: pip install 'restsure[plot]'") from None


def new_figure(width: float, height: float, *, shown: bool) -> Any:
    """A figure in inches: ``shown`` by the user's own backend, or for a file only, which needs no display and no backend."""
    need_matplotlib()
    if shown:
        import matplotlib.pyplot as plt

        return plt.figure(figsize=(width, height), layout="constrained")
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def own_axes(axes: Any, width: float = 6.4, height: float = 3.8) -> Any:
    """The axes that were given, or those of a new figure."""
    axes = new_figure(width, height, shown=True).subplots() if axes is None else axes
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    axes.xaxis.label.set_size(8.5)
    axes.yaxis.label.set_size(8.5)
    return axes


def save(figure: Any, path: Path | str, dpi: int = 140) -> Path:
    """Write a figure; where it is then."""
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "Glyph .* missing from", UserWarning
        )  # a name in a script that the font lacks
        figure.savefig(path, dpi=dpi)
    return Path(path)


@dataclass(frozen=True, slots=True)
class Look:
    """How a candidate is drawn, the same in every picture of a run: in colour if it is ``leading``, else in grey.

    ``place``: in the ranking, from 0 on.
    """

    name: str
    color: str
    shape: str
    place: int

    @property
    def leading(self) -> bool:
        """Whether it has a colour, and its name is written."""
        return self.place < len(PALETTE)

    @property
    def banded(self) -> bool:
        """Whether its intervals are drawn as a band; of others that lead, as bars: more bands would hide each other."""
        return self.place < _BANDS

    @property
    def line(self) -> dict[str, Any]:
        """Colour, width and place of its lines."""
        return {"color": self.color, "lw": 1.5 if self.leading else 0.7, "zorder": 3 if self.leading else 2}

    def mark(self, shape: str = "") -> dict[str, Any]:
        """A mark on its line, in its shape or another."""
        marker = shape or self.shape
        size = (5.5 if self.leading else 3.0) * SIZES.get(marker, 1.0)
        return {"ls": "", "marker": marker, "ms": size, "color": self.color, "mec": "white", "mew": 0.6, "zorder": 4}


def looks(names: Sequence[str], ranking: Sequence[int]) -> list[Look]:
    """A look for each candidate; where there are more than colours, the first of ``ranking`` have them.

    >>> found = looks([f"model {k}" for k in range(12)], ranking=[7, 3])
    >>> [look.name for look in found if look.leading][-2:], found[7].place, found[0].place
    (['model 6', 'model 7'], 0, 2)
    """
    places = {candidate: place for place, candidate in enumerate(dict.fromkeys([*ranking, *range(len(names))]))}
    coloured = iter(zip(PALETTE, SHAPES, strict=True))
    found = list[Look]()
    for candidate, text in enumerate(printable(names)):
        colour, shape = next(coloured) if places[candidate] < len(PALETTE) else (GREY, ".")
        found.append(Look(text, colour, shape, places[candidate]))
    return found


def printable(names: Sequence[str], longest: int = _LONGEST) -> list[str]:
    """Names as text on a picture: on one line, not too long, still different, and no formula whatever is in them.

    >>> printable(["a cost of $5 to $6", "two" + chr(10) + "lines", "x" * 40])
    ['a cost of \\\\$5 to \\\\$6', 'two lines', 'xxxxxxxxxxxxx…xxxxxxxxxxxx']
    """
    short = [_short(name, longest) for name in names]
    times = Counter(short)
    marked = [f"{k}: {text}" if times[text] > 1 else text for k, text in enumerate(short, start=1)]
    return [text.replace("$", r"\$") for text in marked]


def _short(name: str, longest: int) -> str:
    text = " ".join("".join(c if c.isprintable() else " " for c in name[:1_000]).split()) or "(no name)"
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]}…{text[1 - half :]}"


def label_ends(axes: Any, ends: Sequence[tuple[Look, float, str]]) -> None:
    """Names, and what else there is to say, beside the right end of the axes: of leading candidates, where their lines end."""
    shown = [end for end in ends if end[0].leading]
    edge, x = axes.get_xlim()[1], 1.045
    places = _label(axes, [(look, edge, y, f"{look.name}{more}") for look, y, more in shown], lambda at: x, lift=0.0)
    for look, y in places:
        axes.plot([x], [y], transform=axes.transAxes, **look.mark(), clip_on=False, scalex=False, scaley=False)


def label_points(axes: Any, points: Sequence[tuple[Look, float, float]]) -> None:
    """Names a little above points, and to the right."""
    _label(axes, [(look, x, y, look.name) for look, x, y in points], lambda at: at + 0.03, lift=0.08)


def _label(
    axes: Any, texts: Sequence[tuple[Look, float, float, str]], x_of: Callable[[float], float], lift: float
) -> list[tuple[Look, float]]:
    """Texts kept apart and tied to their points, all in parts of the axes; who stands at which height."""
    if not texts:
        return []
    order = sorted(texts, key=lambda text: text[2])
    seen = axes.transAxes.inverted().transform(axes.transData.transform([(at, y) for _, at, y, _ in order]))
    heights = np.clip(seen[:, 1], 0.0, 1.0)
    places = apart(np.clip(heights + lift, 0.0, 1.0), 9.5 / 72 * axes.figure.dpi / axes.bbox.height)
    for (look, _, _, text), at, height, y in zip(order, seen[:, 0], heights, places, strict=True):
        tie = {"arrowstyle": "-", "color": look.color, "lw": 0.6, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", (at, height), (x_of(at), y), *["axes fraction"] * 2, arrowprops=tie, annotation_clip=False)
        font = {"fontsize": 7, "va": "center", "color": INK, "weight": "bold" if look.place == 0 else "normal"}
        axes.annotate(text, (x_of(at), y), (2 if lift else 6, 0), "axes fraction", "offset points", **font)
    return [(look, float(y)) for (look, *_), y in zip(order, places, strict=True)]


def apart(wanted: NDArray[np.float64], gap: float) -> NDArray[np.float64]:
    """Rising places from 0 to 1, at least ``gap`` from each other, as near as they can be to where they are wanted.

    >>> apart(np.array([0.1, 0.1, 0.9]), 0.1).round(3).tolist()
    [0.05, 0.15, 0.9]
    >>> apart(np.array([0.0, 0.0, 1.0]), 0.1).round(3).tolist()
    [0.0, 0.1, 1.0]
    """
    steps = gap * np.arange(len(wanted))
    groups = list[tuple[float, int]]()  # means of what is wanted less the steps, pooled until they rise
    for value in wanted - steps:
        mean, count = float(value), 1
        while groups and groups[-1][0] >= mean:
            before, number = groups.pop()
            mean, count = (before * number + mean * count) / (number + count), number + count
        groups.append((mean, count))
    free = np.array([mean for mean, count in groups for _ in range(count)], dtype=np.float64) + steps
    return np.asarray(np.maximum(np.minimum(free, 1.0 - steps[::-1]), steps))

"""What a selection gives back: the winner, trained, and everything that led to it."""

import csv
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from restsure.errors import InvalidParameter, NoArmLeft
from restsure.journal import Record
from restsure.policies import Game
from restsure.problem import Recommendation, amount
from restsure.training.meter import read_budget

_LAST = 10  # losses of a candidate that its last loss is the mean of


class Block(NamedTuple):
    """Some pulls of one candidate: ``spent`` of the budget was used when they began; it had had ``pulls`` when they ended."""

    spent: float
    name: str
    pulls: int
    losses: tuple[float, ...]
    cost: float

    def made_by(self, spent: float) -> int:
        """How many of its pulls had been made when so much was spent."""
        return (
            math.ceil(len(self.losses) * min(1.0, (spent - self.spent) / self.cost)) if self.cost else len(self.losses)
        )


class History(Sequence[Block]):
    """One row a block of pulls, in the order in which they were made."""

    def __init__(self, blocks: Sequence[Block]):
        self._blocks = tuple(blocks)

    def __len__(self) -> int:
        return len(self._blocks)

    def __getitem__(self, at: Any) -> Any:
        return self._blocks[at]

    def losses(self, name: str) -> tuple[float, ...]:
        """All losses of one candidate, pull by pull."""
        return tuple(loss for block in self._blocks if block.name == name for loss in block.losses)

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns ``spent``, ``name``, ``pulls``, ``times``, ``cost`` and ``loss``, the mean of the block."""
        return {
            "spent": [block.spent for block in self._blocks],
            "name": [block.name for block in self._blocks],
            "pulls": [block.pulls for block in self._blocks],
            "times": [len(block.losses) for block in self._blocks],
            "cost": [block.cost for block in self._blocks],
            "loss": [sum(block.losses) / len(block.losses) for block in self._blocks],
        }

    def to_csv(self, path: Path | str) -> None:
        """The same columns as a file."""
        columns = self.to_dict()
        with Path(path).open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))


@dataclass(frozen=True, slots=True)
class Certificate:
    """How far the winner may be from the best that this budget could have bought, and what that rests on.

    ``bound``: the regret is at most this, infinite where the policy says nothing; ``certified``: whether it is proven, at
    ``confidence``, under the assumptions that ``text`` states, or an estimate only.
    """

    bound: float
    confidence: float
    certified: bool
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Result:
    """The winner of a selection and its model, trained; ``str(result)`` says it in a sentence.

    ``pulls``: training steps of every candidate; ``loss`` and ``interval``: the winner's now, estimated; ``failures``:
    candidates that failed, and why; ``spent`` of the ``budget``, both in its ``unit``, was used, all of it unless the run was
    ``interrupted``; ``costs``: what a training step of each candidate costs in that unit, as far as is known.
    ``misfits``: candidates whose losses do not go as the policy believes that losses go, and how; those were not given up by
    extrapolation. ``notes``: what else there is to say, such as a candidate that was tried again.
    """

    name: str
    model: Any
    pulls: Mapping[str, int]
    loss: float
    interval: tuple[float, float]
    certificate: Certificate
    history: History
    failures: Mapping[str, str]
    budget: float
    spent: float
    unit: str
    costs: Mapping[str, float]
    misfits: Mapping[str, str]
    notes: tuple[str, ...]
    interrupted: bool
    names: tuple[str, ...] = field(repr=False)
    _game: Game = field(repr=False)
    _records: Sequence[Record] = field(repr=False, default=())

    def __str__(self) -> str:
        low, high = self.interval
        spent, cut = amount(round(self.spent, 1)), ", interrupted" if self.interrupted else ""
        used = f"{self.pulls[self.name]:,} training steps; {spent} of {amount(self.budget)} {self.unit} spent on"
        if self.unit == "training steps":
            used = f"{self.pulls[self.name]:,} of {spent} training steps, among"
        known = f" ({low:.4g} to {high:.4g})" if math.isfinite(low) or math.isfinite(high) else ""
        lost = [name for name in self.names if name in self.failures]
        failed = f", of which {', '.join(lost) if len(lost) < 4 else len(lost)} failed" if lost else ""
        return f"{self.name}: loss {self.loss:.4g}{known} after {used} {len(self.names)} candidates{failed}{cut}"

    def explain(self) -> str:
        """Why this candidate, and every elimination, commitment and failure on the way, by name."""
        return with_names(self._game.explain(), self.names)

    def to_dict(self) -> dict[str, Any]:
        """The outcome in plain values, ready for JSON; a bound that says nothing is None."""
        low, high = self.interval
        return {
            "name": self.name,
            "loss": self.loss,
            "interval": [_finite(low), _finite(high)],
            "budget": self.budget,
            "spent": self.spent,
            "unit": self.unit,
            "interrupted": self.interrupted,
            "certificate": asdict(self.certificate) | {"bound": _finite(self.certificate.bound)},
            "candidates": [self._candidate(name) for name in self.names],
            "notes": list(self.notes),
            "policy": self._game.policy.to_dict(),
            "explanation": self.explain(),
        }

    def _candidate(self, name: str) -> dict[str, Any]:
        losses = self.history.losses(name)[-_LAST:]
        return {
            "name": name,
            "pulls": self.pulls[name],
            "cost": self.costs[name],
            "last_loss": sum(losses) / len(losses) if losses else None,
            "failure": self.failures.get(name),
            "misfit": self.misfits.get(name),
        }

    def plot(self, path: Path | str | None = None) -> Any:
        """Draw the run: the losses of every candidate, what each was predicted to reach, and who was trained when.

        With a ``path`` the picture goes there (png, pdf or svg, by its ending), and the path is given back; without one, it
        is a figure of matplotlib's, and its axes are given back. Its parts alone, and others: ``restsure.report.plot_*``.
        """
        from restsure.report import plot_run

        return plot_run(self, path)

    def save_report(self, path: Path | str = "report.html") -> Path:
        """Write one self-contained HTML file about the run: outcome, plots, candidates, decisions, configuration."""
        from restsure.report import save_report

        return save_report(path, self)

    def what_if(self, *, budget: int | str) -> tuple[float, float, float]:
        """The loss that the best choice is predicted to have with another budget, low and high.

        More would all go to one candidate, the one that is predicted to end lowest; with less, the run would have ended
        earlier, and the candidate with the lowest losses by then is taken. Failed candidates are none.
        """
        other = read_budget(budget)
        if other.unit != self.unit:
            raise InvalidParameter(f"budget={budget!r}: must be in {self.unit}, as that of the run")
        if other.total < self.spent:
            return min(self._until(other.total), default=(self.loss, -math.inf, math.inf))
        more = [int((other.total - self.spent) / self.costs[name]) for name in self.names]
        outlook = self._game.outlook(
            [max(1, self.pulls[name] + steps) for name, steps in zip(self.names, more, strict=True)]
        )
        if outlook is None:
            return self.loss, -math.inf, math.inf
        return min(seen for name, seen in zip(self.names, outlook, strict=True) if self._stands(name))

    def _stands(self, name: str) -> bool:
        return name not in self.failures and self.pulls[name] > 0

    def _until(self, spent: float) -> list[tuple[float, float, float]]:
        """The loss of every candidate when so much was spent, low and high: the mean of its last fifth, three at least."""
        found = list[tuple[float, float, float]]()
        for name in filter(self._stands, self.names):
            blocks = [block for block in self.history if block.name == name and block.spent < spent]
            losses = np.array([loss for block in blocks for loss in block.losses[: block.made_by(spent)]])
            if len(losses):
                last = losses[-max(3, len(losses) // 5) :]
                spread = 1.645 * float(last.std(ddof=1)) / math.sqrt(len(last)) if len(last) > 1 else math.inf
                found.append((float(last.mean()), float(last.mean()) - spread, float(last.mean()) + spread))
        return found


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def with_names(text: str, names: Sequence[str]) -> str:
    """Arms by name instead of by number."""
    named = {str(arm): name for arm, name in enumerate(names)}
    return re.sub(r"\b[Aa]rm (\d+)\b", lambda found: named.get(found[1], found[0]), text)


def certificate_of(game: Game, best: Recommendation, names: Sequence[str]) -> Certificate:
    """From the winner's interval now, and the lowest loss that any candidate could have had with the whole budget."""
    outlook = game.outlook(game.lengths)
    certified = "not certified" not in best.reason and "certified" in best.reason
    if outlook is None or not math.isfinite(best.high):
        text = f"{type(game.policy).__name__} says nothing about the regret."
        return Certificate(math.inf, 0.0, False, text)
    alive = [low for arm, (_, low, _) in enumerate(outlook) if arm not in game.failures]
    bound = max(best.high - min(alive), 0.0)
    word = "regret" if certified else "estimated regret"
    basis = (
        "if all losses follow the power law with the exponent and noise that were given"
        if certified
        else "if curves go on as those seen so far (not certified; each estimate is off one time in ten)"
    )
    text = (
        f"With the whole budget on one candidate, known beforehand, the loss could have been lower by {bound:.4g} at the most: "
        f"that is the {word}, {basis}."
    )
    if game.misfits:
        odd = "; ".join(f"{names[arm]}: {how}" for arm, how in game.misfits.items())
        text += f" Not all do: {odd}. What is said of these, and so this bound, may be far off."
    return Certificate(bound, 0.9, certified, text)


def result_of(
    names: tuple[str, ...],
    game: Game,
    history: Sequence[Block],
    *,
    model: Any,
    interrupted: bool = False,
    notes: Sequence[str] = (),
    records: Sequence[Record] = (),
) -> Result:
    """What came out; ``model``: the arm's model, given the arm; ``records``: all that happened."""
    failures = {names[arm]: reason for arm, reason in game.failures.items()}
    if len(failures) == len(names):
        reasons = "; ".join(f"{name}: {reason}" for name, reason in failures.items())
        raise NoArmLeft(f"all {len(names)} candidates have failed: {reasons}")
    best = game.recommend()
    return Result(
        name=names[best.arm],
        model=model(best.arm),
        pulls=dict(zip(names, game.pulls, strict=True)),
        loss=best.loss,
        interval=(best.low, best.high),
        certificate=certificate_of(game, best, names),
        history=History(history),
        failures=failures,
        budget=game.horizon,
        spent=game.spent if game.costs != (1.0,) * len(names) else int(game.spent),
        unit=game.unit,
        costs=dict(zip(names, game.costs, strict=True)),
        misfits={names[arm]: how for arm, how in game.misfits.items()},
        notes=tuple(notes),
        interrupted=interrupted,
        names=names,
        _game=game,
        _records=records,
    )

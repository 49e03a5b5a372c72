"""What callbacks for trackers have in common: they read what is new of a run, and never break it."""

import re
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, nan

from restsure.errors import NoArmLeft
from restsure.policies import Game
from restsure.training.executors import one_line
from restsure.training.result import with_names
from restsure.training.session import Moment

_LOOKS = 100  # at predictions in a whole run: they change slowly, and each takes as long as a decision
_LONGEST = 100  # characters of the name of a file


class Withdrawn(str):
    """Why a candidate is out that has not failed, though a game knows it as a failure."""

    __slots__ = ()


class Finished(Withdrawn):
    """Likewise of one that has come to its end, and may win."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class End:
    """How a run ended: ``winner`` is None if nobody was trained; ``text`` explains it."""

    winner: int | None
    loss: float
    failures: dict[int, str]
    interrupted: bool
    text: str


@dataclass(frozen=True, slots=True)
class News:
    """What has happened since the last time, in plain values; candidates are known by their numbers.

    ``curves``: of whom, the number of the first of these training steps, and their losses. ``outlook``: each candidate's
    predicted final loss, low and high, where it is time to look. ``steps``: of training, made by all together so far.
    """

    at: float
    steps: int
    spent: float
    curves: list[tuple[int, int, tuple[float, ...]]]
    outlook: dict[int, tuple[float, float, float]]
    decisions: list[str]
    end: End | None


class Reader:
    """Reads a run from moment to moment, everything once."""

    def __init__(self) -> None:
        self._block, self._within = 0, 0  # where reading stopped: a block may have grown since
        self._decisions, self._looked_at, self._next_look = 0, -1.0, 0.0

    def read(self, moment: Moment) -> News:
        """What is new."""
        game = moment.game
        log, spent = game.log, game.spent
        fresh, self._decisions = log[self._decisions :], len(log)
        outlook = dict[int, tuple[float, float, float]]()
        if spent > self._looked_at and (moment.over or spent >= self._next_look):
            self._looked_at, self._next_look = spent, spent + game.horizon / _LOOKS
            outlook = _outlook(moment)
        return News(
            at=time.time(),
            steps=sum(game.pulls),
            spent=spent,
            curves=self._curves(moment),
            outlook=outlook,
            decisions=[in_words(decision.text(game.unit), moment.names, game) for decision in fresh],
            end=_end(moment) if moment.over else None,
        )

    def _curves(self, moment: Moment) -> list[tuple[int, int, tuple[float, ...]]]:
        number = {name: arm for arm, name in enumerate(moment.names)}
        found = list[tuple[int, int, tuple[float, ...]]]()
        for block in moment.history[self._block :]:
            losses = block.losses[self._within :]
            if losses:
                found.append((number[block.name], block.pulls - len(losses) + 1, losses))
            self._within = 0
        if moment.history:
            self._block, self._within = len(moment.history) - 1, len(moment.history[-1].losses)
        return found


def _outlook(moment: Moment) -> dict[int, tuple[float, float, float]]:
    game = moment.game
    seen, pulls = game.outlook(game.lengths) or (), game.pulls
    return {
        arm: predicted
        for arm, predicted in enumerate(seen)
        if pulls[arm] and arm not in game.failures and all(map(isfinite, predicted))
    }


def _end(moment: Moment) -> End:
    game = moment.game
    last = {moment.names.index(block.name): block.losses[-1] for block in moment.history}
    finished = {arm for arm, reason in game.failures.items() if isinstance(reason, Finished)}
    standing = {arm: last[arm] for arm in finished if arm in last}
    estimate = dict[int, float]()
    try:
        best = game.recommend()
        standing[best.arm], estimate[best.arm] = last[best.arm], best.loss
    except NoArmLeft:
        pass
    winner = min(standing, key=standing.__getitem__, default=None)
    loss = nan if winner is None else estimate.get(winner, standing[winner])
    failures = {arm: reason for arm, reason in game.failures.items() if not isinstance(reason, Withdrawn)}
    return End(winner, loss, failures, not game.over, in_words(game.explain(), moment.names, game))


def in_words(text: str, names: Sequence[str], game: Game) -> str:
    """What a game says, by names; who was withdrawn has not failed."""
    text = with_names(text, names)
    withdrawn = [reason for reason in game.failures.values() if isinstance(reason, Withdrawn)]
    for reason in withdrawn:
        text = text.replace(f"failed: {reason}", reason)
    if withdrawn:
        text = text.replace("Every arm has failed; there is nothing to return.", "Nothing is left to train.")
    return text


class Watcher(ABC):
    """A callback whose errors are said once, as a warning: then it writes no more, and training goes on."""

    def __init__(self) -> None:
        self._reader: Reader | None = None
        self._broken = False

    def __call__(self, moment: Moment) -> None:
        """After a block of training steps, and at the end; the same callback may then watch another run."""
        try:
            if self._reader is None:
                self._reader = Reader()
                self._broken = False
                self.begin(moment)
            if not self._broken:
                self.write(self._reader.read(moment))
        except Exception as error:
            self._broken = True
            text = f"{self!r} writes no more of this run, which goes on ({one_line(error)})"
            warnings.warn(text, RuntimeWarning, stacklevel=2)
        finally:
            if moment.over:
                self._reader = None

    @abstractmethod
    def begin(self, moment: Moment) -> None:
        """A run begins."""

    @abstractmethod
    def write(self, news: News) -> None:
        """It goes on, or is over."""


def file_names(names: Sequence[str]) -> list[str]:
    """Names for files, one for each and all different, also where upper and lower case are the same.

    >>> file_names(["svm", "a/b", "a:b", "SVM", "..", "Bäume"])
    ['svm', 'a_b', 'a_b-2', 'SVM-2', '_', 'Bäume']
    """
    taken, found = set[str](), list[str]()
    for name in names:
        plain = re.sub(r"[^\w.+=,() -]", "_", name)[:_LONGEST].strip(". ") or "_"
        made, count = plain, 1
        while made.casefold() in taken:
            count += 1
            made = f"{plain}-{count}"
        taken.add(made.casefold())
        found.append(made)
    return found

"""The game of a Tune experiment: which trial is which arm, what each has reported, and a file to begin again from."""

import json
from collections.abc import Iterable, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from restsure.errors import DamagedRun, InvalidParameter
from restsure.policies import Game, Policy
from restsure.problem import Recommendation

FILE = "horizon-scheduler.json"
"""Where a ledger is, in the directory of an experiment; Ray brings what ends like this to its storage, and back."""

FORMAT = 1
"""Which lines a file has; one that differs is refused by name."""


@dataclass(frozen=True)
class Terms:
    """What is played: ``steps`` says that a unit of the budget is a result; otherwise results cost what they are found to."""

    policy: Policy
    total: float
    n_trials: int
    max_t: float | None = None
    steps: bool = True

    def start(self) -> Game:
        """Open the game."""
        if not self.steps:
            return self.policy.start(self.n_trials, self.total, seed=0, costs="measured")  # type: ignore[arg-type]
        ends = None if self.max_t is None else [int(self.max_t)] * self.n_trials
        return self.policy.start(self.n_trials, int(self.total), seed=0, max_pulls=ends)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for a file."""
        return {**self.__dict__, "policy": self.policy.to_dict(), "restsure": FORMAT}

    @classmethod
    def from_dict(cls, entries: dict[str, Any]) -> Self:
        """What :meth:`to_dict` gave."""
        if entries.get("restsure") != FORMAT:
            raise DamagedRun(f"the ledger is of format {entries.get('restsure')!r}; this version reads format {FORMAT}")
        known = {name: value for name, value in entries.items() if name != "restsure"}
        return cls(**{**known, "policy": Policy.from_dict(known["policy"])})


class Ledger:
    """Trials are arms, in the order in which they came; a result is a pull.

    Results that the game has not asked for are kept until it does, since Ray starts new trials by itself, and those that a
    trial has reported before, which it does after a crash, are passed over. A trial that ends keeps what it has reached.
    Everything is written to a file, a line each; told again, the lines make the same ledger.
    """

    def __init__(self, terms: Terms):
        self.terms, self.game = terms, terms.start()
        self.arms, self.trials = dict[str, int](), list[str]()
        self.at = dict[int, float]()  # how far each trial is, in units of the budget
        self.wanted = dict[int, int]()  # pulls that are asked for and not yet told
        self.ended, self.repeated, self.workers = set[int](), 0, 0
        self._early = dict[int, list[tuple[float, float]]]()  # losses that are not yet told, and what they cost
        self._last = dict[int, float]()
        self._path: Path | None = None
        self._lines = [terms.to_dict()]  # as long as there is no file

    @property
    def over(self) -> bool:
        """Whether nothing is left to train."""
        return self.game.over

    def keep(self, path: Path) -> None:
        """Write everything to a file, from now on when it is told."""
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".draft")
        draft.write_text("".join(json.dumps(line) + "\n" for line in self._lines))
        draft.replace(path)
        self._lines.clear()
        self._path = path

    def out(self, arm: int) -> bool:
        """Whether a trial is not to be trained any more."""
        return arm in self.ended or arm in self.game.failures

    def recommend(self) -> tuple[str, Recommendation]:
        """The trial to take, and why."""
        best = self.game.recommend()
        return self.trials[best.arm], best

    def add(self, trial: str) -> bool:
        """A trial has come, or come back; whether there is an arm for it."""
        if trial not in self.arms and len(self.trials) < self.terms.n_trials:
            self.arms[trial] = len(self.trials)
            self.trials.append(trial)
            self._write({"add": trial})
        return trial in self.arms

    def allow(self, workers: int) -> None:
        """How many trials may run side by side."""
        if workers != self.workers:
            self.workers = workers
            self._write({"workers": workers})
            self._play([])

    def report(self, trial: str, at: float, loss: float) -> bool:
        """A trial is so far and has this loss, a finite one; whether that is new."""
        arm = self.arms[trial]
        cost = at - self.at.get(arm, 0.0)
        if cost <= 0 or arm in self.game.failures:
            self.repeated += 1
            return False
        self._write({"trial": trial, "at": at, "loss": loss})
        self.at[arm], self._last[arm] = at, loss
        results = [(loss, cost)] if not self.terms.steps else [(loss, 1.0)] * max(1, round(cost))
        self._early.setdefault(arm, []).extend(results)
        if self.terms.max_t is not None and at >= self.terms.max_t:
            self.ended.add(arm)
        self._play([arm])
        return True

    def end(self, trial: str) -> None:
        """A trial cannot be trained any more."""
        arm = self.arms[trial]
        if arm not in self.at:
            self.fail(trial, "it ended without a result")
        elif not self.out(arm):
            self._write({"end": trial})
            self.ended.add(arm)
            self._play([arm])

    def fail(self, trial: str, why: str) -> None:
        """A trial is out, whatever it has reported."""
        self._write({"fail": trial, "why": why})
        self._fail(self.arms[trial], why)

    def miss(self) -> None:
        """No more trials come."""
        self._write({"missing": True})
        for arm in range(len(self.trials), self.terms.n_trials):
            if arm not in self.game.failures:
                self._fail(arm, "there is no such trial")

    def _fail(self, arm: int, why: str) -> None:
        if arm not in self.game.failures:
            cost = sum(cost for _, cost in self._early.pop(arm, [])) if not self.terms.steps else None
            self.wanted.pop(arm, None)
            self.game.fail(arm, why, cost=cost)
            self._play([])

    def _play(self, arms: list[int]) -> None:
        """Tell the game what it has asked for, and ask for more, until it waits for results."""
        while True:
            told = [arm for arm in arms if self._tell(arm)]
            free = self.workers - len(self.wanted)
            if free <= 0 or (arms and not told):  # it would say what it has said before
                return
            pulls = self.game.ask(workers=free)
            self.wanted.update((pull.arm, pull.times) for pull in pulls)
            arms = [pull.arm for pull in pulls if pull.arm in self._early or pull.arm in self.ended]
            if not arms:
                return

    def _tell(self, arm: int) -> bool:
        """If there is all that was asked for, or all that there will ever be."""
        if (times := self.wanted.get(arm)) is None:
            return False
        early = self._early.get(arm, [])
        if len(early) < times and arm in self.ended and not self.game.can_finish:
            early += [(self._last[arm], 0.0)] * (times - len(early))  # it would go on as it ended
        if len(early) < times and arm not in self.ended:
            return False
        now, self._early[arm] = early[:times], early[times:]
        losses, cost = [loss for loss, _ in now], None if self.terms.steps else sum(cost for _, cost in now)
        del self.wanted[arm]
        if len(now) == times:
            self.game.tell(arm, losses, cost=cost)
        else:
            self.game.finish(arm, losses, cost=cost if now else None)
        if not self._early[arm]:
            del self._early[arm]
        return True

    def _write(self, line: dict[str, Any]) -> None:
        self._lines.append(line)
        if self._path is not None:
            with self._path.open("a") as file:
                file.writelines(json.dumps(line) + "\n" for line in self._lines)
            self._lines.clear()


def read_lines(text: str) -> list[dict[str, Any]]:
    """The lines of a ledger's file; one that was cut off at the end has not been written."""
    lines = [line for line in text.split("\n")[:-1] if line]
    try:
        found = [json.loads(line) for line in lines]
    except ValueError as error:
        raise DamagedRun(f"the ledger is damaged ({error})") from None
    if not found or not all(isinstance(line, dict) for line in found):
        raise DamagedRun("the ledger is damaged: it does not begin with what is played")
    return found


def tell_again(
    ledger: Ledger, lines: Iterable[dict[str, Any]], *, gone: Set[str] = frozenset(), again: Any = ()
) -> None:
    """What a ledger was told before, except for trials that are ``gone``, and for the ends of those that begin ``again``."""
    for line in lines:
        match line:
            case {"workers": workers}:
                ledger.allow(workers)
            case {"add": trial} if trial not in gone:
                ledger.add(trial)
            case {"trial": trial, "at": at, "loss": loss} if trial not in gone:
                ledger.report(trial, at, loss)
            case {"end": trial} if trial not in gone and trial not in again:
                ledger.end(trial)
            case {"fail": trial, "why": why} if trial not in gone and trial not in again:
                ledger.fail(trial, why)
            case {"missing": _} if not gone and not again:
                ledger.miss()


def read_ledger(text: str) -> Ledger:
    """The ledger that has written this."""
    terms, *lines = read_lines(text)
    try:
        ledger = Ledger(Terms.from_dict(terms))
        tell_again(ledger, lines)
    except (LookupError, TypeError, InvalidParameter) as error:
        raise DamagedRun(f"the ledger is damaged ({type(error).__name__}: {error})") from None
    return ledger


def recommended(results: Any) -> Any:
    """The result of the trial that a ``HorizonScheduler`` recommends, of the grid that ``Tuner.fit`` or a restored one gave."""
    with results.filesystem.open_input_stream(f"{results.experiment_path}/{FILE}") as file:
        best, _ = read_ledger(file.readall().decode()).recommend()
    return next(result for result in results if (result.metrics or {}).get("trial_id") == best)

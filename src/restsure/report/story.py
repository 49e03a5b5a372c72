"""A run as plain, thinned data, from which every picture of it is drawn: the same for a result and for a run directory.

What happened (:class:`Facts`) is read off the records, in the time it takes to read them; what was believed
(:class:`~restsure.report.beliefs.Beliefs`) is got by playing the game again, which can take longer. Both go on from record
to record, so that whoever follows a run never begins again, and keep few numbers of however many training steps.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from restsure.errors import DamagedRun, InvalidParameter, RestSureError
from restsure.journal import Record, Tail, in_use
from restsure.policies import Policy
from restsure.problem import amount
from restsure.report.beliefs import MOMENTS, Beliefs, Predicted, budgets
from restsure.report.thinning import Ribbon, ThinCurve, ends_kept, number, numbers
from restsure.training import Recorded, Result
from restsure.training.result import with_names

SHOWN = 40  # candidates that are drawn at the most: those with most training steps
_PIXELS = 400  # of a ribbon: what is closer than that looks as one
_LINES = 2_000  # of the log that are kept
_NEARLY = 0.98  # of what was spent, from which on predictions count as those of now
_DECISION = re.compile(r"after \S+ [^:]*: arm (\d+)(?: against arm (\d+))?: (.*)", re.DOTALL)
_GIVES_UP = (
    "Alg. 2 line 11",
    "phase ",
    "another arm has what this one could reach",
)  # how rules begin that drop an arm
_BAD = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError)


@dataclass
class _Candidate:
    """What has happened to one candidate."""

    name: str
    kind: str
    curve: ThinCurve
    ribbon: Ribbon
    cost: float = 0.0
    state: str = "active"
    why: str | None = None
    misfit: str | None = None


class Facts:
    """What the records of a run say, without playing its game."""

    def __init__(self, begin: Record):
        try:
            told = begin.body
            self.budget, self.unit = float(told["budget"]), str(told["unit"])
            gap = self.budget / _PIXELS
            self.candidates = [
                _Candidate(clean(name), clean(kind), ThinCurve(), Ribbon(gap, []))
                for name, kind in told["candidates"].items()
            ]
            count, costs = len(self.candidates), told["costs"]
            self._prices = [1.0] * count if costs is None else None if costs == "measured" else list(map(float, costs))
        except _BAD as error:
            raise DamagedRun(f"the run's first record is not what a run was told ({error})") from None
        self.begin, self.opened = begin, list[Record]()
        self.records, self.last_s, self.spent, self.seconds = 1, begin.at_s, 0.0, 0.0
        self.opened_at = 0.0  # what had been spent when the run was last opened
        self.notes, self.log = list[str](), list[dict[str, Any]]()
        self.ended = self.stopped = False
        self.chosen: int | None = None
        self.standings = list[tuple[float, int, Predicted]]()  # the best by the losses, at some moments
        self._due = 0.0

    @property
    def names(self) -> list[str]:
        return [candidate.name for candidate in self.candidates]

    def add(self, record: Record) -> None:
        """One more record."""
        try:
            self._add(record)
        except _BAD as error:
            raise DamagedRun(f"record {record.number} is not what a run has written ({error})") from None

    def _add(self, record: Record) -> None:
        body, self.records, self.last_s = record.body, record.number, record.at_s
        if record.kind == "block":
            self._block(body)
        elif record.kind == "fail":
            self.spent += float(body["cost"] or 0.0)
        elif record.kind == "note":
            self.notes.append(clean(body["text"]))
            self._line("note", clean(body["text"]))
        elif record.kind == "open":
            self._line("resumed" if self.opened else "begun", f"by restsure {clean(body.get('restsure'))}")
            self.opened.append(record)
            self.opened_at = self.spent
        for text in body.get("decisions", ()):
            self._decision(text)
        if record.kind == "stop":
            self._line("stopped", f"by {clean(body.get('why'))}")
        elif record.kind == "end":
            self.ended, self.chosen = True, body["arm"]
            self._line(
                "over", "the budget is spent" if self.chosen is not None else "all candidates have failed", self.chosen
            )
        self.stopped = record.kind == "stop"

    def _block(self, body: dict[str, Any]) -> None:
        arm, losses = body["arm"], np.array(body["losses"], dtype=np.float64)
        if not np.isfinite(losses).all() or losses.ndim != 1 or not len(losses):
            raise ValueError("losses must be finite numbers")
        candidate, before = self.candidates[arm], self.spent
        cost = float(body["cost"]) if self._prices is None else self._prices[arm] * len(losses)
        self.spent += cost
        self.seconds += float(body["seconds"])
        candidate.cost += cost
        candidate.curve.add(losses)
        candidate.ribbon.add(before, self.spent)
        if self.spent >= self._due:
            step = self.budget / MOMENTS
            self._due = (math.floor(self.spent / step) + 1) * step
            self._note_standing(self._standing())

    def _note_standing(self, now: tuple[float, int, Predicted]) -> None:
        """Keep who is best by the losses; a policy that drops nobody has little else to tell while it goes on."""
        before = self.standings[-1][1] if self.standings else None
        if before is not None and now[1] != before:
            self._line("leads", f"has the lowest losses now, about {now[2][0]:.4g}", now[1], before)
        self.standings.append(now)

    def _standing(self) -> tuple[float, int, Predicted]:
        alive = [arm for arm, each in enumerate(self.candidates) if each.curve.steps and each.state != "failed"]
        seen = {arm: self.candidates[arm].curve.standing() or (math.inf, -math.inf, math.inf) for arm in alive}
        best = min(seen, key=lambda arm: seen[arm])
        return self.spent, best, seen[best]

    def _decision(self, text: str) -> None:
        if (found := _DECISION.fullmatch(text)) is None:
            self._line("chosen", clean(text))
            return
        arm, rival, rule = int(found[1]), None if found[2] is None else int(found[2]), found[3]
        candidate, words = self.candidates[arm], clean(with_names(rule, self.names))
        if rule.startswith("failed: "):
            kind, words = "failed", words.removeprefix("failed: ")
            candidate.state, candidate.why = "failed", words
        elif rule.startswith("does not follow the curve model"):
            kind, candidate.misfit = "misfit", words
        elif rule.startswith(_GIVES_UP):
            kind, candidate.state, candidate.why = "given up", "given up", words
        else:
            kind, self.chosen = "chosen", arm
        self._line(kind, words, arm, rival)

    def _line(self, kind: str, text: str, arm: int | None = None, rival: int | None = None) -> None:
        self.log.append({"spent": number(self.spent), "kind": kind, "arm": arm, "rival": rival, "text": text})
        if len(self.log) > _LINES:
            del self.log[1]  # the first says when it began

    def state_of(self, arm: int) -> str:
        """Active, given up or failed; chosen, or winner once it is over, and the others then not chosen."""
        state = self.candidates[arm].state
        if state == "active" and self.chosen is not None:
            return ("winner" if self.ended else "chosen") if arm == self.chosen else "not chosen"
        return "winner" if self.ended and arm == self.chosen else state

    def shown(self) -> list[int]:
        """Who is drawn: the candidates with most steps, in their order."""
        most = sorted(
            range(len(self.candidates)), key=lambda arm: (arm != self.chosen, -self.candidates[arm].curve.steps)
        )
        return sorted(most[:SHOWN])


def tell(facts: Facts, beliefs: Beliefs | str, *, state: str, title: str = "") -> dict[str, Any]:
    """The story so far, ready for JSON; ``beliefs``: or why there are none. ``state``: running, stopped or over."""
    shown = facts.shown()
    believed = beliefs.tell(shown) if isinstance(beliefs, Beliefs) else {}
    if believed and not _up_to_date(facts, beliefs):
        believed = {key: believed[key] for key in ("spent", "outlook")}  # of what is past they are right
    return {
        "head": _head(facts, believed, state, title, beliefs if isinstance(beliefs, str) else ""),
        "candidates": _candidates(facts, believed),
        "shown": shown,
        "curves": {arm: _curve(facts.candidates[arm].curve) for arm in shown},
        "bands": believed.get("bands", {}),
        "ribbon": {arm: [numbers(span) for span in facts.candidates[arm].ribbon.spans] for arm in shown},
        "outlook": believed.get("outlook", {"spent": [], "of": {}}),
        "what_if": {"before": budgets(facts.standings), "ahead": believed.get("ahead", budgets(()))},
        "log": list(facts.log),
        "notes": [*facts.notes, *(beliefs.progress.caveats if isinstance(beliefs, Beliefs) else ())],
        "configuration": _configuration(facts),
    }


def _up_to_date(facts: Facts, beliefs: Any) -> bool:
    """Whether what is believed is of now, or nearly so: whoever follows a long run plays its game after reading it."""
    if facts.ended:
        return bool(beliefs.progress.ended)
    return bool(beliefs.progress.game.spent >= _NEARLY * facts.spent)


def _head(facts: Facts, believed: dict[str, Any], state: str, title: str, why: str) -> dict[str, Any]:
    leader = believed.get("leader")
    return {
        "title": clean(title),
        "state": state,
        "sentence": clean(believed.get("sentence") or _sentence(facts, state)),
        "certificate": believed.get("certificate"),
        "leader": facts.chosen if leader is None else leader,
        "loss": believed.get("loss"),
        "unit": facts.unit,
        "budget": number(facts.budget, 12),
        "spent": number(facts.spent, 12),
        "believed": believed.get("spent"),
        "no_beliefs": clean(why),
        "started_s": number(facts.begin.at_s, 13),
        "last_s": number(facts.last_s, 13),
        "opened_s": number(facts.opened[-1].at_s if facts.opened else facts.begin.at_s, 13),
        "opened_at": number(facts.opened_at, 12),
        "seconds": number(facts.seconds),
        "records": facts.records,
    }


def _sentence(facts: Facts, state: str) -> str:
    """What can be said without the game."""
    used = f"{amount(round(facts.spent, 1))} of {amount(facts.budget)} {facts.unit} spent on {len(facts.candidates)} candidates"
    if facts.chosen is None or (last := facts.candidates[facts.chosen].curve.last) is None:
        return f"{state}: {used}"
    return f"{facts.candidates[facts.chosen].name}: last loss {last:.4g}; {used}"


def _candidates(facts: Facts, believed: dict[str, Any]) -> list[dict[str, Any]]:
    predicted, reach = believed.get("predicted"), believed.get("reach")
    return [
        {
            "name": candidate.name,
            "kind": candidate.kind,
            "steps": candidate.curve.steps,
            "cost": number(candidate.cost),
            "last_loss": number(candidate.curve.last),
            "predicted": predicted[arm] if predicted else None,
            "reach": reach[arm] if reach else None,
            "state": facts.state_of(arm),
            "why": candidate.why,
            "misfit": candidate.misfit,
        }
        for arm, candidate in enumerate(facts.candidates)
    ]


def _curve(curve: ThinCurve) -> dict[str, Any]:
    steps, losses = curve.points()
    return {"steps": steps, "losses": ends_kept(losses), "smooth": numbers(curve.smooth())}


def _configuration(facts: Facts) -> list[list[str]]:
    """What the run was told, and by what it was made, as pairs of texts."""
    told, made = facts.begin.body, facts.opened[-1].body if facts.opened else {}
    try:
        policy = repr(Policy.from_dict(told["policy"]))
    except (RestSureError, *_BAD):
        policy = repr(told.get("policy"))
    rows: list[tuple[str, Any]] = [("policy", policy), ("budget", f"{amount(facts.budget)} {facts.unit}")]
    rows += [(name, told.get(name)) for name in ("random_state", "costs")]
    rows += [(f"data: {name}", value) for name, value in (told.get("data") or {}).items()]
    rows += [(f"source: {name}", value) for name, value in (told.get("source") or {}).items()]
    rows += [(name, made.get(name)) for name in ("workers", "restsure", "numpy", "python")]
    return [[clean(name), clean(value)] for name, value in rows if value is not None]


def clean(value: Any) -> str:
    """Text that can be written as UTF-8."""
    return str(value).encode("utf-8", "replace").decode()


def _whole(records: Iterable[Record], *, state: str, title: str) -> dict[str, Any]:
    """The story of all records, each looked at once; where the game cannot be played again, it says why."""
    facts: Facts | None = None
    beliefs: Beliefs | str = ""
    for record in records:
        if facts is None:
            facts = Facts(record)
        else:
            facts.add(record)
        try:
            if record.number == 1:
                beliefs = Beliefs(record)
            elif isinstance(beliefs, Beliefs):
                beliefs.add(record)
        except DamagedRun as error:
            beliefs = str(error)
    assert facts is not None, "a run has records"
    story = tell(facts, beliefs, state="over" if facts.ended else state, title=title)
    return story | {"explanation": clean(beliefs.explain()) if isinstance(beliefs, Beliefs) else ""}


def story_in(directory: Path) -> dict[str, Any]:
    """The same of a run directory, of which little is in memory at a time."""
    state, tail = "running" if in_use(directory) else "stopped", Tail(directory)
    return _whole(chain.from_iterable(iter(tail.read, [])), state=state, title=directory.name)


def story_of(run: Result | Recorded) -> dict[str, Any]:
    """A run as plain, thinned data: of a result, or of what a run directory says.

    >>> import restsure as rs
    >>> result = rs.select({"good": lambda: 0.1, "bad": lambda: 0.3}, budget=20, progress=False)
    >>> story = story_of(result)
    >>> story["head"]["leader"], story["candidates"][1]["state"]
    (0, 'not chosen')
    """
    records: Sequence[Record] = run._records if isinstance(run, Result) else run.records
    if not records:
        raise InvalidParameter("result: must come from rs.select or a run directory, which record what happened")
    if isinstance(run, Result):
        return _whole(records, state="stopped" if run.interrupted else "over", title="")
    return _whole(records, state=run.state, title=run.directory.name)

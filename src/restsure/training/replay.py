"""Resume is replay: the game of a run, played again from its journal."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from restsure.errors import DamagedRun, RestSureError
from restsure.journal import Record, State
from restsure.policies import Game
from restsure.problem import Pull
from restsure.training.identity import open_game
from restsure.training.meter import Meter
from restsure.training.result import Block


@dataclass
class Progress:
    """How far a run has come: its game, and what is known beside it. A new run is the case without records.

    ``out``: pulls that were asked for and not told, in the order of asking; ``states``: for each arm the newest saved state
    and the pulls it had then; ``retries``: how often each arm was brought back after a failure, and ``restarts``,
    after its place was lost; ``seconds``: of training; ``records``: all that happened, as a journal has it or would.
    """

    names: tuple[str, ...]
    meter: Meter
    game: Game
    history: list[Block] = field(default_factory=list)
    out: dict[int, Pull] = field(default_factory=dict)
    states: dict[int, tuple[State, int]] = field(default_factory=dict)
    retries: dict[int, int] = field(default_factory=dict)
    restarts: dict[int, int] = field(default_factory=dict)
    seconds: dict[int, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    ended: bool = False
    stopped: bool = False
    cut: set[int] = field(default_factory=set)
    records: list[Record] = field(default_factory=list)

    def ask(self, most: int | Sequence[int] | None) -> Pull | None:
        """One more pull beside those that are out, if the rule wants any."""
        pulls = self.game.ask(workers=1, max_times=most)
        if not pulls:
            return None
        self.out[pulls[0].arm] = pulls[0]
        return pulls[0]

    def tell(self, arm: int, losses: Any, cost: float | None, seconds: float) -> tuple[float, ...]:
        """Losses of the pull of ``arm`` that is out; raises InvalidLoss, and leaves it out, if they are none."""
        spent = self.game.spent
        self.game.tell(arm, losses, cost=cost)
        self.seconds[arm] = self.seconds.get(arm, 0.0) + seconds
        block = Block(spent, self.names[arm], self.game.pulls[arm], tuple(map(float, losses)), self.game.spent - spent)
        before = self.history[-1] if self.history else None
        if before is not None and arm in self.cut and before.name == block.name:  # pieces of one decision are one block
            self.history[-1] = Block(
                before.spent, block.name, block.pulls, before.losses + block.losses, before.cost + block.cost
            )
        else:
            self.history.append(block)
        (self.cut.add if self.out.pop(arm).later else self.cut.discard)(arm)
        return block.losses

    def fail(self, arm: int, reason: str, cost: float | None) -> None:
        """That arm is out."""
        self.out.pop(arm, None)
        self.game.fail(arm, reason, cost=cost)

    def losses(self, arm: int) -> list[float]:
        """All losses of an arm so far."""
        return [loss for block in self.history if block.name == self.names[arm] for loss in block.losses]


def replay(records: Sequence[Record]) -> Progress:
    """Play the game of a run again, as far as its records go; where it goes another way than it did, that is named."""
    progress = Progress(*open_game(records[0].body), records=list(records))
    for record in records[1:]:
        advance(progress, record)
    return progress


def advance(progress: Progress, record: Record) -> None:
    """Play on by one record; whoever follows a run need not begin again at each."""
    try:
        _advance(progress, record)
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RestSureError) as error:
        if isinstance(error, DamagedRun):
            raise
        raise DamagedRun(f"the journal cannot be played again ({type(error).__name__}: {error})") from None


def _advance(progress: Progress, record: Record) -> None:
    body = record.body
    for asked in body.get("asked", ()):  # also when nothing was wanted: a rule may learn from being asked
        pull = progress.ask(None if asked is None else asked[1])
        found = None if pull is None else (pull.arm, pull.times)
        if found != (None if asked is None else tuple(asked)):
            wanted, wants = (_words(progress.names, each) for each in (asked, found))
            raise DamagedRun(
                f"record {record.number} has {wanted}, where the policy now wants {wants}: made by another version of "
                f"restsure or numpy, or on another kind of processor"
            )
    if record.kind == "block":
        progress.tell(body["arm"], body["losses"], body["cost"], body["seconds"])
    elif record.kind == "fail":
        progress.fail(body["arm"], body["reason"], body["cost"])
    elif record.kind == "checkpoint":
        progress.states[body["arm"]] = State.from_dict(body), body["pulls"]
    elif record.kind == "drop":
        for arm in body["arms"]:
            del progress.states[arm]
    elif record.kind == "note":
        progress.notes.append(body["text"])
        for word, counts in (("retried", progress.retries), ("restarted", progress.restarts)):
            if (arm := body.get(word)) is not None:
                counts[arm] = counts.get(arm, 0) + 1
    progress.stopped = record.kind == "stop"
    progress.ended |= record.kind == "end"


def _words(names: Sequence[str], pull: Sequence[int] | None) -> str:
    return "nothing" if pull is None else f"{pull[1]} training steps of {names[pull[0]]!r}"

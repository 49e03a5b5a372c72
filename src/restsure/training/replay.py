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
    ``spent``: of the budget, by what was told. ``astray``: where the policy would have gone another way than the records that
    were followed.
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
    spent: float = 0.0
    astray: str | None = None

    def ask(self, most: int | Sequence[int] | None) -> Pull | None:
        """One more pull beside those that are out, if the rule wants any."""
        pulls = self.game.ask(workers=1, max_times=most)
        if not pulls:
            return None
        self.out[pulls[0].arm] = pulls[0]
        return pulls[0]

    @property
    def caveats(self) -> list[str]:
        """What must be known of what is shown, beside the notes."""
        words = "shown as it was recorded, with the predictions of this version"
        return [] if self.astray is None else [f"{self.astray}; {words}"]

    def follow(self, asked: tuple[int, int] | None, instead: Pull | None) -> None:
        """One more pull beside those that are out, or none: what was made, and not what the rule has handed out."""
        if instead is not None:
            del self.out[instead.arm]
        pull = self.game.follow(asked, instead)
        if pull is not None:
            self.out[pull.arm] = pull

    def tell(self, arm: int, losses: Any, cost: float | None, seconds: float) -> tuple[float, ...]:
        """Losses of the pull of ``arm`` that is out; raises InvalidLoss, and leaves it out, if they are none."""
        self.game.tell(arm, losses, cost=cost)
        self.seconds[arm] = self.seconds.get(arm, 0.0) + seconds
        spent, self.spent = self.spent, self.game.spent
        block = Block(spent, self.names[arm], self.game.pulls_of(arm), tuple(map(float, losses)), self.spent - spent)
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
        self.spent = self.game.spent

    def losses(self, arm: int) -> list[float]:
        """All losses of an arm so far."""
        return [loss for block in self.history if block.name == self.names[arm] for loss in block.losses]


def replay(records: Sequence[Record], *, follow: bool = False) -> Progress:
    """Play the game of a run again, as far as its records go.

    Where the policy now wants something else than it did, that is named: the run cannot go on. To look at it, ``follow`` the
    records all the same, as far as the policy can: what happened is as it was, and predictions are those of now.
    """
    progress = Progress(*open_game(records[0].body), records=list(records))
    for record in records[1:]:
        advance(progress, record, follow=follow)
    return progress


def advance(progress: Progress, record: Record, *, follow: bool = False) -> None:
    """Play on by one record; whoever follows a run need not begin again at each."""
    try:
        _advance(progress, record, follow)
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RestSureError) as error:
        if isinstance(error, DamagedRun):
            raise
        raise DamagedRun(f"the journal cannot be played again ({type(error).__name__}: {error})") from None


def _advance(progress: Progress, record: Record, follow: bool) -> None:
    body = record.body
    for asked in body.get("asked", ()):  # also when nothing was wanted: a rule may learn from being asked
        _ask_again(progress, record.number, None if asked is None else tuple(asked), follow)
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
    elif record.kind == "end" and progress.astray is not None and body["arm"] is not None:
        progress.game.conclude(body["arm"])
    progress.stopped = record.kind == "stop"
    progress.ended |= record.kind == "end"


def _ask_again(progress: Progress, number: int, asked: tuple[int, int] | None, follow: bool) -> None:
    """Ask for what was asked for then; what was not wanted then is not handed out now."""
    pull = None
    if progress.astray is None:
        pull = progress.ask(None if asked is None else asked[1])
        found = None if pull is None else (pull.arm, pull.times)
        if found == asked:
            return
        wanted, wants = (_words(progress.names, each) for each in (asked, found))
        departure = (
            f"record {number} has {wanted}, where the policy now wants {wants}: made by another version of restsure or numpy, "
            f"or on another kind of processor"
        )
        if not (follow and progress.game.can_follow):
            raise DamagedRun(departure)
        progress.astray = departure
    progress.follow(asked, pull)


def _words(names: Sequence[str], pull: Sequence[int] | None) -> str:
    return "nothing" if pull is None else f"{pull[1]} training steps of {names[pull[0]]!r}"

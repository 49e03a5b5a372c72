"""When the states of learners are saved, and which are kept."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from restsure import checks
from restsure.description import Description, settle
from restsure.errors import InvalidParameter
from restsure.journal import State, States

_FIRST_S = 0.02  # what a save is taken to cost until one has been made


@dataclass(frozen=True)
class Checkpoints(Description):
    """How often a run saves its learners, and what it keeps.

    ``share``: of the time that a learner has trained, at the most, goes into saving it: a state that took a second to save is
    saved again after twenty seconds of training, at a share of .05. A crash costs the training since then, once more.
    ``max_bytes``: no state is saved that would bring all of them together above this. ``keep_all``: whether the states of
    candidates that were given up are kept, too; otherwise the winner's alone is left in the end, and those of candidates that
    failed. ``pickle``: whether learners that have no safe format may be saved, *and loaded*, by pickle, which runs
    whatever code a file holds: only for directories that nobody else can write to.
    """

    share: float = 0.05
    max_bytes: int | None = None
    keep_all: bool = False
    pickle: bool = False

    def __post_init__(self) -> None:
        settle(self, share=checks.real("share", self.share, above=0, at_most=1))
        if self.max_bytes is not None:
            settle(self, max_bytes=checks.whole("max_bytes", self.max_bytes, at_least=0))
        for name in ("keep_all", "pickle"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidParameter(f"{name}={getattr(self, name)!r}: must be True or False")


class Keeper:
    """Saves the states of one run's learners when the rule says so."""

    def __init__(self, rule: Checkpoints, states: States, newest: dict[int, tuple[State, int]]):
        self.rule, self.states, self.newest = rule, states, newest
        self.at_risk = dict[int, float]()  # seconds of training of each arm since its last state
        self.costs = dict[int, float]()  # seconds that its last save took
        self.spent_s = 0.0

    @property
    def size(self) -> int:
        """Bytes of all states that are kept."""
        return sum({state.digest: state.size for state, _ in self.newest.values()}.values())

    def trained(self, arm: int, seconds: float) -> bool:
        """Some more training of an arm; whether it is time to save it."""
        self.at_risk[arm] = self.at_risk.get(arm, 0.0) + seconds
        return self.at_risk[arm] * self.rule.share >= self.costs.get(arm, _FIRST_S)

    def save(self, arm: int, pulls: int, write: Callable[[Path], None]) -> State | None:
        """Have ``write`` save a learner; None where all states together would become too many bytes."""
        began = perf_counter()
        state = self.states.save(write)
        others = self.size - (self.newest[arm][0].size if arm in self.newest else 0)
        if self.rule.max_bytes is not None and others + state.size > self.rule.max_bytes:
            self.tidy()
            return None
        self.at_risk[arm], self.costs[arm] = 0.0, perf_counter() - began
        self.spent_s += self.costs[arm]
        return state

    def keep(self, arm: int, pulls: int, state: State) -> None:
        """The state is in the journal: older ones of that arm can go."""
        self.newest[arm] = state, pulls
        self.tidy()

    def superfluous(self, arms: Iterable[int]) -> list[int]:
        """Of candidates that were given up, those whose states need not be kept."""
        return [] if self.rule.keep_all else sorted(self.newest.keys() & arms)

    def drop(self, arms: Iterable[int]) -> None:
        """The states of these can go."""
        for arm in arms:
            del self.newest[arm]
        self.tidy()

    def tidy(self) -> None:
        """Only the newest state of every arm stays."""
        self.states.keep_only(state.digest for state, _ in self.newest.values())

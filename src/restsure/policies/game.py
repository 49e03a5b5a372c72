"""One game in progress: ask which arm to pull, tell its losses, and in the end take the recommendation."""

import math
import numbers
from collections import deque
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, overload

import numpy as np

from restsure import checks
from restsure.description import Description
from restsure.errors import InvalidLoss, InvalidParameter, NoArmLeft, OutOfTurn
from restsure.policies.play import Play
from restsure.problem import Decision, Pull, Recommendation, amount

_ONLY = np.array([0])  # the run of a play that is a live game


class Game:
    """A live game of one policy; ``policy.start(n_arms, horizon)`` opens it.

    >>> from restsure import RestSure
    >>> game = RestSure(rho=0.5).start(n_arms=2, horizon=100)
    >>> while (pull := game.ask()) is not None:
    ...     game.tell(pull.arm, [0.3 + 0.1 * pull.arm] * pull.times)
    >>> game.recommend().arm
    0

    Not thread-safe: one thread asks and tells, though pulls handed out by ``ask(workers=...)`` may be made anywhere.
    """

    unit = "pulls"
    """What the budget is counted in, for people to read."""

    def __init__(self, policy: Description, play: Play):
        self.policy = policy
        self._play = play
        self._queue: deque[tuple[int, int]] = deque()  # (arm, pulls) to hand out before the next decision
        self._out: dict[int, tuple[int, int]] = {}  # arm -> (pulls handed out, pulls of it to hand out after these)
        self._told: list[tuple[int, list[float]]] = []  # taken, not yet given to the play
        self._paid: list[tuple[int, int, float]] = []  # (arm, pulls, their cost), likewise
        self._reasons: dict[int, str] = {}

    @property
    def n_arms(self) -> int:
        return self._play.n_arms

    @property
    def horizon(self) -> float:
        """The budget: pulls in total, or the unit of the costs."""
        budget: float = self._play.horizon
        return budget

    @property
    def pulls(self) -> tuple[int, ...]:
        """Pulls that have been told, for each arm."""
        self._take_in()
        return tuple(self._play.pulls[0].tolist())

    def pulls_of(self, arm: int) -> int:
        """Pulls of one arm that have been told."""
        self._take_in()
        return int(self._play.row.pulls[self._known(arm)])

    @property
    def spent(self) -> float:
        """Pulls that have been told, in total; what they cost, if they have costs."""
        self._take_in()
        return self._play.used()

    @property
    def over(self) -> bool:
        """Whether there is nothing left to ask: the budget is spent, or every arm has failed."""
        self._advance()
        return bool(self._play.done[0])

    @property
    def failures(self) -> dict[int, str]:
        """Arms that have failed, and why."""
        return dict(self._reasons)

    @property
    def can_finish(self) -> bool:
        """Whether arms may :meth:`finish` before the budget does."""
        return self._play.ends

    @property
    def misfits(self) -> dict[int, str]:
        """Arms whose losses do not go as the policy believes that losses go, and how."""
        self._advance()
        return dict(self._play.misfits)

    @property
    def given_up(self) -> frozenset[int]:
        """Arms that get no pull any more, unless others fail: failed, eliminated, or not the one that was chosen."""
        self._advance()
        return frozenset(np.flatnonzero(~self._play.stands(0)).tolist())

    @property
    def log(self) -> tuple[Decision, ...]:
        """Every elimination, commitment and failure so far, with the rule, the numbers and the rival."""
        self._advance()
        return tuple(self._play.log or ())

    @overload
    def ask(self, workers: None = None, *, max_times: int | Sequence[int] | None = None) -> Pull | None: ...
    @overload
    def ask(self, workers: int, *, max_times: int | Sequence[int] | None = None) -> list[Pull]: ...
    def ask(
        self, workers: int | None = None, *, max_times: int | Sequence[int] | None = None
    ) -> Pull | list[Pull] | None:
        """The next pull to make, or None when the game is over.

        With ``workers=W``: up to W pulls of distinct arms, to be made side by side; fewer, or none, when nothing else is worth
        a pull until those that are out have been told (``game.over`` tells that from the end). ``max_times`` (for each
        arm, or alike) cuts a long block into pieces, for a record or a progress bar in between; it changes no decision.
        """
        if max_times is not None and not isinstance(max_times, Sequence):
            max_times = checks.whole("max_times", max_times, at_least=1)
        wide = 1 if workers is None else checks.whole("workers", workers, at_least=1)
        self._advance()
        if workers is None and not self._queue and self._out:
            raise OutOfTurn(f"ask(): the pulls of arms {sorted(self._out)} must be told first")
        pulls: list[Pull] = []
        while len(pulls) < wide and (self._queue or (workers is not None and self._plan_beside())):
            arm, times = self._queue[0]
            now = times if max_times is None else min(times, self._number("max_times", max_times, arm))
            self._queue.popleft()
            self._out[arm] = now, times - now
            pulls.append(Pull(arm, now, times - now))
        if workers is None:
            return pulls[0] if pulls else None
        return pulls

    def tell(self, arm: int, losses: Sequence[float], *, cost: float | None = None) -> None:
        """The losses of the pulls of ``arm`` that were asked for, in order.

        A NaN or infinite loss is refused and the pull stays out: tell it again, or :meth:`fail` the arm. ``cost``: what these
        pulls have cost together, in a game that was started with ``costs="measured"``.
        """
        arm = self._known(arm)
        if arm not in self._out:
            raise OutOfTurn(f"arm={arm}: must be asked for before it is told")
        times, later = self._out[arm]
        block = _checked_losses(losses, times, arm)
        self._pay(arm, times, cost)
        del self._out[arm]
        self._told.append((arm, block))
        if later:
            self._queue.appendleft((arm, later))

    def fail(self, arm: int, reason: str, *, cost: float | None = None) -> None:
        """``arm`` is out for good, whether or not a pull of it is out; the rest of the budget goes to the others.

        ``cost``: what it has cost since it was last told, where costs are measured.
        """
        arm = self._known(arm)
        checks.instance("reason", reason, str)
        if arm in self._reasons:
            raise OutOfTurn(f"arm={arm}: has failed already ({self._reasons[arm]})")
        if cost is not None:
            self._pay(arm, 0, cost)
        self._take_in()
        self._out.pop(arm, None)
        self._queue = deque(entry for entry in self._queue if entry[0] != arm)
        self._reasons[arm] = reason
        self._play.fail(0, arm)
        if self._play.log is not None:
            self._play.log.append(Decision(self._play.used(), f"failed: {reason}", arm))

    def finish(self, arm: int, losses: Sequence[float] = (), *, cost: float | None = None) -> None:
        """``arm`` cannot be pulled any more, but what it has reached stands, and it may still be the one to return.

        ``losses``: of the pulls of it that are out, if some could be made; ``cost``: what those have cost, where costs are
        measured. For games that could have been told the ends of their arms before (``max_pulls``).
        """
        arm = self._known(arm)
        if not self.can_finish:
            raise InvalidParameter(
                f"arm={arm}: must not end in a game of {type(self.policy).__name__}, which knows no ends"
            )
        if arm in self._reasons:
            raise OutOfTurn(f"arm={arm}: has failed already ({self._reasons[arm]})")
        block = _checked_losses(losses, min(len(losses), self._out.get(arm, (0, 0))[0]), arm)
        if not len(block) and not self.pulls[arm]:
            raise OutOfTurn(f"arm={arm}: must be pulled before it ends")
        if len(block):
            self._pay(arm, len(block), cost)
            self._told.append((arm, block))
        self._take_in()
        self._out.pop(arm, None)
        self._queue = deque(entry for entry in self._queue if entry[0] != arm)
        self._play.finish(0, arm)

    @property
    def can_follow(self) -> bool:
        """Whether it can :meth:`follow` pulls that its rule does not want."""
        return self._play.overlaps

    def follow(self, made: tuple[int, int] | None, instead: Pull | None = None) -> Pull | None:
        """Hand out the pulls that were ``made`` (an arm, how many), or none, whatever the rule wants.

        To play a game again that was played by another version of the rule; ``instead`` of a pull that was handed out since.
        """
        if not self.can_follow:
            raise OutOfTurn(f"follow(): {type(self.policy).__name__} goes its own way only")
        self._take_in()
        if instead is not None:
            self._queue.append((instead.arm, sum(self._out.pop(instead.arm))))
        for arm, times in self._queue:
            self._play.wanted[0, arm] -= times
        self._queue.clear()
        if made is None:
            return None
        arm, times = self._known(made[0]), checks.whole("times", made[1], at_least=1)
        if arm in self._out or arm in self._reasons:
            raise OutOfTurn(f"arm={arm}: has pulls out or has failed, and cannot be pulled")
        self._play.wanted[0, arm] += times
        self._out[arm] = times, 0
        return Pull(arm, times)

    def conclude(self, arm: int) -> None:
        """The game is over, and ``arm`` is what it returned: of a game that was played by another version of the rule."""
        self._take_in()
        arm, play = self._known(arm), self._play
        if arm in self._reasons or not play.pulls[0, arm]:
            raise OutOfTurn(f"arm={arm}: has failed or was never pulled, and cannot be returned")
        play.wanted[0], play.choice[0], play.done[0] = 0, arm, True
        self._queue.clear()
        if play.log is not None:
            play.log.append(Decision(play.used(), "returned, as was recorded", arm))

    def recommend(self) -> Recommendation:
        """The arm to return: the final answer when the game is over, else the best by what has been seen."""
        self._advance()
        self._take_in()
        play = self._play
        if play.failed[0].all():
            raise NoArmLeft(f"all {self.n_arms} arms have failed: {self._reasons}")
        if not play.pulls[0][~play.failed[0]].any():
            raise NoArmLeft("no arm has been pulled yet: nothing to recommend")
        final = bool(play.done[0])
        arm = int(play.choice[0]) if final else play.leader(0)
        loss, low, high, basis = play.interval(0, arm)
        why = [d.rule for d in play.log or () if d.arm == arm] if final else []
        reason = (why[-1] if why else "lowest estimated loss at the pulls made so far") + f"; {basis}"
        return Recommendation(arm, int(play.pulls[0, arm]), loss, low, high, reason)

    @property
    def costs(self) -> tuple[float, ...]:
        """What a pull of each arm costs, as far as is known."""
        self._take_in()
        return tuple(self._play.costs.tolist())

    @property
    def lengths(self) -> tuple[int, ...]:
        """How many pulls each arm could have had with the whole budget for it alone; by what they cost so far."""
        self._take_in()
        most = self.horizon / self._play.costs
        return tuple(np.maximum(np.minimum(most, self._play.longest), 1).astype(np.int64).tolist())

    def outlook(self, pulls: int | Sequence[int]) -> list[tuple[float, float, float]] | None:
        """Each arm's predicted loss after ``pulls`` pulls of it, low and high; None if the policy predicts nothing.

        ``pulls``: one number for all arms, or one for each.
        """
        if not isinstance(pulls, Sequence):
            pulls = checks.whole("pulls", pulls, at_least=1)
        each = [self._number("pulls", pulls, arm) for arm in range(self.n_arms)]
        self._advance()
        self._take_in()
        return self._play.outlook(0, each)

    def explain(self) -> str:
        """Why this arm now, who is its rival, and what would have to happen for the rival to be pulled; then the log.

        >>> from restsure import HorizonLCB
        >>> game = HorizonLCB().start(n_arms=2, horizon=20)
        >>> while (pull := game.ask()) is not None and game.spent < 10:
        ...     game.tell(pull.arm, [0.5 / (1 + game.pulls[pull.arm]) + 0.1 * pull.arm] * pull.times)
        >>> game.explain().startswith("After 10 of 20 pulls. Arm 0 is next: it could reach ")
        True
        """
        self._advance()
        self._take_in()
        head = f"After {amount(self.spent)} of {amount(self.horizon)} {self.unit}. {self._play.explain(0)}"
        return "\n".join([head, *(decision.text(self.unit) for decision in self._play.log or ())])

    def _pay(self, arm: int, times: int, cost: float | None) -> None:
        if not self._play.measured:
            if cost is not None:
                raise InvalidParameter(f"cost={cost!r}: must be None unless the game was started with costs='measured'")
        elif cost is None:
            raise InvalidParameter(f"cost: must say what the pulls of arm {arm} have cost, since costs are measured")
        else:
            self._paid.append((arm, times, checks.real("cost", cost, at_least=0)))

    def _number(self, name: str, value: int | Sequence[int], arm: int) -> int:
        """The whole number for an arm, of one for each or one for all."""
        if not isinstance(value, Sequence):
            return value
        if len(value) != self.n_arms:
            raise InvalidParameter(f"{name}={value!r}: must be {self.n_arms} numbers, one for each arm")
        return checks.whole(name, value[arm], at_least=1)

    def _known(self, arm: Any) -> int:
        if type(arm) is int and 0 <= arm < self._play.n_arms:
            return arm
        return checks.whole("arm", arm, at_least=0, at_most=self.n_arms - 1)

    def _take_in(self) -> None:
        """Give the play what has been told: arms with as many losses together, so that a round is one update."""
        for paid in self._paid:
            self._play.pay(*paid)
        self._paid.clear()
        if not self._told:
            return
        if len(self._told) == 1:
            [(arm, block)] = self._told
            self._told.clear()
            self._play.observe_one(arm, block)
            return
        by_arm: dict[int, list[float]] = {}
        for arm, block in self._told:
            by_arm.setdefault(arm, []).extend(block)
        self._told.clear()
        for length in sorted({len(losses) for losses in by_arm.values()}):
            group = {arm: losses for arm, losses in by_arm.items() if len(losses) == length}
            self._play.observe(np.array(list(group)), np.array(list(group.values())))

    def _advance(self) -> None:
        """Decide, once everything that was wanted has been told."""
        if not self._queue and not self._out:
            self._plan()

    def _plan_beside(self) -> bool:
        """Decide what else to pull beside the pulls that are out, if the policy can; whether there is anything."""
        if self._play.overlaps and self._out:
            self._plan()
        return bool(self._queue)

    def _plan(self) -> None:
        self._take_in()
        play = self._play
        if not play.row.done[0]:
            play.decide(_ONLY)
            if play.all_want:
                play.wanted += play.all_want
                play.all_want = 0
            self._queue.extend(play.fresh(self._out))


def _checked_losses(losses: Any, times: int, arm: int) -> list[float]:
    """The losses as ``times`` finite floats."""
    if type(losses) is list:
        values = losses
    else:
        plain = not isinstance(losses, (str, bytes, Set, Mapping)) and isinstance(losses, Iterable)
        if not plain or getattr(losses, "ndim", 1) != 1:
            raise InvalidLoss(f"losses={losses!r}: must be a sequence of {times} numbers for arm {arm}")
        values = losses.tolist() if isinstance(losses, np.ndarray) else list(losses)
    if len(values) != times:
        raise InvalidLoss(f"losses: must be {times} numbers for arm {arm}, but there are {len(values)}")
    for value in values:
        if type(value) is not float and (isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real)):
            raise InvalidLoss(f"losses: must be numbers, but {value!r} of arm {arm} is {type(value).__name__}")
        try:
            finite = math.isfinite(value)
        except (TypeError, ValueError, OverflowError) as error:  # numbers by name only, or too large for one
            raise InvalidLoss(f"losses: must be numbers, but one of arm {arm} is not ({error})") from None
        if not finite:
            raise InvalidLoss(f"losses: must be finite, but one of arm {arm} is {value}")
    return [float(value) for value in values]

"""A policy is a frozen description; ``start`` opens a live game of it, ``play`` many games at once."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from restsure import checks
from restsure.description import Description
from restsure.errors import InvalidParameter
from restsure.policies.game import Game
from restsure.policies.play import Play

_LONGEST = 2**53  # pulls up to which counts are exact as floats too


class Policy(Description, ABC):
    """Which learner gets the next training step.

    A policy holds parameters only: it is hashable, printable and survives a trip through JSON. ``start`` opens a game.
    """

    def start(
        self,
        n_arms: int,
        horizon: int,
        *,
        seed: int | None = None,
        costs: Sequence[float] | str | None = None,
        max_pulls: Sequence[int] | None = None,
    ) -> Game:
        """Open a game of ``horizon`` pulls in total over ``n_arms`` arms.

        ``seed`` is for policies that draw random numbers. ``costs`` (a price for each arm's pull, or "measured") and
        ``max_pulls`` (a length for each arm) are refused by policies whose rule knows no such thing.
        """
        n_arms, horizon = check_game(n_arms, horizon)
        if seed is not None:
            checks.whole("seed", seed, at_least=0)
        for name, value in (("costs", costs), ("max_pulls", max_pulls)):
            if value is not None:
                raise InvalidParameter(f"{name}={value!r}: must be None for {type(self).__name__}")
        return Game(self, self.play(n_arms, horizon, 1, log=True))

    @abstractmethod
    def play(self, n_arms: int, horizon: int, runs: int, *, log: bool = False) -> Play:
        """Open ``runs`` games at once; parameters have been checked."""

    def losses_kept(self, n_arms: int, horizon: int) -> int:
        """How many numbers a run keeps at the most; beyond a few an arm, it bounds how many runs are played together."""
        return n_arms


def check_game(n_arms: Any, horizon: Any) -> tuple[int, int]:
    """At least one arm, and at least one pull for each."""
    n_arms = checks.whole("n_arms", n_arms, at_least=1)
    horizon = checks.whole("horizon", horizon, at_least=1, at_most=_LONGEST)
    if horizon < n_arms:
        raise InvalidParameter(f"horizon={horizon}: must be at least n_arms={n_arms}, one pull for each arm")
    return n_arms, horizon

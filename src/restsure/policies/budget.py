"""What a game may spend: one total, what a pull of each arm costs, and how long each arm can be trained."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from restsure import checks
from restsure.errors import InvalidParameter

Floats = NDArray[np.float64]

_NOTHING = 1e-9  # of the budget: what a pull costs before anyone knows
SLACK = 1e-9  # of a pull: what rounding may take from a budget that is a whole number of pulls


@dataclass(eq=False)
class Budget:
    """``total`` in the unit of ``costs`` (pulls, if each costs one); ``max_pulls`` is infinite where an arm has no end."""

    total: float
    costs: Floats
    max_pulls: Floats

    @classmethod
    def of_pulls(cls, n_arms: int, horizon: int) -> "Budget":
        """Every pull costs one, and no arm has an end before the horizon."""
        return cls(horizon, np.ones(n_arms), np.full(n_arms, np.inf))

    @classmethod
    def checked(
        cls, n_arms: int, total: Any, *, costs: Sequence[float] | str | None, max_pulls: Sequence[int] | None
    ) -> "Budget":
        """From a user's numbers; there must be enough for one pull of each arm, as far as costs are known."""
        n_arms = checks.whole("n_arms", n_arms, at_least=1)
        longest = _lengths(max_pulls, n_arms)
        if isinstance(costs, str):
            checks.choice("costs", costs, ["measured"])
            return MeasuredBudget(n_arms, checks.real("horizon", total, above=0), longest)
        if costs is None:
            total, prices = checks.whole("horizon", total, at_least=1), np.ones(n_arms)
        else:
            total, prices = checks.real("horizon", total, above=0), _one_each("costs", costs, n_arms)
            if (prices <= 0).any():
                raise InvalidParameter(f"costs={costs!r}: must be above 0")
        if total < prices.sum() * (1 - SLACK):
            raise InvalidParameter(
                f"horizon={total!r}: must be at least {prices.sum():g}, the cost of one pull of each of {n_arms} arms"
            )
        return cls(total, prices, longest)

    def __post_init__(self) -> None:
        # whether every pull costs one, and no arm has an end
        self.plain = bool((self.costs == 1).all() and np.isinf(self.max_pulls).all())
        self.nothing = np.zeros(len(self.costs))

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which arms have shown what they cost."""
        return np.ones(len(self.costs), dtype=np.bool_)

    @property
    def lengths(self) -> Floats:
        """The most pulls each arm could get if no other were pulled."""
        return np.minimum(self.total / self.costs, self.max_pulls)

    def spent(self, pulls: NDArray[Any]) -> Floats:
        """What these pulls of all arms (on the last axis) have cost."""
        return np.asarray(np.add.reduce(pulls, axis=-1, dtype=np.float64) if self.plain else pulls @ self.costs)

    def affordable(self, pulls: NDArray[Any]) -> Floats:
        """Pulls of each arm that what is left would pay for, not rounded, whether or not it has an end."""
        left = self.total - self.spent(pulls)[..., None]
        return left + self.nothing if self.plain else left / self.costs

    def room(self, pulls: NDArray[Any]) -> Floats:
        """Pulls that each arm could still get if no other were pulled, not rounded."""
        most = self.affordable(pulls)
        return most if self.plain else np.maximum(np.minimum(most, self.max_pulls - pulls), 0.0)


class MeasuredBudget(Budget):
    """Pulls cost what they are found to cost, in seconds say: for one game.

    The cost of an arm's next pull is the mean of its blocks so far, of which the latest counts for a quarter at least: a slow
    first pull is forgotten, and a model that grows slower is believed. Before its first pull an arm costs next to nothing.
    """

    def __init__(self, n_arms: int, total: float, max_pulls: Floats):
        super().__init__(total, np.full(n_arms, total * _NOTHING), max_pulls)
        self.paid, self.told, self.plain = 0.0, np.zeros(n_arms, dtype=np.int64), False

    def pay(self, arm: int, times: int, cost: float) -> None:
        """``times`` pulls of ``arm`` have cost so much."""
        self.paid += cost
        if times:
            self.told[arm] += times
            each, newest = max(cost / times, self.total * _NOTHING), max(times / self.told[arm], 0.25)
            self.costs[arm] += newest * (each - self.costs[arm])

    @property
    def known(self) -> NDArray[np.bool_]:
        return self.told > 0

    def spent(self, pulls: NDArray[Any]) -> Floats:
        return np.asarray(self.paid + (pulls - self.told) @ self.costs)


def whole_pulls(room: Floats) -> NDArray[np.int64]:
    """How many pulls fit in that room."""
    return np.floor(room * (1 + SLACK) + SLACK).astype(np.int64)


def _lengths(max_pulls: Sequence[int] | None, n_arms: int) -> Floats:
    if max_pulls is None:
        return np.full(n_arms, np.inf)
    longest = _one_each("max_pulls", max_pulls, n_arms)
    if (longest < 1).any() or (longest != np.floor(longest)).any():
        raise InvalidParameter(f"max_pulls={max_pulls!r}: must be whole numbers of at least 1")
    return longest


def _one_each(name: str, values: Any, n_arms: int) -> Floats:
    array = checks.real_array(name, values)
    if array.shape != (n_arms,):
        raise InvalidParameter(f"{name}: must be {n_arms} numbers, one for each arm, but has shape {array.shape}")
    return array

"""What a game may spend: one total, what a pull of each arm costs, and how long each arm can be trained."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from restsure import checks
from restsure.errors import InvalidParameter

Floats = NDArray[np.float64]

SLACK = 1e-9  # of a pull: what rounding may take from a budget that is a whole number of pulls


@dataclass(frozen=True, eq=False)
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
        cls, n_arms: int, total: Any, *, costs: Sequence[float] | None, max_pulls: Sequence[int] | None
    ) -> "Budget":
        """From a user's numbers; there must be enough for one pull of each arm."""
        n_arms = checks.whole("n_arms", n_arms, at_least=1)
        if costs is None:
            total, prices = checks.whole("horizon", total, at_least=1), np.ones(n_arms)
        else:
            total, prices = checks.real("horizon", total, above=0), _one_each("costs", costs, n_arms)
            if (prices <= 0).any():
                raise InvalidParameter(f"costs={costs!r}: must be above 0")
        longest = np.full(n_arms, np.inf)
        if max_pulls is not None:
            longest = _one_each("max_pulls", max_pulls, n_arms)
            if (longest < 1).any() or (longest != np.floor(longest)).any():
                raise InvalidParameter(f"max_pulls={max_pulls!r}: must be whole numbers of at least 1")
        if total < prices.sum() * (1 - SLACK):
            raise InvalidParameter(
                f"horizon={total!r}: must be at least {prices.sum():g}, the cost of one pull of each of {n_arms} arms"
            )
        return cls(total, prices, longest)

    @cached_property
    def plain(self) -> bool:
        """Whether every pull costs one, and no arm has an end."""
        return bool((self.costs == 1).all() and np.isinf(self.max_pulls).all())

    @property
    def lengths(self) -> Floats:
        """The most pulls each arm could get if no other were pulled."""
        return np.minimum(self.total / self.costs, self.max_pulls)

    def spent(self, pulls: NDArray[np.int64]) -> Floats:
        """What these pulls of all arms (on the last axis) have cost."""
        return np.asarray(pulls.sum(axis=-1) * 1.0 if self.plain else pulls @ self.costs)

    def room(self, pulls: NDArray[np.int64]) -> Floats:
        """Pulls that each arm could still get if no other were pulled, not rounded: its reach less what it has had."""
        left = (self.total - self.spent(pulls))[..., None]
        if self.plain:
            return left + np.zeros(pulls.shape[-1])
        return np.maximum(np.minimum(left / self.costs, self.max_pulls - pulls), 0.0)


def whole_pulls(room: Floats) -> NDArray[np.int64]:
    """How many pulls fit in that room."""
    return np.floor(room * (1 + SLACK) + SLACK).astype(np.int64)


def _one_each(name: str, values: Any, n_arms: int) -> Floats:
    array = checks.real_array(name, values)
    if array.shape != (n_arms,):
        raise InvalidParameter(f"{name}: must be {n_arms} numbers, one for each arm, but has shape {array.shape}")
    return array

"""What the budget is counted in: training steps, samples, or seconds of training."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from restsure import checks
from restsure.errors import InvalidParameter, WrongType
from restsure.policies import Game, HorizonLCB, Policy

_SECONDS = {"ms": 1e-3, "s": 1.0, "sec": 1.0, "min": 60.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_SECONDS |= {"second": 1.0, "minute": 60.0, "hour": 3_600.0, "day": 86_400.0}
_PART = r"(\d+(?:[_,]\d{3})*(?:\.\d+)?)\s*([a-z]+)"


@dataclass(frozen=True)
class Meter:
    """A budget of ``total`` in a ``unit``: "training steps", "samples" or "seconds"."""

    total: float
    unit: str

    def __post_init__(self) -> None:
        checks.choice("unit", self.unit, ["training steps", "samples", "seconds"])

    def costs(self, policy: Policy, names: Sequence[str], learners: Sequence[Any]) -> list[float] | str | None:
        """What steps cost in a game: one each (None), what the learners say, or "measured" for samples and seconds."""
        if self.measures:
            if not isinstance(policy, HorizonLCB):
                raise InvalidParameter(
                    f"budget in {self.unit}: must be in training steps for {type(policy).__name__}, which knows no costs"
                )
            for name, learner in zip(names, learners, strict=True):
                if self.unit == "samples" and not hasattr(learner, "samples"):
                    raise InvalidParameter(
                        f"budget in samples: candidate {name!r} does not say how many it learns from"
                    )
            return "measured"
        said = [getattr(learner, "cost", None) for learner in learners]
        if all(cost is None for cost in said):
            return None
        return [1.0 if cost is None else checks.real("cost", cost, above=0) for cost in said]

    def start(self, policy: Policy, count: int, costs: list[float] | str | None, seed: int) -> Game:
        """Open a game of ``count`` candidates."""
        if costs is None:
            steps = int(self.total)
            if steps < count:
                raise InvalidParameter(
                    f"budget={steps}: must be at least {count}, one training step for each candidate"
                )
            game = policy.start(count, steps, seed=seed)
        else:
            game = policy.start(count, self.total, seed=seed, costs=costs)  # type: ignore[arg-type]
        game.unit = self.unit
        return game

    def read(self, learner: Any) -> float:
        """Where the meter stands for this learner; two readings tell what lies between."""
        if self.unit == "seconds":
            return time.perf_counter()
        return float(learner.samples) if self.unit == "samples" else 0.0

    @property
    def measures(self) -> bool:
        """Whether costs are known only afterwards."""
        return self.unit != "training steps"


def read_budget(budget: Any) -> Meter:
    """A whole number of training steps, a duration such as "90s" or "1h30min", or "60000 samples".

    >>> read_budget(256)
    Meter(total=256, unit='training steps')
    >>> read_budget("1h 30min").total, read_budget("60_000 samples").unit
    (5400.0, 'samples')
    """
    if not isinstance(budget, str):
        try:
            return Meter(checks.whole("budget", budget, at_least=1), "training steps")
        except WrongType:
            raise WrongType(f"budget={budget!r}: must be {_RULE}") from None
    parts = re.findall(_PART, text := budget.strip().lower())
    if parts and not re.sub(_PART, "", text).strip():
        numbers = [float(re.sub("[_,]", "", number)) for number, _ in parts]
        units = [unit if unit in _SECONDS else unit.removesuffix("s") for _, unit in parts]
        if sum(numbers) > 0 and all(unit in _SECONDS for unit in units):
            return Meter(sum(number * _SECONDS[unit] for number, unit in zip(numbers, units, strict=True)), "seconds")
        if units == ["sample"] and numbers[0] >= 1:
            return Meter(numbers[0], "samples")
        if units in (["step"], ["pull"]) and numbers[0] >= 1 and numbers[0].is_integer():
            return Meter(int(numbers[0]), "training steps")
    raise InvalidParameter(f"budget={budget!r}: must be {_RULE}")


_RULE = "a whole number of training steps, a duration such as '10min' or '90s', or a number such as '60000 samples'"

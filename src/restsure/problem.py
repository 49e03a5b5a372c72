"""The words everyone else uses: pulls, reach, regret.

Arms are learners. Pulling arm ``i`` for the ``s``-th time (``s = 1, 2, ...``) trains it a little more and shows a loss
with mean ``mu_i(s)``, which falls with ``s`` and moves only when that arm is pulled: the arms are *rested*. After ``T``
pulls in total (``horizon``) one arm is returned and judged by the loss it has then.

Reference: Cella, Gentile, Pontil, *Online Model Selection: a Rested Bandit Formulation*, arXiv 2012.03522.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True)
class Pull:
    """Train ``arm`` for ``times`` more steps and tell the game the ``times`` losses.

    ``later``: how many more the same decision gives it, when it was asked for in pieces.
    """

    arm: int
    times: int
    later: int = 0


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The arm to return now, the pulls it has had, and its loss there with an interval.

    ``low`` and ``high`` are as sure as the bound of the policy; ``reason`` says which rule chose the arm and, where the
    interval is not certified, says so.
    """

    arm: int
    pulls: int
    loss: float
    low: float
    high: float
    reason: str


@dataclass(frozen=True, slots=True)
class Decision:
    """One line of a game's log: which rule fired after ``spent`` pulls (or their cost), on whom, against whom, and why."""

    spent: float
    rule: str
    arm: int
    rival: int | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.text("pulls")

    def text(self, unit: str) -> str:
        """The line, with what the budget is counted in."""
        rival = "" if self.rival is None else f" against arm {self.rival}"
        numbers = ", ".join(f"{name} {value:.6g}" for name, value in self.numbers.items())
        return f"after {amount(self.spent)} {unit}: arm {self.arm}{rival}: {self.rule}" + (
            f" ({numbers})" if numbers else ""
        )


def amount(value: float) -> str:
    """Pulls, samples or seconds, for people to read: in full, unless there is more than a decimal of it.

    >>> amount(1_000_000.0), amount(1_234_567.5), amount(12.3456789)
    ('1,000,000', '1,234,567.5', '12.3457')
    """
    return f"{value:,.15g}" if value == round(value, 1) else f"{value:,g}"


def reach(pulls: Any, spent: Any, horizon: int) -> Any:
    """The most pulls an arm can still have at the end: those it has had and all that are left.

    ``m_i = n_i + (T - t)``; the paper's ``tau_out``. Works on numbers and on arrays.

    >>> reach(pulls=10, spent=80, horizon=1000)
    930
    """
    return pulls + (horizon - spent)


def pseudo_regret(loss_returned: ArrayLike, losses_at_horizon: ArrayLike) -> NDArray[np.float64]:
    """``R = mu_out(tau_out) - min_i mu_i(T)``, paper Eq. (3): the price of the wrong arm and of too few pulls alike.

    ``losses_at_horizon`` has the arms on its last axis.

    >>> float(pseudo_regret(0.25, [0.2, 0.5]).round(3))
    0.05
    """
    best = np.min(np.asarray(losses_at_horizon, dtype=np.float64), axis=-1)
    return np.asarray(np.asarray(loss_returned, dtype=np.float64) - best)

"""What a game looked like from outside: every block of pulls in order, and every arm's losses."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from restsure.policies import Game
from restsure.problem import Pull


@dataclass(frozen=True, slots=True)
class Trace:
    """A finished game: the pulls in order, the losses of each arm, the game itself."""

    game: Game
    pulls: tuple[Pull, ...]
    losses: tuple[NDArray[np.float64], ...]


def record(game: Game, loss_of: Callable[[int, int], float]) -> Trace:
    """Play a game to its end; ``loss_of(arm, s)`` is the loss of the s-th pull of an arm."""
    pulls, losses = list[Pull](), [list[float]() for _ in range(game.n_arms)]
    while (pull := game.ask()) is not None:
        seen = len(losses[pull.arm])
        block = [loss_of(pull.arm, seen + k) for k in range(1, pull.times + 1)]
        game.tell(pull.arm, block)
        losses[pull.arm] += block
        pulls.append(pull)
    return Trace(game, tuple(pulls), tuple(np.array(series) for series in losses))

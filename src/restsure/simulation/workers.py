"""Delayed feedback: a game played by several workers in virtual time."""

import heapq

import numpy as np
from numpy.typing import NDArray

from restsure import checks
from restsure.arms import Arms
from restsure.policies import Game, Policy
from restsure.simulation.engine import Simulation, check_room, score
from restsure.simulation.tape import ArmTape


def simulate_workers(
    policy: Policy, arms: Arms, horizon: int, replicates: int, seed: int, *, workers: int
) -> tuple[Simulation, NDArray[np.float64]]:
    """Play each run with ``workers`` workers; a pull takes one unit of time, and its losses are told when it ends.

    Returns the scores and, for each run, the time until the last pull ended. The budget counts all pulls, so that time is
    saved only while the policy has work for several workers at once. The losses are those of :func:`simulate`.
    """
    workers = checks.whole("workers", workers, at_least=1)
    replicates = checks.whole("replicates", replicates, at_least=1)
    check_room(arms, horizon, replicates)
    returned, pulls, times = list[int](), list[tuple[int, ...]](), list[float]()
    for run in range(replicates):
        game = policy.start(arms.n_arms, horizon)
        times.append(play_by_workers(game, ArmTape(arms, np.array([run]), seed), workers))
        returned.append(game.recommend().arm)
        pulls.append(game.pulls)
    return score(np.array(returned), np.array(pulls), arms, np.arange(replicates), horizon), np.array(times)


def play_by_workers(game: Game, tape: ArmTape, workers: int) -> float:
    """Hand out pulls as workers become free, tell them in the order in which they end; returns when the last one did."""
    now, busy = 0.0, list[tuple[float, int, int]]()  # (end, arm, times)
    while not game.over:
        for pull in game.ask(workers=workers - len(busy)) if len(busy) < workers else ():
            heapq.heappush(busy, (now + pull.times, pull.arm, pull.times))
        now, arm, times = heapq.heappop(busy)
        pieces = [tape.read(np.array([arm]), min(tape.width, times - k))[0] for k in range(0, times, tape.width)]
        game.tell(arm, np.concatenate(pieces))  # type: ignore[arg-type]
    return now

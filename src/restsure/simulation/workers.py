"""Delayed feedback: a game played by several workers in virtual time."""

import heapq

import numpy as np

from restsure import checks
from restsure.arms import Arms
from restsure.errors import InvalidParameter
from restsure.policies import Game, Policy
from restsure.problem import pseudo_regret
from restsure.simulation.engine import Simulation
from restsure.simulation.tape import ArmTape


def simulate_workers(
    policy: Policy, arms: Arms, horizon: int, replicates: int, seed: int, *, workers: int
) -> tuple[Simulation, np.ndarray[tuple[int], np.dtype[np.float64]]]:
    """Play each run with ``workers`` workers; a pull takes one unit of time, and its losses are told when it ends.

    Returns the scores and, for each run, the time until the last pull ended. The budget counts all pulls, so that time is
    saved only while the policy has work for several workers at once. The losses are those of :func:`simulate`.
    """
    workers = checks.whole("workers", workers, at_least=1)
    replicates = checks.whole("replicates", replicates, at_least=1)
    if arms.instances is not None and arms.instances < replicates:
        raise InvalidParameter(f"replicates={replicates}: must be at most the {arms.instances} instances of the arms")
    rows, times = list[tuple[float, int, int, bool, np.ndarray[tuple[int], np.dtype[np.int64]]]](), list[float]()
    for run in range(replicates):
        game = policy.start(arms.n_arms, horizon)
        times.append(play_by_workers(game, ArmTape(arms, np.array([run]), seed), workers))
        answer = game.recommend()
        at_end = arms.means(np.array([run]), horizon)[0]
        regret = pseudo_regret(arms.mean(run, answer.arm, answer.pulls), at_end)
        rows.append((float(regret), answer.arm, answer.pulls, at_end[answer.arm] > at_end.min(), np.array(game.pulls)))
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    return Simulation(*columns), np.array(times)


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

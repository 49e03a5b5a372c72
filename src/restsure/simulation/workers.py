"""Delayed feedback: a game played by several workers in virtual time."""

import heapq
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from restsure import checks
from restsure.arms import Arms
from restsure.policies import Game, Policy
from restsure.simulation.engine import Simulation, check_room, score
from restsure.simulation.tape import ArmTape


@dataclass(frozen=True)
class Fleet:
    """Workers that train side by side, in virtual time.

    ``seconds``: what a pull of each arm takes, one if None. Workers die ``failures_per_hour`` times an hour each, while they
    train: what they have in hand is lost and made again by a new one, which is there after ``repair_s``. An arm that has
    lost more than ``max_restarts`` workers fails.
    """

    workers: int
    seconds: NDArray[np.float64] | None = None
    failures_per_hour: float = 0.0
    repair_s: float = 60.0
    max_restarts: int = 2

    def __post_init__(self) -> None:
        checks.whole("workers", self.workers, at_least=1)
        checks.whole("max_restarts", self.max_restarts, at_least=0)
        checks.real("failures_per_hour", self.failures_per_hour, at_least=0)
        checks.real("repair_s", self.repair_s, at_least=0)


@dataclass
class Shift:
    """What a fleet has done for one game.

    ``clock``: when the last pull ended; ``idle``: time of workers that had nothing to do, in all; ``lost``: time that died with
    workers, ``deaths`` in number. ``asks``: how often the game was asked for pulls, ``deciding``: real seconds that it took to
    ask and to tell. ``halfway``: clock and idle time when half of the budget was spent.
    """

    clock: float = 0.0
    idle: float = 0.0
    lost: float = 0.0
    deaths: int = 0
    asks: int = 0
    deciding: float = 0.0
    halfway: tuple[float, float] = (0.0, 0.0)


def simulate_workers(
    policy: Policy, arms: Arms, horizon: int, replicates: int, seed: int, *, workers: int
) -> tuple[Simulation, NDArray[np.float64]]:
    """Play each run with ``workers`` workers; a pull takes one unit of time, and its losses are told when it ends.

    Returns the scores and, for each run, the time until the last pull ended. The budget counts all pulls, so that time is
    saved only while the policy has work for several workers at once. The losses are those of :func:`simulate`.
    """
    fleet = Fleet(workers)
    replicates = checks.whole("replicates", replicates, at_least=1)
    check_room(arms, horizon, replicates)
    returned, pulls, times = list[int](), list[tuple[int, ...]](), list[float]()
    for run in range(replicates):
        game = policy.start(arms.n_arms, horizon)
        times.append(play_by_fleet(game, ArmTape(arms, np.array([run]), seed), fleet).clock)
        returned.append(game.recommend().arm)
        pulls.append(game.pulls)
    return score(np.array(returned), np.array(pulls), arms, np.arange(replicates), horizon), np.array(times)


def play_by_fleet(game: Game, tape: ArmTape, fleet: Fleet, *, seed: int = 0) -> Shift:
    """Hand out pulls as workers become free, tell them in the order in which they end; ``seed`` is for the deaths."""
    shift, chance, half = Shift(), np.random.default_rng(seed), game.horizon / 2
    seconds = np.ones(game.n_arms) if fleet.seconds is None else fleet.seconds
    busy = list[tuple[float, int, int]]()  # (end, arm, times; none where the arm fails then)
    deaths, spent = dict[int, int](), 0.0
    began = perf_counter()
    while not game.over:
        pulls = game.ask(workers=fleet.workers - len(busy)) if len(busy) < fleet.workers else []
        shift.asks += len(busy) < fleet.workers
        shift.deciding += perf_counter() - began
        for pull in pulls:
            takes, alive = _with_deaths(pull.arm, pull.times * seconds[pull.arm], fleet, shift, deaths, chance)
            heapq.heappush(busy, (shift.clock + takes, pull.arm, pull.times if alive else 0))
        now, arm, times = heapq.heappop(busy)
        shift.idle += (fleet.workers - len(busy) - 1) * (now - shift.clock)
        shift.clock = now
        losses = [tape.read(np.array([arm]), min(tape.width, times - k))[0] for k in range(0, times, tape.width)]
        if spent < half <= spent + times * seconds[arm]:
            shift.halfway = shift.clock, shift.idle
        spent += times * seconds[arm]
        began = perf_counter()
        if times:
            game.tell(arm, np.concatenate(losses))  # type: ignore[arg-type]
        else:
            game.fail(arm, f"lost {deaths[arm]} workers")
    shift.deciding += perf_counter() - began
    return shift


def _with_deaths(
    arm: int, takes: float, fleet: Fleet, shift: Shift, deaths: dict[int, int], chance: np.random.Generator
) -> tuple[float, bool]:
    """How long a block takes, with what is made again and the waits; whether it is done then, or its arm fails."""
    total = 0.0
    if not fleet.failures_per_hour:
        return takes, True
    while (lives := chance.exponential(3600 / fleet.failures_per_hour)) < takes:
        total += lives + fleet.repair_s
        shift.lost += lives + fleet.repair_s
        shift.deaths += 1
        deaths[arm] = deaths.get(arm, 0) + 1
        if deaths[arm] > fleet.max_restarts:
            return total, False
    return total + takes, True

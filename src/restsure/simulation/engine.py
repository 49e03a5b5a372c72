"""Play many games at once on arms whose curves are known, and score them."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from typing import Any

import numpy as np
from numpy.typing import NDArray

from restsure import checks
from restsure.arms import Arms
from restsure.errors import InvalidParameter
from restsure.policies import Play, Policy, check_game
from restsure.problem import pseudo_regret
from restsure.simulation.tape import Tape, tape_for

_MOST_CELLS = 2**16  # arms of all runs played together: enough to hide Python's overhead, little enough for the cache
_MOST_LOSSES = 2**26  # losses that policies with a memory may hold at once (half a gigabyte)
_ABREAST = 1.05  # runs that may differ: those within 5 % of the one that has spent least go on, the others wait


@dataclass(frozen=True, slots=True)
class Simulation:
    """Scores of simulated runs, one entry a run.

    ``regret`` is the paper's Eq. (3), ``arm`` the arm returned, ``pulls`` the pulls it has had (``tau_out``), ``error``
    whether another arm would have been best after all T pulls. ``arm_pulls`` has a row a run and a column an arm.
    """

    regret: NDArray[np.float64]
    arm: NDArray[np.intp]
    pulls: NDArray[np.int64]
    error: NDArray[np.bool_]
    arm_pulls: NDArray[np.int64]


def simulate(
    policy: Policy,
    arms: Arms,
    horizon: int,
    replicates: int,
    seed: int,
    *,
    n_jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Simulation:
    """Play ``replicates`` games of ``policy`` on ``arms`` with the rules of a live game, all of them together.

    The s-th loss of arm i in run r depends on ``(seed, r, i, s)`` alone: every policy meets the same losses, and the first
    100 of 1,000 runs are the runs that ``replicates=100`` gives, on one process or on ``n_jobs`` (policy and arms must then be
    picklable). ``progress(done, total)`` counts pulls.

    >>> from restsure import Gaussian, PowerLawArms, RestSure
    >>> arms = PowerLawArms([0.5, 0.1], [0.1, 0.3], noise=Gaussian(0.05))
    >>> out = simulate(RestSure(rho=0.5), arms, horizon=1_000, replicates=20, seed=0)
    >>> out.arm.tolist() == [0] * 20, bool(out.error.any())
    (True, False)
    """
    checks.instance("policy", policy, Policy)
    checks.instance("arms", arms, Arms)
    _, horizon = check_game(arms.n_arms, horizon)
    replicates = checks.whole("replicates", replicates, at_least=1)
    seed = checks.whole("seed", seed, at_least=0)
    n_jobs = checks.whole("n_jobs", n_jobs, at_least=1)
    check_room(arms, horizon, replicates)
    tasks = [_Task(policy, arms, horizon, runs, seed) for runs in _chunks(policy, arms, horizon, replicates, n_jobs)]
    parts = list[Simulation]()
    if n_jobs == 1:
        for task in tasks:
            report = _part_of(progress, int(task.runs[0]) * horizon, replicates * horizon) if progress else None
            parts.append(_play_task(task, report))
    else:
        for part in _pool(n_jobs).map(_play_task, tasks):
            parts.append(part)
            if progress:
                progress(sum(len(done.arm) for done in parts) * horizon, replicates * horizon)
    return Simulation(*(np.concatenate([getattr(part, name) for part in parts]) for name in Simulation.__slots__))


def check_room(arms: Arms, horizon: int, replicates: int) -> None:
    """Enough instances for the runs, and curves that are long enough."""
    if arms.instances is not None and arms.instances < replicates:
        raise InvalidParameter(f"replicates={replicates}: must be at most the {arms.instances} instances of the arms")
    if arms.longest is not None and horizon > arms.longest:
        raise InvalidParameter(f"horizon={horizon}: must be at most {arms.longest}, the length of the table")


@dataclass(frozen=True, slots=True)
class _Task:
    """Some runs of a simulation, for this process or another one."""

    policy: Policy
    arms: Arms
    horizon: int
    runs: NDArray[np.intp]
    seed: int


def _play_task(task: _Task, report: Callable[[int], None] | None = None) -> Simulation:
    play = task.policy.play(task.arms.n_arms, task.horizon, len(task.runs))
    play_out(play, tape_for(task.arms, task.runs, task.seed, task.horizon), report)
    return score(play.choice, play.pulls, task.arms, task.runs, task.horizon)


def _chunks(policy: Policy, arms: Arms, horizon: int, replicates: int, n_jobs: int) -> list[NDArray[np.intp]]:
    """Runs that are played together: few enough for the cache and for memory, and one part at least for each process."""
    kept = max(policy.losses_kept(arms.n_arms, horizon), 1)
    together = max(1, min(_MOST_CELLS // arms.n_arms, _MOST_LOSSES // kept, -(-replicates // n_jobs)))
    return [np.arange(first, min(first + together, replicates)) for first in range(0, replicates, together)]


@cache
def _pool(n_jobs: int) -> ProcessPoolExecutor:
    """Worker processes, kept for the next simulation; started afresh, so that no thread or lock is inherited."""
    return ProcessPoolExecutor(n_jobs, mp_context=get_context("spawn"))


def play_out(play: Play, tape: Tape, report: Callable[[int], None] | None = None) -> Play:
    """Advance all runs of a play, decision by decision, until each is done."""
    everyone, told = np.arange(play.runs), 0
    while (rows := everyone[~play.done]).size:
        if not play.in_step:
            spent = play.spent(rows)
            rows = rows[spent <= _ABREAST * spent.min()]
        play.decide(rows)
        told += _make_pulls(play, tape)
        if report:
            report(told)
    return play


def _make_pulls(play: Play, tape: Tape) -> int:
    """Make every pull that is wanted before the next decision; losses that no rule will look at are not drawn."""
    if play.all_want:
        return _pull_all(play, tape)
    wanted = play.wanted.reshape(-1)
    made = int(wanted.sum())
    if (settled := play.settled).any():
        unneeded = np.flatnonzero(play.wanted * settled[:, None])
        play.skip(unneeded, wanted[unneeded])
    while (most := int(wanted.max())) > 0:
        # Blocks of many lengths: the largest power of two first, so that there are few pieces and each has many cells.
        cells = np.flatnonzero(wanted)
        least = int(wanted[cells].min())
        times = min(least if least == most else 1 << (most.bit_length() - 1), tape.width)
        cells = cells if times <= least else np.flatnonzero(wanted >= times)
        which: Any = slice(None) if cells.size == wanted.size else cells
        play.observe(which, tape.read(which, times))
    return made


def _pull_all(play: Play, tape: Tape) -> int:
    """All arms of all runs alike: nothing to look up."""
    times, play.all_want = play.all_want, 0
    for done in range(0, times, tape.width):
        play.observe_all(tape.read(slice(None), min(tape.width, times - done)))
    return times * play.runs * play.n_arms


def _part_of(progress: Callable[[int, int], None], before: int, total: int) -> Callable[[int], None]:
    return lambda done: progress(before + done, total)


def score(
    returned: NDArray[np.intp], arm_pulls: NDArray[np.int64], arms: Arms, runs: NDArray[np.intp], horizon: int
) -> Simulation:
    """Judge the arms that were returned, with the pulls all arms have had: a row a run."""
    rows = np.arange(len(runs))
    pulls = arm_pulls[rows, returned]
    at_horizon = arms.means(runs, horizon)
    regret = pseudo_regret(arms.mean(runs, returned, pulls), at_horizon)
    wrong = at_horizon[rows, returned] > at_horizon.min(axis=1)
    return Simulation(regret, returned.copy(), pulls, wrong, arm_pulls.copy())

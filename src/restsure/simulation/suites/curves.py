"""The suite `curves`: recorded learning curves of real learners, replayed.

Each run draws a data set, then K of its learners at random. A learner's loss after s of T pulls is the one recorded at the
resource ``n = s n_end / T``, interpolated linearly in log n between records and held constant before the first of them.

LCDB mean
    Error rates of LCDB 1.1, means over 25 splits. ``n_end`` is the largest training set that nine tenths of a data set's
    learners reach; learners with a gap before it are dropped, and so is the majority vote (`DummyClassifier`). The policy
    sees the mean plus Gaussian noise of five standard errors, about the standard deviation of one split.
LCDB split
    LCDB 1.0, with the same rule for ``n_end``. The policy sees one split of the data, the same for all learners of a run,
    so that its noise is correlated along a curve; it is scored by the mean over all complete splits.
TaskSet, LCBench surrogate
    A pull is an evaluation or an epoch; no noise. TaskSet has cross-entropies of text classifiers. NaN is what a diverged
    run leaves there: it counts as 5, and so does any loss above 5. No loss recorded before training exceeds 4.72, so a
    diverged run never beats an untrained one.
neural scaling
    All learners of a task, up to the resource that all of them reach; no noise, so that there is one game a task: nine with
    error rates of six image classifiers, two with log-losses of five language or five translation models. BIG-bench has
    one learner only, and no choice to make.
Pythia
    Zero-shot error rates of 16 language models. A pull is 1,000 steps, with a checkpoint every ten pulls; the policy sees
    the recorded value plus Gaussian noise of the evaluation's standard error.
online
    Online learners on Fashion-MNIST. The policy sees the error on the next batch of 234 images, and is scored by the error
    of that same training run (one of five) on the test set. After the last pull there is no next batch: the batch before
    is shown again.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from restsure import checks
from restsure.arms import TableArms
from restsure.errors import InvalidParameter
from restsure.simulation.suites.data import Curve, data_directory, load_arrays, load_lcdb10, load_long
from restsure.simulation.suites.row import Row

_Floats = NDArray[np.float64]

_FIRST_ANCHOR = 16  # samples in the smallest training set of LCDB: with n_end >= 16 T the first pull is on record
_FEWEST_SPLITS = 5  # in a mean that serves as the truth
_FEWEST_POINTS = 10  # of a curve worth replaying
_DIVERGED = 5.0


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """Learners on one data set, in S records (splits or training runs; one where only a mean is known).

    ``truth``, ``shown`` and ``std``, the noise to add to ``shown``, have an axis each for records, learners and the
    resources ``n``, which end with ``n_end``. ``usable`` says which learners are complete in which record.
    """

    n: _Floats
    truth: _Floats
    shown: _Floats
    usable: NDArray[np.bool_]
    std: _Floats | None = None

    @property
    def most(self) -> int:
        """The most learners that can play one game."""
        return int(self.usable.sum(axis=1).max(initial=0))

    def draw(self, rng: np.random.Generator, k: int, horizon: int) -> tuple[_Floats, _Floats]:
        """The true and the observed losses of ``k`` random learners in a random record, both of shape (k, horizon)."""
        record = rng.choice(np.flatnonzero(self.usable.sum(axis=1) >= k))
        arms = rng.choice(np.flatnonzero(self.usable[record]), size=k, replace=False)
        losses = self._at_pulls(self.truth[record, arms], horizon)
        observed = self._at_pulls(self.shown[record, arms], horizon)
        if self.std is not None:
            observed += self._at_pulls(self.std[record, arms], horizon) * rng.standard_normal(observed.shape)
        return losses, observed

    def _at_pulls(self, values: _Floats, horizon: int) -> _Floats:
        """Values at the resources of the pulls, from those at the resources recorded."""
        resource = np.arange(1, horizon + 1) * self.n[-1] / horizon
        position = np.interp(np.log(resource), np.log(self.n), np.arange(len(self.n)))
        below = np.minimum(position.astype(np.intp), max(len(self.n) - 2, 0))
        above = np.minimum(below + 1, len(self.n) - 1)
        return np.asarray(values[..., below] + (position - below) * (values[..., above] - values[..., below]))


def curves(data: Path | str | None, half: int | None = None) -> list[Row]:
    """All rows on recorded curves. Files are read when a row is first played, and then kept.

    ``half``, 0 or 1, leaves every other data set of LCDB, TaskSet and LCBench: to fit something on one half of them, and
    score it on the other.
    """
    directory = data_directory(data)
    lcdb_mean, lcdb_split, taskset, lcbench = (
        partial(_half, partial(tasks, directory), half) for tasks in (_lcdb_mean, _lcdb_split, _taskset, _lcbench)
    )
    rows = list[Row]()
    for group, tasks in (("LCDB mean", lcdb_mean), ("LCDB split", lcdb_split)):
        for horizon in (128, 256, 512):
            rows += [_row(group, k, horizon, tasks, least=_FIRST_ANCHOR * horizon) for k in (5, 10, 20)]
    rows += [_row("TaskSet", k, 51, taskset, unit="loss x 100") for k in (3, 5, 10)]
    rows += [_row("LCBench surrogate", k, 52, lcbench) for k in (3, 5, 10)]
    images, language = (partial(_neural_scaling, directory, kinds) for kinds in (("IC",), ("LM", "NMT")))
    rows += [
        _row("neural scaling", 6, 100, images, label=" of image classifiers", games=9),
        _row("neural scaling", 5, 100, language, label=" of language models", games=2, unit="loss x 100"),
        _row("Pythia", 16, 143, partial(_pythia, directory)),
    ]
    rows += [_row("online", k, 256, partial(_online, directory)) for k in (4, 8, 12)]
    return rows


def _row(
    group: str,
    k: int,
    horizon: int,
    tasks: Callable[[], tuple[Task, ...]],
    *,
    label: str = "",
    least: int = 0,
    games: int | None = None,
    unit: str = "points",
) -> Row:
    """``games``: how many there are, where all learners play and nothing is drawn but the task."""
    name = f"{group}{label}, K = {k}, T = {horizon}"
    make = partial(_arms, name=name, k=k, horizon=horizon, tasks=tasks, least=least, one_each=games is not None)
    return Row(group, name, horizon, make, unit=unit, replicates=games)


def _arms(
    replicates: int,
    seed: int,
    *,
    name: str,
    k: int,
    horizon: int,
    tasks: Callable[[], tuple[Task, ...]],
    least: int,
    one_each: bool,
) -> TableArms:
    """An instance a run, each drawn from a stream of its own: run r does not depend on how many runs there are.

    ``one_each``: the tasks in turn, so that as many runs as there are tasks have each of them once.
    """
    replicates, seed = checks.whole("replicates", replicates, at_least=1), checks.whole("seed", seed, at_least=0)
    playable = [task for task in tasks() if task.n[-1] >= least and task.most >= k]
    if not playable:
        raise InvalidParameter(
            f"data: has nothing for the row {name!r}: no data set has {k} complete curves of that length"
        )
    losses, observed = (np.empty((replicates, k, horizon)) for _ in range(2))
    for run in range(replicates):
        rng = np.random.default_rng([seed, crc32(name.encode()), run])
        task = playable[run % len(playable) if one_each else rng.integers(len(playable))]
        losses[run], observed[run] = task.draw(rng, k, horizon)
    return TableArms(losses, observed=observed)


def _half(tasks: Callable[[], Mapping[str, Task]], half: int | None) -> tuple[Task, ...]:
    """Every other task, in an order that has nothing to do with what they are; or all of them, as they come."""
    named = tasks()
    shuffled = sorted(named, key=lambda name: crc32(f"split{name}".encode()))
    return tuple(named.values()) if half is None else tuple(named[name] for name in shuffled[half::2])


@cache
def _lcdb_mean(directory: Path) -> dict[str, Task]:
    table = load_long(directory / "lcdb11.npz", needs=("se",))
    return {
        name: Task(n, loss, loss, _complete(loss), std=5 * se) for name, (n, loss, se) in _anchored_tables(table.curves)
    }


@cache
def _lcdb_split(directory: Path) -> dict[str, Task]:
    return {name: _split(n, loss) for name, (n, loss, _) in _anchored_tables(load_lcdb10(directory).curves)}


def _anchored_tables(
    tables: Mapping[str, Mapping[str, Curve]],
) -> Iterator[tuple[str, tuple[_Floats, _Floats, _Floats]]]:
    """Data sets by name, without those that have nothing on record."""
    for name, learners in tables.items():
        if len((anchored := _anchored(learners))[0]):
            yield name, anchored


def _split(n: _Floats, loss: _Floats) -> Task:
    complete = _complete(loss)
    splits = complete.sum(axis=0)
    mean = np.where(complete[..., None], loss, 0.0).sum(axis=0) / np.maximum(splits, 1)[:, None]
    return Task(n, np.broadcast_to(mean, loss.shape), loss, usable=complete & (splits >= _FEWEST_SPLITS))


def _complete(values: _Floats) -> NDArray[np.bool_]:
    return np.asarray(np.isfinite(values).all(axis=-1))


def _anchored(learners: Mapping[str, Curve]) -> tuple[_Floats, _Floats, _Floats]:
    """Anchors up to ``n_end``, and losses and standard errors by split, learner and anchor, NaN where there is none."""
    curves = [curve for name, curve in learners.items() if name != "DummyClassifier"]
    if not curves:
        return np.empty(0), np.empty((0, 0, 0)), np.empty((0, 0, 0))
    n = np.unique(np.concatenate([curve.n for curve in curves]))
    seeds = np.unique(np.concatenate([curve.seed for curve in curves]))
    loss, se = (np.full((len(seeds), len(curves), len(n)), np.nan) for _ in range(2))
    for i, curve in enumerate(curves):
        cells = np.searchsorted(seeds, curve.seed), i, np.searchsorted(n, curve.n)
        loss[cells] = curve.loss
        se[cells] = np.nan if curve.se is None else curve.se
    reached = np.searchsorted(n, [curve.n.max() for curve in curves])
    end = int(np.quantile(reached, 0.1, method="lower")) + 1
    return n[:end].astype(np.float64), loss[:, :, :end], se[:, :, :end]


@cache
def _taskset(directory: Path) -> dict[str, Task]:
    raw = load_arrays(directory / "taskset.npz", {"valid_loss": ("task", "configuration", 51)})["valid_loss"]
    return _dense(np.fmin(raw.astype(np.float64), _DIVERGED))


@cache
def _lcbench(directory: Path) -> dict[str, Task]:
    raw = load_arrays(directory / "lcbench_surrogate.npz", {"val_error": ("task", "configuration", 52)})["val_error"]
    return _dense(raw.astype(np.float64))


def _dense(tables: _Floats) -> dict[str, Task]:
    """A task a table, its columns being the pulls."""
    n = np.arange(1.0, tables.shape[-1] + 1)
    return {str(k): Task(n, table[None], table[None], _complete(table[None])) for k, table in enumerate(tables)}


@cache
def _neural_scaling(directory: Path, kinds: tuple[str, ...]) -> tuple[Task, ...]:
    table = load_long(directory / "neural_scaling.npz").curves
    return tuple(_aligned(curves.values() for name, curves in table.items() if name.partition(":")[0] in kinds))


@cache
def _pythia(directory: Path) -> tuple[Task, ...]:
    table = load_long(directory / "pythia_0shot.npz", needs=("se",)).curves
    return tuple(_aligned(curves.values() for curves in table.values()))


def _aligned(tasks: Iterable[Iterable[Curve]]) -> Iterator[Task]:
    """Curves with resources of their own, put on all those resources up to the last that every curve reaches."""
    for task in tasks:
        curves = [curve for curve in task if len(curve.n) >= _FEWEST_POINTS]
        if curves:
            n = np.unique(np.concatenate([curve.n for curve in curves]))
            n = n[(n > 0) & (n <= min(curve.n[-1] for curve in curves))]
            loss = np.array([[_interpolated(n, curve.n, curve.loss) for curve in curves]])
            se = [_interpolated(n, curve.n, curve.se) for curve in curves if curve.se is not None]
            yield Task(n.astype(np.float64), loss, loss, _complete(loss), std=np.array([se]) if se else None)


def _interpolated(n: NDArray[np.int64], known: NDArray[np.int64], values: _Floats) -> _Floats:
    return np.interp(np.log(n), np.log(known[known > 0]), values[known > 0])


@cache
def _online(directory: Path) -> tuple[Task, ...]:
    shape = ("learner", "seed", 256)
    raw = load_arrays(directory / "online_fashion_mnist.npz", {"loss": shape, "test_loss": shape})
    shown, truth = (raw[key].astype(np.float64).swapaxes(0, 1) for key in ("loss", "test_loss"))
    shown[..., -1] = shown[..., -2]
    return (Task(np.arange(1.0, 257), truth, shown, _complete(truth) & _complete(shown)),)

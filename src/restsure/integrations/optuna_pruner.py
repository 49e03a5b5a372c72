"""Prune a trial by where it is going, not by where it is."""

import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from optuna.pruners import BasePruner
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from restsure import checks
from restsure.estimators import CurveModel, CurveStates, LogTrend

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Forecast:
    """The loss with which a trial is predicted to end: lowest, expected, highest."""

    low: float
    mean: float
    high: float


@dataclass
class Fit:
    """The curve of a running trial, with as many of its losses as it was ``fed``.

    They are fed one by one, whenever that is, so that what comes out depends on the losses alone.
    """

    shape: tuple[int, int, int]
    states: CurveStates
    fed: int = 0

    def feed(self, losses: Floats) -> CurveStates:
        for loss in losses[self.fed :].tolist():
            self.states.update(slice(None), np.array([[loss]]))
            self.states.refresh(np.array([0]))
        self.fed = len(losses)
        return self.states


@dataclass
class Known:
    """What need not be computed again of one study: pessimistic final losses of complete trials, and fits of running ones."""

    complete: dict[int, float] = field(default_factory=dict)
    best: tuple[float, int | None] = (math.inf, None)
    running: dict[int, Fit] = field(default_factory=dict)


class HorizonPruner(BasePruner):
    """Prunes a trial when even its optimistic predicted final value is worse than the best trial's pessimistic one.

    A curve is fitted to the values that each trial has reported, and extrapolated to its last step. A slow starter that is
    going to end best is kept, however far behind it is now; one that levels off above the best is pruned at once.

    ``n_steps``: how many steps a trial has if it is not pruned, in the unit of ``trial.report(value, step)``, whose steps
    count from 0. ``curve``: how learning curves look. ``patience``: how many standard deviations "optimistic" and
    "pessimistic" are away from the prediction; less prunes earlier and is wrong more often. ``warm_up``: reports
    of a trial before it can be pruned. ``best_possible``: the best value that there can be, from which curves are measured: 0
    when minimising and 1 when maximising, if None. Where values are beyond it, none is assumed.

    The best trial is the best of all that are complete or running, by their reports; a complete one is judged by its level at
    its last report, and a running one that rises, or falls faster and faster, is none. Reports may be sparse or irregular: they
    are averaged over intervals as long as the largest gap between them. A trial that has reported NaN or infinity is pruned.

    Everything is read from the study: the same reports give the same answer, in any process. What is kept between calls saves
    time only.

    >>> import optuna
    >>> study = optuna.create_study(pruner=HorizonPruner(n_steps=100))
    """

    def __init__(
        self,
        n_steps: int,
        *,
        curve: CurveModel = LogTrend(),  # noqa: B008 - a frozen description
        warm_up: int = 4,
        patience: float = 2.0,
        best_possible: float | None = None,
    ):
        self.n_steps = checks.whole("n_steps", n_steps, at_least=1)
        checks.instance("curve", curve, CurveModel)
        self.curve = curve
        self.warm_up = checks.whole("warm_up", warm_up, at_least=1)
        self.patience = checks.real("patience", patience, above=0)
        self.best_possible = None if best_possible is None else checks.real("best_possible", best_possible)
        self._forget()

    def __repr__(self) -> str:
        return (
            f"HorizonPruner(n_steps={self.n_steps}, curve={self.curve}, warm_up={self.warm_up}, "
            f"patience={self.patience}, best_possible={self.best_possible})"
        )

    def prune(self, study: Study, trial: FrozenTrial) -> bool:
        reports = trial.intermediate_values
        if not reports:
            return False
        if not _all_finite(reports):
            return True
        with self._lock:
            worst_of_best = self._best_rival(study, trial)[0]
            if self._losses(study, reports)[-1] <= worst_of_best:
                return False  # it need not go anywhere to be as good
            forecast = self._forecast(study, trial)
        return forecast is not None and forecast.low > worst_of_best

    def explain(self, study: Study, trial: FrozenTrial) -> str:
        """What a trial is compared with, and how that comes out now."""
        if not trial.intermediate_values:
            return f"Trial {trial.number} has reported nothing."
        if not _all_finite(trial.intermediate_values):
            return f"Trial {trial.number} has reported a value that is not finite."
        with self._lock:
            forecast, (worst_of_best, rival) = self._forecast(study, trial), self._best_rival(study, trial)
        if forecast is None:
            return f"Trial {trial.number} has reported too little to be judged."
        low, mean, high = (self._value(study, loss) for loss in (forecast.low, forecast.mean, forecast.high))
        text = f"Trial {trial.number} is predicted to end with {mean:.4g} ({low:.4g} to {high:.4g})"
        if rival is None:
            return text + ", and has no rival."
        word = "out of its reach" if self.prune(study, trial) else "within its reach"
        return text + f"; trial {rival} with {self._value(study, worst_of_best):.4g} or better is {word}."

    def _best_rival(self, study: Study, trial: FrozenTrial) -> tuple[float, int | None]:
        """The lowest pessimistic final loss of all others, and whose it is."""
        known = self._known.setdefault(study, Known())
        for other in study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
            if other.number not in known.complete:
                high = known.complete[other.number] = self._pessimistic(study, other)
                known.best = min(known.best, (high, other.number), key=lambda each: each[0])
        best = known.best
        if best[1] == trial.number:  # it is complete itself
            others = ((high, number) for number, high in known.complete.items() if number != trial.number)
            best = min(others, default=(math.inf, None))
        running = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
        alive = {other.number for other in running} | {trial.number}
        known.running = {number: fit for number, fit in known.running.items() if number in alive}
        rivals = [(self._pessimistic(study, other), other.number) for other in running if other.number != trial.number]
        return min(best, *rivals, key=lambda each: each[0]) if rivals else best

    def _pessimistic(self, study: Study, trial: FrozenTrial) -> float:
        forecast = self._forecast(study, trial) if _all_finite(trial.intermediate_values) else None
        return math.inf if forecast is None or math.isnan(forecast.high) else forecast.high

    def _forecast(self, study: Study, trial: FrozenTrial) -> Forecast | None:
        """From the reports of a trial, which are finite; None where they are too few."""
        reports = trial.intermediate_values
        if not reports:
            return None
        steps = np.array(sorted(reports))
        losses, every = evenly(steps, self._losses(study, reports))
        if len(losses) < self.warm_up:
            return None
        length = max(len(losses), (self.n_steps - 1 - int(steps[0])) // every + 1)
        with np.errstate(all="ignore"):  # losses of any size: what is no number afterwards prunes nothing
            if trial.state == TrialState.RUNNING and len(losses) == len(reports):
                running, shape = self._known.setdefault(study, Known()).running, (length, every, int(steps[0]))
                fit = running.get(trial.number)
                if fit is None or fit.shape != shape or fit.fed > len(losses):
                    fit = running[trial.number] = Fit(shape, self.curve.start(1, np.array([float(length)])))
                states = fit.feed(losses)
            else:
                states = self.curve.start(1, np.array([float(length)]))
                states.update(slice(None), losses[None, :])
                states.refresh(np.array([0]))
            return self._predict(states, len(losses), len(losses) if trial.state == TrialState.COMPLETE else length)

    def _predict(self, states: CurveStates, now: int, at: int) -> Forecast:
        cell, pulls = np.array([0]), np.array([float(at)])
        mean, spread = (float(part[0]) for part in states.predict(cell, pulls))
        hope = float(states.hope(cell, pulls)[0])
        away = self.patience * spread
        follows = math.isinf(hope) or at == now
        return Forecast(min(mean - away, hope), mean, mean + away if follows else math.inf)

    def _losses(self, study: Study, reports: Mapping[int, float]) -> Floats:
        """Reports by their distance from the best value possible, in the order of their steps."""
        values = np.array([reports[step] for step in sorted(reports)])
        sign, best = self._measure(study)
        return np.asarray(sign * (values - best))

    def _value(self, study: Study, loss: float) -> float:
        sign, best = self._measure(study)
        return best + sign * loss

    def _measure(self, study: Study) -> tuple[float, float]:
        maximise = study.direction == StudyDirection.MAXIMIZE
        best = float(maximise) if self.best_possible is None else self.best_possible
        return (-1.0 if maximise else 1.0), best

    def _forget(self) -> None:
        self._known = WeakKeyDictionary[Study, Known]()
        self._lock = threading.Lock()  # trials of one process may be threads, each of which looks at the others

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_known", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._forget()


def evenly(steps: NDArray[np.int64], losses: Floats) -> tuple[Floats, int]:
    """Losses at even distances, and how many steps these are: means over intervals as long as the largest gap.

    None of these intervals is empty, and nothing is made up to fill one.

    >>> evenly(np.array([0, 10, 20, 30]), np.array([0.9, 0.6, 0.5, 0.45]))
    (array([0.9 , 0.6 , 0.5 , 0.45]), 10)
    >>> evenly(np.array([0, 1, 2, 4, 5]), np.array([1.0, 0.8, 0.6, 0.5, 0.4]))
    (array([0.9 , 0.6 , 0.45]), 2)
    """
    every = int(np.diff(steps).max(initial=1))
    which = (steps - steps[0]) // every
    return np.bincount(which, weights=losses) / np.bincount(which), every


def _all_finite(reports: Mapping[int, float]) -> bool:
    return all(map(math.isfinite, reports.values()))

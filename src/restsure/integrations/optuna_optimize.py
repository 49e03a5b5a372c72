"""Trials that are paused and resumed: one total budget of steps over all of them, and the best one trained with most of it."""

import copy
import math
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any

from optuna.exceptions import TrialPruned
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, Trial, TrialState

from restsure import checks
from restsure.errors import InvalidParameter, NoArmLeft, WrongType
from restsure.integrations.watching import Finished, Withdrawn, in_words
from restsure.policies import Game, HorizonLCB, Policy
from restsure.training.executors import one_line
from restsure.training.meter import Meter
from restsure.training.replay import Progress
from restsure.training.session import Callback, Moment
from restsure.training.signals import Signals

Objective = Callable[[Trial], Generator[float, None, Any]]


@dataclass(frozen=True)
class Optimization:
    """What came of the trials of one call.

    ``best_trial``: the best of those that are complete now; ``pulls``: steps that each trial has made, by its number;
    ``failures``: trials that failed, and why; ``spent`` of the ``budget`` of steps was used, all of it unless every trial
    ended before or it was ``interrupted``. ``explanation``: why this trial, and what happened on the way.
    """

    best_trial: FrozenTrial
    pulls: Mapping[int, int]
    failures: Mapping[int, str]
    budget: int
    spent: int
    explanation: str
    interrupted: bool

    def __str__(self) -> str:
        best, cut = self.best_trial, ", interrupted" if self.interrupted else ""
        used = f"{self.pulls[best.number]:,} of {self.spent:,} steps, among {len(self.pulls)} trials{cut}"
        return f"trial {best.number}: value {best.value:.4g} after {used}"


def optimize(
    study: Study,
    objective: Objective,
    *,
    budget: int,
    n_trials: int,
    max_steps: int | None = None,
    workers: int = 1,
    policy: Policy | None = None,
    callbacks: Sequence[Callback] = (),
) -> Optimization:
    """Train ``n_trials`` trials of ``study`` under one total ``budget`` of steps; they are paused and resumed as they promise.

    ``objective``: a generator function of a trial. Every ``yield value`` is a step: the value is reported to the trial, and the
    trial waits there until it is its turn again. What it returns in the end, if it does, is its final value.

    ``max_steps``: how many steps a trial has at the most, if that is known: no trial is judged by more, and none gets more.
    ``workers``: how many trials train side by side, in threads; no decision depends on which is faster. ``policy``:
    ``HorizonLCB()`` if None; it is told losses, which are minus the values when the study maximises. ``callbacks``: those of
    ``select``, shown the trials as "trial 0", "trial 1", ...

    The winner is told to the study as complete, with the last value it yielded; so is every trial that came to its end. The
    others are pruned and keep their values. A trial that raises, or yields NaN or infinity, fails alone; one that raises
    ``TrialPruned`` is pruned. Ctrl-C ends it with the best so far. No trial is left running.

    >>> import optuna
    >>> def objective(trial):
    ...     rate, loss = trial.suggest_float("rate", 0.01, 0.5), 1.0
    ...     while True:
    ...         loss *= 1 - rate
    ...         yield loss
    >>> study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    >>> result = optimize(study, objective, budget=60, n_trials=5)
    >>> result.best_trial.number == study.best_trial.number, sum(result.pulls.values())
    (True, 60)
    """
    checks.instance("study", study, Study)
    if len(study.directions) > 1:
        raise InvalidParameter(f"study: must have one objective, but has {len(study.directions)}")
    if not callable(objective):
        raise WrongType(f"objective={objective!r}: must be a generator function of a trial")
    n_trials = checks.whole("n_trials", n_trials, at_least=1)
    budget = checks.whole("budget", budget, at_least=1)
    if budget < n_trials:
        raise InvalidParameter(f"budget={budget}: must be at least n_trials={n_trials}, one step for each trial")
    workers = checks.whole("workers", workers, at_least=1)
    sign = -1.0 if study.direction == StudyDirection.MAXIMIZE else 1.0
    if policy is None:
        policy = HorizonLCB(floor=min(sign, 0.0))  # of what is maximised 1 is usually the best
    checks.instance("policy", policy, Policy)
    longest = None if max_steps is None else [checks.whole("max_steps", max_steps, at_least=1)] * n_trials
    game = policy.start(n_trials, budget, max_pulls=longest)
    game.unit = "steps"
    return _Loop(study, objective, game, sign, max_steps).run(workers, callbacks)


@dataclass
class _Paused:
    """A trial at some step of its objective."""

    trial: Trial
    steps: Iterator[float] | None = None
    made: int = 0
    value: float = math.nan
    state: TrialState = TrialState.RUNNING
    why: str = ""

    def step(self, objective: Objective) -> None:
        """On to the next value, which is reported; whatever the objective does instead is the end of this trial."""
        try:
            if self.steps is None:
                self.steps = _begun(objective, self.trial)
            value = next(self.steps)
        except StopIteration as end:
            self._end(end.value)
        except TrialPruned as error:
            self._stop(TrialState.PRUNED, Withdrawn(f"pruned by its objective: {error}".rstrip(": ")))
        except (KeyboardInterrupt, _NoGenerator):
            raise
        except BaseException as error:  # an objective that calls sys.exit ends itself only
            self._stop(TrialState.FAIL, one_line(error))
        else:
            self._take(value)

    def _take(self, value: Any) -> None:
        try:
            number = float(value)
        except Exception:
            self._stop(TrialState.FAIL, f"yielded {type(value).__name__}, not a number")
            return
        try:
            self.trial.report(number, self.made)
        except RuntimeError as error:  # it was told by somebody else
            self._stop(TrialState.FAIL, one_line(error))
            return
        self.made += 1
        if math.isfinite(number):
            self.value = number
        else:
            self._stop(TrialState.FAIL, f"its value is {number}")

    def _end(self, returned: Any) -> None:
        """The objective is through: what it returned is its value, or what it yielded last."""
        try:
            value = self.value if returned is None else float(returned)
        except Exception:
            value = math.nan
        if math.isfinite(value):
            self.value = value
            self._stop(TrialState.COMPLETE, Finished(f"finished after {self.made} steps"))
        else:
            self._stop(TrialState.FAIL, f"ended with {returned!r:.100}, not a finite number")

    def _stop(self, state: TrialState, why: str) -> None:
        self.state, self.why = state, why

    def close(self) -> None:
        """Let the objective clean up; it must not keep the others from being told."""
        try:
            if isinstance(self.steps, Generator):
                self.steps.close()
        except Exception as error:
            text = f"trial {self.trial.number} raised when it was closed ({one_line(error)})"
            warnings.warn(text, RuntimeWarning, stacklevel=2)


class _NoGenerator(WrongType):
    """The objective is not what it must be, for any trial."""


def _begun(objective: Objective, trial: Trial) -> Iterator[float]:
    steps = objective(trial)
    if not isinstance(steps, Iterator):
        raise _NoGenerator(f"objective: must be a generator that yields values, but returned {type(steps).__name__}")
    return steps


@dataclass
class _Loop:
    """The trials of one call, and the game that is played over them."""

    study: Study
    objective: Objective
    game: Game
    sign: float
    max_steps: int | None
    paused: list[_Paused] = field(default_factory=list)
    interrupted: bool = False

    def run(self, workers: int, callbacks: Sequence[Callback]) -> Optimization:
        with Signals() as signals:
            try:
                with signals.held():
                    for _ in range(self.game.n_arms):
                        self.paused.append(_Paused(self.study.ask()))
                self._play_and_show(workers, callbacks, signals)
            except KeyboardInterrupt:
                signals.taken()
                if not any(paused.made for paused in self.paused):
                    raise
                self.interrupted = True
            finally:
                with signals.held():
                    self._tell()
        return self._result()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"trial {paused.trial.number}" for paused in self.paused)

    def _play_and_show(self, workers: int, callbacks: Sequence[Callback], signals: Signals) -> None:
        names = self.names
        progress = Progress(names, Meter(self.game.horizon, "training steps"), self.game)

        def show(over: bool) -> None:
            for watch in callbacks:
                watch(Moment(names, self.game, progress.history, over))

        try:
            self._play(progress, workers, signals, lambda: show(False))
        finally:
            show(True)

    def _play(self, progress: Progress, workers: int, signals: Signals, show: Callable[[], None]) -> None:
        """Step by step, in the order in which steps were asked for, so that a trial can end at any of them."""
        under_way = dict[int, Future[None] | None]()
        pool = ThreadPoolExecutor(workers) if workers > 1 else None
        with pool or nullcontext():
            while True:
                with signals.held():
                    while len(under_way) < workers and (pull := progress.ask(1)) is not None:
                        step = self.paused[pull.arm].step
                        under_way[pull.arm] = None if pool is None else pool.submit(step, self.objective)
                if not under_way:
                    return
                arm = next(iter(under_way))
                paused, future = self.paused[arm], under_way.pop(arm)
                paused.step(self.objective) if future is None else future.result()
                with signals.held():
                    more = progress.out[arm].later and paused.state == TrialState.RUNNING
                    if paused.state == TrialState.RUNNING:
                        progress.tell(arm, [self.sign * paused.value], None, 0.0)
                    else:
                        progress.fail(arm, paused.why, None)
                if not more:
                    show()

    def _tell(self) -> None:
        """Every trial that was asked for is told, in order, as what it is now."""
        best, begun = self._best(), any(paused.made for paused in self.paused)
        for paused in self.paused:
            paused.close()
            if paused.state == TrialState.RUNNING:
                through = paused is best or paused.made == self.max_steps
                paused.state = TrialState.COMPLETE if through else TrialState.PRUNED if begun else TrialState.FAIL
            value = paused.value if paused.state == TrialState.COMPLETE else None
            try:
                if paused.state == TrialState.FAIL:
                    paused.trial.set_user_attr("failure", paused.why or "never begun")
                self.study.tell(paused.trial, value, paused.state, skip_if_finished=True)
            except RuntimeError:
                # Told by somebody else; or by now: samplers with nothing more to try stop the study, where that is not allowed.
                if not self._frozen(paused).state.is_finished():
                    raise

    def _best(self) -> _Paused | None:
        """By its value the best of those that came to their end, and the one that the policy returns of the others."""
        found = [paused for paused in self.paused if paused.state == TrialState.COMPLETE]
        with suppress(NoArmLeft):
            found.append(self.paused[self.game.recommend().arm])
        return min(found, key=lambda paused: self.sign * paused.value, default=None)

    def _frozen(self, paused: _Paused) -> FrozenTrial:
        return self.study.get_trials(deepcopy=False)[paused.trial.number]

    def _result(self) -> Optimization:
        failures = {p.trial.number: p.why for p in self.paused if p.state == TrialState.FAIL}
        complete = [paused for paused in self.paused if paused.state == TrialState.COMPLETE]
        if not complete:
            reasons = "; ".join(f"trial {paused.trial.number}: {paused.why}" for paused in self.paused)
            raise NoArmLeft(f"none of {len(self.paused)} trials is complete: {reasons}")
        best = min(complete, key=lambda paused: self.sign * paused.value)
        return Optimization(
            best_trial=copy.deepcopy(self._frozen(best)),
            pulls={paused.trial.number: paused.made for paused in self.paused},
            failures=failures,
            budget=int(self.game.horizon),
            spent=sum(paused.made for paused in self.paused),
            explanation=in_words(self.game.explain(), self.names, self.game),
            interrupted=self.interrupted,
        )

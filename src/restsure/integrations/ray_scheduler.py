"""The policy as a scheduler of Ray Tune: one budget over all trials, which are paused and resumed."""

import math
import time
import warnings
from pathlib import Path
from typing import Any

import ray
from ray.tune.experiment import Trial
from ray.tune.schedulers import TrialScheduler

from restsure import checks
from restsure.errors import InvalidParameter
from restsure.integrations.ray_ledger import FILE, Ledger, Terms, read_lines, tell_again
from restsure.integrations.ray_reports import Reading
from restsure.policies import HorizonLCB, Policy
from restsure.problem import Recommendation, amount

_STEPS = "training_iteration"
_PATIENCE = 100  # times that Ray asks, ten a second, before a searcher that brings nothing is taken to wait for us
_LOOK_S = 1.0  # after which the cluster may have another size


class HorizonScheduler(TrialScheduler):  # type: ignore[misc]
    """Share ``total_budget`` units of ``time_attr`` among all trials, so that the best one ends as well trained as can be.

    The policy (:class:`~restsure.HorizonLCB` unless said otherwise) says which trials train next; the others are paused, and
    go on when it is their turn. When the budget is spent, all are stopped: ``best_trial`` is the one to take, by the
    estimated end of its curve, and :func:`recommended` gives its result. ``ResultGrid.get_best_result()`` takes the best last
    report instead, which is mostly the same trial, and a lucky one where reports are noisy.

    ``metric``, ``mode``: here or in ``TuneConfig``. ``best``: the best value that the metric can have, 0 for "min" and 1 for
    "max" unless said otherwise (an accuracy in percent: 100; a reward: more than anyone gets): losses are distances from it.
    For metrics without a worst value, such as a squared error: ``policy=HorizonLCB(reference=...)``, the distance of someone
    who has learnt nothing.

    ``time_attr``: "training_iteration", one a report; or any other number that grows with each report, such as
    "timesteps_total" or "time_total_s", which HorizonLCB knows as a cost. ``max_t``: where a trial ends. One that ends by
    itself keeps what it has reached, and the others get what is left.

    ``n_trials``: how many there will be; by default what Tune says (``num_samples``, times the grid). The policy must know,
    since what a trial can hope for depends on how many share the budget. All of them are started, and held: searchers that
    wait for others to end (``max_concurrent_trials`` below ``n_trials``) are refused, and those that learn from ended trials
    learn nothing. ``workers``: how many trials may train at once; by default as many as the cluster has room for.

    Trials must save a checkpoint with each report, or a pause loses what came after the last one. Pausing takes a second or
    two unless ``TuneConfig(reuse_actors=True)`` spares it (a class needs ``reset_config``).

    A report that is missing, NaN or infinite fails its trial, with a warning: it is stopped, and never recommended. The history
    is in a file of the experiment's directory, and ``Tuner.restore`` goes on from there.

    >>> HorizonScheduler(1_000, metric="accuracy", mode="max").debug_string()
    'HorizonScheduler: 0 of 1,000 training_iteration'
    """

    _supports_buffered_results = False

    def __init__(
        self,
        total_budget: float,
        time_attr: str = _STEPS,
        metric: str | None = None,
        mode: str | None = None,
        *,
        best: float | None = None,
        policy: Policy | None = None,
        max_t: float | None = None,
        n_trials: int | None = None,
        workers: int | None = None,
    ):
        super().__init__()
        checks.instance("time_attr", time_attr, str)
        self.total_budget: float = (
            checks.whole("total_budget", total_budget, at_least=1)
            if time_attr == _STEPS
            else checks.real("total_budget", total_budget, above=0)
        )
        if mode is not None:
            checks.choice("mode", mode, ["min", "max"])
        self.time_attr, self._metric, self._mode = time_attr, metric, mode
        self.best = None if best is None else checks.real("best", best)
        self.policy = HorizonLCB() if policy is None else policy
        checks.instance("policy", self.policy, Policy)
        if not isinstance(self.policy, HorizonLCB):
            for name, value, only in (("time_attr", time_attr, _STEPS), ("max_t", max_t, None)):
                if value != only:
                    rule = f"must be {only!r} for {type(self.policy).__name__}, which knows no costs and no ends"
                    raise InvalidParameter(f"{name}={value!r}: {rule}")
        self.max_t = None if max_t is None else checks.real("max_t", max_t, above=0)
        self.n_trials = None if n_trials is None else checks.whole("n_trials", n_trials, at_least=1)
        self.workers = None if workers is None else checks.whole("workers", workers, at_least=1)
        self._begin()

    def _begin(self) -> None:
        self._ledger: Ledger | None = None
        self._trials = dict[str, Trial]()
        self._repeats = set[str]()  # trials that may report again what they have reported before
        self._warned = set[str]()
        self._waited, self._room, self._look_at = 0, 0, -math.inf

    def __getstate__(self) -> dict[str, Any]:
        """Without the experiment that it schedules: that is in a file."""
        fresh = object.__new__(type(self))
        fresh._begin()
        return {**self.__dict__, **fresh.__dict__}

    # ---- what Ray Tune calls

    def set_search_properties(self, metric: str | None, mode: str | None, **spec: Any) -> bool:
        if self._ledger is not None:
            raise InvalidParameter("scheduler: must be a new one for every experiment")
        if (self._metric and metric) or (self._mode and mode):
            return False
        self._metric, self._mode = self._metric or metric, self._mode or mode
        if self._mode is not None:
            checks.choice("mode", self._mode, ["min", "max"])
        return True

    def on_trial_add(self, tune_controller: Any, trial: Trial) -> None:
        for name, value in (("metric", self._metric), ("mode", self._mode)):
            if value is None:
                raise InvalidParameter(f"{name}: must be said, to HorizonScheduler or to TuneConfig")
        if trial.trial_id in self._trials:
            self._repeats.add(trial.trial_id)  # it begins again from its last checkpoint
        self._trials[trial.trial_id] = trial
        if self._ledger is not None:
            self._add(self._ledger, trial.trial_id)

    def on_trial_result(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> str:
        ledger, name = self._open(tune_controller), trial.trial_id
        if name not in ledger.arms or ledger.over:
            return str(self.STOP)
        self._report(ledger, name, result)
        if ledger.over or ledger.out(arm := ledger.arms[name]):
            return str(self.STOP)
        return str(self.CONTINUE if arm in ledger.wanted else self.PAUSE)

    def on_trial_complete(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> None:
        ledger, name = self._open(tune_controller), trial.trial_id
        if name in ledger.arms and not ledger.over and not ledger.out(ledger.arms[name]):
            if self._metric in result:
                self._report(ledger, name, result, last=True)
            ledger.end(name)

    def on_trial_remove(self, tune_controller: Any, trial: Trial) -> None:
        ledger = self._open(tune_controller)
        if trial.trial_id in ledger.arms and not ledger.over:
            ledger.end(trial.trial_id)

    def on_trial_error(self, tune_controller: Any, trial: Trial) -> None:
        ledger = self._open(tune_controller)
        if trial.trial_id in ledger.arms and trial.status != Trial.ERROR:  # otherwise it is started again at once
            ledger.fail(trial.trial_id, "it ended with an error")

    def choose_trial_to_run(self, tune_controller: Any) -> Trial | None:
        if not self._trials:
            return None
        ledger = self._open(tune_controller)
        ledger.allow(self._allowed())
        if len(self._trials) > len(ledger.arms) or ledger.over:
            self._stop(tune_controller, ledger)
        here = {arm: self._trials[ledger.trials[arm]] for arm in ledger.wanted if arm < len(ledger.trials)}
        for arm, trial in here.items():
            if trial.status == Trial.ERROR:
                ledger.fail(ledger.trials[arm], "it ended with an error")
            elif trial.status == Trial.TERMINATED:
                ledger.end(ledger.trials[arm])
        for status in (Trial.PAUSED, Trial.PENDING):
            for trial in here.values():
                if trial.status == status:
                    return trial
        if not here and not ledger.over:
            self._wait(tune_controller, ledger)
        return None

    def debug_string(self) -> str:
        game = None if self._ledger is None else self._ledger.game
        spent = 0 if game is None else game.spent
        head = f"{type(self).__name__}: {amount(spent)} of {amount(self.total_budget)} {self.time_attr}"
        if game is None or not any(game.pulls):
            return head
        failed = f", {len(game.failures)} failed" if game.failures else ""
        best = self.best_trial
        return f"{head} among {game.n_arms} trials{failed}; best so far: {best.trial_id if best else None}"

    # ---- what came out

    @property
    def recommendation(self) -> Recommendation | None:
        """The policy's word on the trial to take now: its pulls, and its loss, the distance from ``best``; None before any."""
        known = self._ledger is not None and any(self._ledger.game.pulls)
        return self._ledger.recommend()[1] if self._ledger is not None and known else None

    @property
    def best_trial(self) -> Trial | None:
        """The trial to take now; None before any has reported, or if all have failed."""
        ledger = self._ledger
        if ledger is None or not any(ledger.game.pulls) or len(ledger.game.failures) == ledger.game.n_arms:
            return None
        return self._trials[ledger.recommend()[0]]

    # ---- how

    def _open(self, controller: Any) -> Ledger:
        """The ledger of this experiment: a new one, or the one that was written before Ray was stopped."""
        if self._ledger is not None:
            return self._ledger
        folder = getattr(next(iter(self._trials.values())), "local_experiment_path", None)
        path = None if folder is None else Path(folder) / FILE
        before = read_lines(path.read_text()) if path is not None and path.exists() else []
        count = Terms.from_dict(before[0]).n_trials if before else self.n_trials or controller.search_alg.total_samples
        if count > 2**31:
            raise InvalidParameter(f"n_trials: must be given where num_samples is without end, but is {self.n_trials}")
        terms = Terms(self.policy, self.total_budget, count, self.max_t, self.time_attr == _STEPS)
        ledger = Ledger(terms)
        added = {line["add"] for line in before if "add" in line}
        again = {name for name, trial in self._trials.items() if trial.status == Trial.PENDING}
        tell_again(ledger, before[1:], gone=added - self._trials.keys(), again=again)
        if path is not None:
            ledger.keep(path)
        self._ledger = ledger
        self._repeats |= set(self._trials) if before else set()
        for name, trial in self._trials.items():
            self._add(ledger, name)
            if before and name in again and ledger.arms.get(name) in ledger.at.keys() - ledger.wanted.keys():
                controller._set_trial_status(trial, Trial.PAUSED)  # Ray would train all that it has restored
        return ledger

    def _add(self, ledger: Ledger, name: str) -> None:
        if not ledger.add(name):
            self._warn("more", f"n_trials={ledger.terms.n_trials}: there are more trials, which are stopped")

    def _report(self, ledger: Ledger, name: str, result: dict[str, Any], *, last: bool = False) -> None:
        """Take a result in; what is none fails its trial."""
        reading = Reading(self._metric or "", self._mode or "", self.best, self.time_attr)
        found = reading.of(result)
        if isinstance(found, str):
            ledger.fail(name, found)
            self._warn(name, f"trial {name} is stopped: {found}")
            return
        if found[1] < 0:
            self._warn("best", reading.beyond(name, result))
        if not ledger.report(name, *found) and not last and name not in self._repeats:
            again = "reports again what it has reported before a pause: save a checkpoint with each report"
            self._warn("repeats", f"trial {name} {again}")

    def _allowed(self) -> int:
        """How many trials may train at once."""
        if self.workers is not None:
            return self.workers
        if time.monotonic() >= self._look_at:
            needs = next(iter(self._trials.values())).placement_group_factory.required_resources
            has = ray.cluster_resources()
            fit = [int(has.get(name, 0) / amount) for name, amount in needs.items() if amount]
            self._room, self._look_at = max(1, min(fit, default=len(self._trials))), time.monotonic() + _LOOK_S
        return self._room

    def _stop(self, controller: Any, ledger: Ledger) -> None:
        """End what waits for nothing: trials that have no arm, and, when the budget is spent, all of them."""
        if ledger.over:
            controller.search_alg.set_finished()
        for name, trial in self._trials.items():
            if (ledger.over or name not in ledger.arms) and trial.status in (Trial.PAUSED, Trial.PENDING):
                controller.stop_trial(trial)

    def _wait(self, controller: Any, ledger: Ledger) -> None:
        """The policy wants trials that are yet to come."""
        if controller.search_alg.is_finished():
            ledger.miss()
        elif any(trial.status in (Trial.RUNNING, Trial.PENDING) for trial in self._trials.values()):
            self._waited = 0
        elif (waited := self._waited) > _PATIENCE:
            raise InvalidParameter(
                f"n_trials={ledger.terms.n_trials}: must be at most {len(ledger.trials)}, since the searcher makes no more "
                f"until one of those ends (max_concurrent_trials), and paused ones have not ended"
            )
        else:
            self._waited = waited + 1

    def _warn(self, what: str, text: str) -> None:
        """Once for each thing."""
        if what not in self._warned:
            self._warned.add(what)
            warnings.warn(text, RuntimeWarning, stacklevel=2)

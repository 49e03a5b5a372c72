"""Ray Tune's loop in a few lines, for many experiments in no time: it starts new trials in order, as Ray does."""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ray.tune.experiment import Trial

from restsure.integrations.ray import HorizonScheduler

Reports = Callable[[int], dict[str, Any]]  # what a trial reports at its k-th iteration


class FakeSearch:
    def __init__(self, total: int, made: int | None = None):
        self.total_samples, self.left = total, total if made is None else made

    def is_finished(self) -> bool:
        return not self.left

    def set_finished(self) -> None:
        self.left = 0


class FakeTune:
    """``curves``: the reports of each trial, which is over where they raise StopIteration; ``workers`` run at once."""

    def __init__(
        self,
        scheduler: HorizonScheduler,
        curves: Sequence[Reports],
        workers: int = 1,
        folder: Path | None = None,
        made: int | None = None,
    ):
        self.scheduler, self.curves, self.workers, self.folder = scheduler, list(curves), workers, folder
        self.search_alg = FakeSearch(len(curves), made)
        self.holds_back = made is not None
        self.trials = list[Any]()
        self.steps, self.log = 0, list[tuple[int, int, str]]()

    def add(self, status: str = Trial.PENDING, iteration: int = 0) -> None:
        number = len(self.trials)
        trial = SimpleNamespace(
            trial_id=f"t{number}",
            status=status,
            number=number,
            iteration=iteration,
            local_experiment_path=None if self.folder is None else str(self.folder),
        )
        self.trials.append(trial)
        self.search_alg.left -= 1
        self.scheduler.on_trial_add(self, trial)

    def run(self, most: int = 10_000) -> None:
        while self.search_alg.left > 0 and not self.holds_back:
            self.add()
        for _ in range(most):
            if all(trial.status in (Trial.TERMINATED, Trial.ERROR) for trial in self.trials):
                return
            self.step()

    def step(self) -> None:
        """Start what can be, and have every running trial report once."""
        chosen = self.scheduler.choose_trial_to_run(self)
        pending = [trial for trial in self.trials if trial.status == Trial.PENDING]
        for trial in ([] if chosen is None else [chosen]) + pending:
            if len(self.running) < self.workers and trial.status in (Trial.PENDING, Trial.PAUSED):
                trial.status = Trial.RUNNING
        for trial in self.running:
            self.train(trial)

    @property
    def running(self) -> list[Any]:
        return [trial for trial in self.trials if trial.status == Trial.RUNNING]

    def train(self, trial: Any) -> None:
        try:
            report = self.curves[trial.number](trial.iteration + 1)
        except StopIteration:
            self.scheduler.on_trial_complete(self, trial, {})
            trial.status = Trial.TERMINATED
            return
        except ArithmeticError:
            self.scheduler.on_trial_error(self, trial)
            trial.status = Trial.ERROR
            return
        trial.iteration += 1
        self.steps += 1
        decision = self.scheduler.on_trial_result(self, trial, {"training_iteration": trial.iteration, **report})
        self.log.append((trial.number, trial.iteration, decision))
        if decision == self.scheduler.STOP:
            self.scheduler.on_trial_complete(self, trial, {"training_iteration": trial.iteration, **report})
        to = {"CONTINUE": Trial.RUNNING, "PAUSE": Trial.PAUSED, "STOP": Trial.TERMINATED}
        trial.status = to[decision]

    # ---- what a scheduler may call

    def stop_trial(self, trial: Any) -> None:
        assert trial.status in (Trial.PENDING, Trial.PAUSED)
        self.scheduler.on_trial_remove(self, trial)
        trial.status = Trial.TERMINATED

    def _set_trial_status(self, trial: Any, status: str) -> None:
        trial.status = status

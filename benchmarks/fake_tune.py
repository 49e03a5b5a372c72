"""Ray Tune's loop in a few lines, for many experiments in no time: it starts new trials in order, as Ray does."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ray.tune.experiment import Trial
from ray.tune.schedulers import TrialScheduler

Reports = Callable[[int], dict[str, Any]]  # what a trial reports at its k-th iteration


@dataclass(eq=False)
class FakeTrial:
    """What a scheduler sees of a trial."""

    number: int
    status: str
    iteration: int
    local_experiment_path: str | None
    is_saving: bool = False
    last_result: dict[str, Any] = field(default_factory=dict)

    @property
    def trial_id(self) -> str:
        return f"t{self.number}"


class FakeSearch:
    """Makes as many trials as it is asked for, until there are enough."""

    def __init__(self, total: int):
        self.total_samples, self.left = total, total

    def is_finished(self) -> bool:
        return not self.left

    def set_finished(self) -> None:
        self.left = 0


class FakeTune:
    """``curves``: the reports of each trial, which is over where they raise StopIteration; ``workers`` run at once."""

    def __init__(
        self, scheduler: TrialScheduler, curves: Sequence[Reports], workers: int = 1, folder: Path | None = None
    ):
        self.scheduler, self.curves, self.workers, self.folder = scheduler, list(curves), workers, folder
        self.search_alg = FakeSearch(len(curves))
        self.trials = list[Any]()
        self.steps, self.log = 0, list[tuple[int, int, str]]()

    def add(self, status: str = Trial.PENDING, iteration: int = 0) -> None:
        """One more trial; one that is restored may have come some way."""
        folder = None if self.folder is None else str(self.folder)
        self.trials.append(FakeTrial(len(self.trials), status, iteration, folder))
        self.search_alg.left -= 1
        self.scheduler.on_trial_add(self, self.trials[-1])

    def run(self, most: int = 1_000_000) -> None:
        """To the end, or for so many rounds; all trials come at once."""
        while len(self.trials) < len(self.curves):
            self.add()
        for _ in range(most):
            if all(trial.status in (Trial.TERMINATED, Trial.ERROR) for trial in self.trials):
                return
            self.step()

    def step(self) -> None:
        """Start what can be, and have every running trial report once."""
        for _ in range(self.workers - len(self.running)):
            chosen = self.scheduler.choose_trial_to_run(self)
            if chosen is not None and chosen.status in (Trial.PENDING, Trial.PAUSED):
                chosen.status = Trial.RUNNING
        pending = [trial for trial in self.trials if trial.status == Trial.PENDING]
        for trial in pending[: max(self.workers - len(self.running), 0)]:
            trial.status = Trial.RUNNING
        for trial in self.running:
            if trial.status == Trial.RUNNING:
                self.train(trial)

    @property
    def running(self) -> list[Any]:
        return [trial for trial in self.trials if trial.status == Trial.RUNNING]

    def train(self, trial: Any) -> None:
        """One iteration of a trial, and what comes of it."""
        try:
            report = self.curves[trial.number](trial.iteration + 1)
        except StopIteration:
            self.scheduler.on_trial_complete(self, trial, trial.last_result)
            trial.status = Trial.TERMINATED
            return
        except ArithmeticError:
            self.scheduler.on_trial_error(self, trial)
            trial.status = Trial.ERROR
            return
        trial.iteration += 1
        self.steps += 1
        trial.last_result = result = {"training_iteration": trial.iteration, **report}
        decision = self.scheduler.on_trial_result(self, trial, result)
        self.log.append((trial.number, trial.iteration, decision))
        if decision == TrialScheduler.STOP:
            self.scheduler.on_trial_complete(self, trial, result)
        to = {"CONTINUE": Trial.RUNNING, "PAUSE": Trial.PAUSED, "STOP": Trial.TERMINATED}
        trial.status = to[decision]

    # ---- what a scheduler may call

    def get_trials(self) -> list[Any]:
        return self.trials

    def get_live_trials(self) -> list[Any]:
        return [trial for trial in self.trials if trial.status not in (Trial.TERMINATED, Trial.ERROR)]

    def stop_trial(self, trial: Any) -> None:
        assert trial.status in (Trial.PENDING, Trial.PAUSED)
        self.scheduler.on_trial_remove(self, trial)
        trial.status = Trial.TERMINATED

    def _set_trial_status(self, trial: Any, status: str) -> None:
        trial.status = status

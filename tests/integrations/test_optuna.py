"""Optuna: which trials are pruned and why, and trials that are paused and resumed under one budget."""

import copy
import json
import math
import os
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState, create_trial

import restsure as rs
from restsure.integrations.optuna import HorizonPruner, Optimization, optimize

RUNNING, COMPLETE, PRUNED, FAIL = TrialState.RUNNING, TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL


@pytest.fixture(autouse=True)
def _quiet():
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(before)


def losses(alpha: float, beta: float, steps: int, seed: int, noise: float = 0.01) -> np.ndarray:
    curve = alpha / np.arange(1, steps + 1) ** 0.5 + beta
    return curve + np.random.default_rng(seed).normal(0, noise, steps)


def crossing(seed: int) -> list[np.ndarray]:
    """Seven fast learners and a slow one that ends best, in a random order; all distinct."""
    makers = [*((0.2, beta) for beta in np.linspace(0.25, 0.37, 7)), (1.0, 0.05)]
    order = np.random.default_rng(seed).permutation(8)
    return [losses(*makers[k], 100, 100 * seed + int(k)) for k in order]


def add(study: optuna.Study, values, state=COMPLETE, every: int = 1, first: int = 0) -> None:
    reports = {first + every * k: float(value) for k, value in enumerate(values)}
    value = float(values[-1]) if state == COMPLETE and math.isfinite(values[-1]) else None
    study.add_trial(create_trial(state=state, value=value, intermediate_values=reports))


def verdicts(study: optuna.Study, values, every: int = 1, first: int = 0) -> list[bool]:
    """What a trial with these reports is told after each of them."""
    trial, said = study.ask(), []
    for k, value in enumerate(values):
        trial.report(value, first + every * k)
        said.append(trial.should_prune())
    study.tell(trial, state=FAIL)
    return said


def pruned_at(study: optuna.Study, values, **steps) -> int | None:
    said = verdicts(study, values, **steps)
    return said.index(True) if True in said else None


# the pruner


def run_study(curves, pruner, direction: str = "minimize") -> tuple[optuna.Study, int]:
    steps = 0
    sign = 1 if direction == "minimize" else -1

    def objective(trial):
        nonlocal steps
        for step, loss in enumerate(curves[trial.number]):
            steps += 1
            trial.report(sign * loss + (sign < 0), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return sign * loss + (sign < 0)

    study = optuna.create_study(direction=direction, pruner=pruner)
    study.optimize(objective, n_trials=len(curves))
    return study, steps


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_the_slow_learner_that_ends_best_is_kept_and_most_steps_are_saved(direction: str) -> None:
    """As `benchmarks/optuna_pruner.py`, which has the figures; here each direction prunes the same trials at the same steps."""
    horizon = median = 0
    for seed in range(3):
        curves = crossing(seed)
        slow = int(np.argmin([curve[-1] for curve in curves]))
        study, steps = run_study(curves, HorizonPruner(100), direction)
        assert study.trials[slow].state == COMPLETE
        assert study.best_trial.number == slow
        horizon += steps
        median += run_study(curves, optuna.pruners.MedianPruner(n_warmup_steps=20), direction)[1]
        other, _ = run_study(curves, HorizonPruner(100))
        assert [trial.last_step for trial in other.trials] == [trial.last_step for trial in study.trials]
    assert horizon < 0.7 * median


def test_default_pruners_drop_it() -> None:
    """What the pruner is for: without this, the test above would show little."""
    dropped = 0
    for seed in range(6):
        curves = crossing(seed)
        study, _ = run_study(curves, optuna.pruners.SuccessiveHalvingPruner())
        dropped += study.trials[int(np.argmin([curve[-1] for curve in curves]))].state == PRUNED
    assert dropped >= 3


def test_the_only_trial_and_the_first_reports_are_never_pruned() -> None:
    study = optuna.create_study(pruner=HorizonPruner(100, warm_up=10))
    assert verdicts(study, losses(0.0, 0.9, 100, 0)) == [False] * 100
    assert not study.pruner.prune(study, create_trial(state=RUNNING))
    add(study, losses(0.2, 0.1, 100, 1))
    said = verdicts(study, losses(0.0, 0.9, 100, 2))
    assert said[:9] == [False] * 9
    assert said[9:] == [True] * 91


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_a_trial_with_a_value_that_is_none_is_pruned_and_never_the_best(bad: float, direction: str) -> None:
    study = optuna.create_study(direction=direction, pruner=HorizonPruner(100))
    assert verdicts(study, [0.5, bad, 0.4]) == [False, True, True]
    assert verdicts(study, [bad]) == [True]
    best = -1.0 if direction == "minimize" else 2.0
    for state in (COMPLETE, RUNNING):
        add(study, [best] * 50 + [bad] + [best] * 49, state)
    assert not any(verdicts(study, losses(0.0, 0.9, 100, 0)))


@pytest.mark.parametrize(("every", "first"), [(10, 0), (10, 9), (10, 10), (1, 0), (1, 1), (7, 3)])
def test_sparse_reports_are_as_good_as_dense_ones(every: int, first: int) -> None:
    """Ten, or fifteen, reports of a hundred steps: the slow one is kept, the flat one is pruned halfway at the latest."""
    study = optuna.create_study(pruner=HorizonPruner(100))
    at = np.arange(first, 100, every)
    add(study, losses(0.2, 0.25, 100, 1)[at], every=every, first=first)
    assert pruned_at(study, losses(1.0, 0.05, 100, 2)[at], every=every, first=first) is None
    assert pruned_at(study, losses(0.0, 0.5, 100, 3)[at], every=every, first=first) < max(len(at) // 2, 5)


def test_irregular_steps() -> None:
    """Reports at random steps, told out of order too; what is missing is not made up."""
    rng = np.random.default_rng(0)
    study = optuna.create_study(pruner=HorizonPruner(200))
    for seed in range(5):
        slow, flat, best = losses(1.0, 0.05, 200, seed), losses(0.0, 0.5, 200, seed + 10), losses(0.2, 0.25, 200, 99)
        steps = np.sort(rng.choice(200, 120, replace=False))
        study.add_trial(create_trial(value=0.3, intermediate_values={int(step): best[step] for step in steps[::-1]}))
        for curve, kept in ((slow, True), (flat, False)):
            trial = study.ask()
            for step in rng.permutation(steps[:60]):
                trial.report(curve[step], int(step))
            assert trial.should_prune() != kept
            study.tell(trial, state=FAIL)


def test_a_trial_that_goes_on_beyond_the_limit() -> None:
    study = optuna.create_study(pruner=HorizonPruner(20))
    add(study, losses(0.2, 0.25, 60, 1))
    assert pruned_at(study, losses(0.2, 0.6, 60, 2)) < 20
    assert pruned_at(study, losses(0.2, 0.1, 60, 2)) is None


def test_running_trials_are_rivals_and_those_that_ended_otherwise_are_none() -> None:
    good, bad = losses(0.2, 0.1, 100, 1), losses(0.2, 0.6, 100, 2)
    for state, rival in ((RUNNING, True), (COMPLETE, True), (PRUNED, False), (FAIL, False)):
        study = optuna.create_study(pruner=HorizonPruner(100))
        add(study, good[:60], state)
        assert (pruned_at(study, bad) is not None) == rival


def test_a_running_trial_that_rises_is_no_rival() -> None:
    study = optuna.create_study(pruner=HorizonPruner(100))
    rising = np.concatenate((losses(0.2, 0.1, 20, 1), np.linspace(0.15, 0.6, 30)))
    add(study, rising, RUNNING)
    assert pruned_at(study, losses(0.2, 0.3, 50, 2)) is None


def test_news_of_running_rivals_are_seen() -> None:
    study = optuna.create_study(pruner=HorizonPruner(100))
    rival, late = study.ask(), study.ask()
    for step, loss in enumerate(losses(0.2, 0.5, 30, 1)):
        late.report(loss, step)
    for step, loss in enumerate(losses(1.0, 0.05, 100, 2)):
        rival.report(loss, step)
        if step < 3:
            assert not late.should_prune()
    assert late.should_prune()
    study.tell(rival, state=FAIL)
    assert not late.should_prune()


def test_the_answer_depends_on_the_reports_alone() -> None:
    """A pruner that has seen everything grow, one that comes new, and one that was pickled."""
    study = optuna.create_study(pruner=HorizonPruner(60, patience=1.5, curve=rs.CurveBank()))
    for seed in range(5):
        curve = losses(0.1 * seed, 0.6 - 0.1 * seed, 60, seed)
        trial = study.ask()
        for step, loss in enumerate(curve):
            trial.report(loss, step)
            said = trial.should_prune()
            frozen = study.trials[-1]
            assert HorizonPruner(60, patience=1.5, curve=rs.CurveBank()).prune(study, frozen) == said
        study.tell(trial, curve[-1])
    again = pickle.loads(pickle.dumps(study.pruner))
    assert repr(again) == repr(study.pruner)
    assert again.prune(study, study.trials[0]) == study.pruner.prune(study, study.trials[0])
    assert copy.deepcopy(study).pruner.n_steps == 60


def test_the_unit_of_values_does_not_matter() -> None:
    best, worse, at = losses(0.2, 0.25, 100, 1), losses(0.2, 0.4, 100, 2), set()
    for scale in (1e-6, 1.0, 1e12):
        study = optuna.create_study(pruner=HorizonPruner(100))
        add(study, scale * best)
        at.add(pruned_at(study, scale * worse))
    study = optuna.create_study(direction="maximize", pruner=HorizonPruner(100, best_possible=100.0))
    add(study, 100 * (1 - best))
    at.add(pruned_at(study, 100 * (1 - worse)))
    assert len(at) == 1
    assert 4 <= at.pop() < 20


@pytest.mark.parametrize("scale", [0.0, 1e-300, 1e300, -1.0, -1e6])
def test_odd_values_prune_nobody_who_is_as_good(scale: float) -> None:
    study = optuna.create_study(pruner=HorizonPruner(30))
    add(study, scale * losses(0.2, 0.25, 30, 1))
    assert not any(verdicts(study, scale * losses(0.2, 0.25, 30, 1)))


@pytest.mark.parametrize("curve", [rs.LogTrend(), rs.CurveBank(), rs.PowerLaw(0.5), rs.PowerLaw(0.5, 0.01)])
def test_every_curve_model(curve) -> None:
    study = optuna.create_study(pruner=HorizonPruner(100, curve=curve, warm_up=1))
    add(study, losses(0.2, 0.25, 100, 1))
    assert pruned_at(study, losses(1.0, 0.05, 100, 2)) is None
    assert pruned_at(study, losses(0.2, 0.5, 100, 3)) < 20


def test_explanations() -> None:
    study = optuna.create_study(direction="maximize", pruner=HorizonPruner(100))
    add(study, 1 - losses(0.2, 0.25, 100, 1))
    explain = study.pruner.explain
    assert explain(study, study.trials[0]).endswith("and has no rival.")
    assert "0.73 " in explain(study, study.trials[0]) or "0.72" in explain(study, study.trials[0])
    add(study, 1 - losses(0.2, 0.5, 30, 2), PRUNED)
    assert explain(study, study.trials[1]).startswith("Trial 1 is predicted to end with 0.4")
    assert explain(study, study.trials[1]).endswith(" or better is out of its reach.")
    add(study, 1 - losses(1.0, 0.05, 30, 3), PRUNED)
    assert explain(study, study.trials[2]).endswith(" or better is within its reach.")
    add(study, [0.5, math.nan], PRUNED)
    assert explain(study, study.trials[3]) == "Trial 3 has reported a value that is not finite."
    add(study, [0.5], PRUNED)
    assert explain(study, study.trials[4]) == "Trial 4 has reported too little to be judged."
    assert explain(study, create_trial(state=RUNNING)) == "Trial -1 has reported nothing."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_steps": 0}, "n_steps=0: must be at least 1"),
        ({"n_steps": 1e2}, "n_steps=100.0: must be a whole number, not float"),
        ({"curve": "trend"}, "curve='trend': must be of kind CurveModel, not str"),
        ({"warm_up": 0}, "warm_up=0: must be at least 1"),
        ({"patience": 0}, "patience=0: must be above 0"),
        ({"best_possible": math.nan}, "best_possible=nan: must be finite"),
    ],
)
def test_bad_input_to_the_pruner(arguments, message: str) -> None:
    with pytest.raises(rs.InvalidParameter, match=f"^{message}"):
        HorizonPruner(**{"n_steps": 10} | arguments)


def test_threads() -> None:
    curves = crossing(3)
    study = optuna.create_study(pruner=HorizonPruner(100))

    def objective(trial):
        for step, loss in enumerate(curves[trial.number]):
            trial.report(loss, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return loss

    study.optimize(objective, n_trials=8, n_jobs=4)
    assert study.best_trial.number == int(np.argmin([curve[-1] for curve in curves]))
    assert sum(trial.state == PRUNED for trial in study.trials) >= 3


WORKER = """
import json, sys
from pathlib import Path
import optuna
from optuna.storages import JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from restsure.integrations.optuna import HorizonPruner

kind, place, curves = sys.argv[1], sys.argv[2], json.loads(Path(sys.argv[3]).read_text())
optuna.logging.set_verbosity(optuna.logging.ERROR)
patient = {"connect_args": {"timeout": 300}}  # seconds that one process waits for the other
storage = (
    JournalStorage(JournalFileBackend(place))
    if kind == "journal"
    else RDBStorage("sqlite:///" + place, engine_kwargs=patient)
)
study = optuna.load_study(study_name="shared", storage=storage, pruner=HorizonPruner(len(curves[0])))

def objective(trial):
    for step, loss in enumerate(curves[trial.number]):
        trial.report(loss, step)
        if trial.should_prune():
            raise optuna.TrialPruned
    return loss

study.optimize(objective, n_trials=len(curves) // 2)
"""


@pytest.mark.parametrize("kind", ["sqlite", "journal"])
def test_two_processes_share_a_study(kind: str, tmp_path: Path) -> None:
    """Each sees the other's trials in the storage, and only there."""
    place, file = tmp_path / "study", tmp_path / "curves.json"
    curves = [curve[:30].tolist() for curve in crossing(5)]
    file.write_text(json.dumps(curves))
    storage = JournalStorage(JournalFileBackend(str(place))) if kind == "journal" else f"sqlite:///{place}"
    study = optuna.create_study(study_name="shared", storage=storage)
    command = [sys.executable, "-W", "error", "-c", WORKER, kind, str(place), str(file)]
    workers = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    assert [(worker.communicate()[1], worker.returncode) for worker in workers] == [("", 0)] * 2
    ended = study.trials
    assert len(ended) == 8
    assert study.best_trial.number == int(np.argmin([curve[-1] for curve in curves]))
    assert sum(trial.state == PRUNED for trial in ended) >= 2
    fresh = HorizonPruner(30)
    for trial in ended:
        if trial.state == PRUNED:
            assert fresh.prune(study, trial)  # by whoever looks, with what is known in the end


# paused and resumed


def walk(curve):
    """An objective whose trials follow the curves of their numbers, and are endless; when each was closed is remembered."""
    closed, threads = list[int](), set[int]()

    def objective(trial):
        table = curve[trial.suggest_categorical("arm", list(range(len(curve))))]
        try:
            for value in table:
                threads.add(threading.get_ident())
                yield value
        finally:
            closed.append(trial.number)

    objective.closed, objective.threads = closed, threads
    return objective


def in_order(k: int, **options) -> optuna.Study:
    """A study that tries 0, 1, ..., k - 1."""
    study = optuna.create_study(**options)
    for arm in range(k):
        study.enqueue_trial({"arm": arm})
    return study


def states(study: optuna.Study) -> list[TrialState]:
    return [trial.state for trial in study.trials]


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@pytest.mark.parametrize("workers", [1, 3])
def test_the_winner_is_complete_and_the_others_pruned_with_their_values(direction: str, workers: int) -> None:
    sign = 1.0 if direction == "minimize" else -1.0
    curves = [
        (sign * losses(a, b, 300, k) + (sign < 0)) for k, (a, b) in enumerate([(0.2, 0.3), (1, 0.05), (0.2, 0.4)])
    ]
    study, objective = in_order(3, direction=direction), walk(curves)
    result = optimize(study, objective, budget=300, n_trials=3, workers=workers)
    assert states(study) == [PRUNED, COMPLETE, PRUNED]
    assert result.best_trial == study.best_trial == study.trials[1]
    for trial, curve in zip(study.trials, curves, strict=True):
        steps = result.pulls[trial.number]
        assert list(trial.intermediate_values.items()) == list(enumerate(curve[:steps].tolist()))
        assert trial.value == curve[steps - 1]
    assert sum(result.pulls.values()) == result.spent == result.budget == 300
    assert result.pulls[1] > 200
    assert objective.closed == [0, 1, 2]
    assert (threading.main_thread().ident in objective.threads) == (workers == 1)
    assert "trial 1 is returned" in result.explanation.replace("Trial", "trial")
    assert (result.failures, result.interrupted) == ({}, False)
    assert str(result).startswith("trial 1: value 0.")


def test_the_same_game_as_a_loop_of_ones_own() -> None:
    """No decision is made by the study; and workers change them, but not which thread is faster."""
    curves = [losses(0.1 * k, 0.5 - 0.05 * k, 200, k) for k in range(6)]
    game, made = rs.HorizonLCB().start(6, 200), [0] * 6
    while (pull := game.ask()) is not None:
        game.tell(pull.arm, curves[pull.arm][made[pull.arm] : made[pull.arm] + pull.times])
        made[pull.arm] += pull.times
    result = optimize(in_order(6), walk(curves), budget=200, n_trials=6)
    assert list(result.pulls.values()) == made
    assert result.best_trial.number == game.recommend().arm
    beside = [optimize(in_order(6), walk(curves), budget=200, n_trials=6, workers=3).pulls for _ in range(3)]
    assert beside[0] == beside[1] == beside[2]


@pytest.mark.parametrize("policy", [rs.SuccessiveHalving(), rs.RoundRobin(), rs.RestSure(0.5), rs.UCBE()])
def test_other_policies(policy) -> None:
    result = optimize(
        in_order(3), walk([losses(0.2, b, 90, 1) for b in (0.5, 0.1, 0.9)]), budget=90, n_trials=3, policy=policy
    )
    assert result.best_trial.number == 1
    assert result.spent == 90


def test_trials_that_come_to_their_end_are_complete() -> None:
    """One after twelve steps, one with a value of its own; what they leave goes to the third."""

    def objective(trial):
        arm = trial.suggest_int("arm", 0, 2)
        curve = losses(0.1, 0.3 + 0.1 * arm, 200, arm)
        yield from curve[: (12, 15, 200)[arm]]
        return None if arm == 0 else 0.25

    study = in_order(3)
    result = optimize(study, objective, budget=100, n_trials=3)
    assert states(study) == [COMPLETE, COMPLETE, PRUNED]
    assert result.pulls == {0: 12, 1: 15, 2: 73}
    assert (study.trials[0].value, study.trials[1].value) == (losses(0.1, 0.3, 200, 0)[11], 0.25)
    assert result.best_trial.number == 1
    assert "trial 0: finished after 12 steps" in result.explanation
    assert "failed" not in result.explanation
    alone = optimize(in_order(1), walk([np.ones(5)]), budget=9, n_trials=1)
    assert (alone.pulls, alone.spent, alone.budget) == ({0: 5}, 5, 9)
    assert "Nothing is left to train." in alone.explanation


def test_a_known_number_of_steps_is_not_exceeded() -> None:
    study = in_order(3)
    result = optimize(
        study, walk([losses(0.2, b, 300, 1) for b in (0.1, 0.2, 0.9)]), budget=100, n_trials=3, max_steps=40
    )
    assert max(result.pulls.values()) == 40
    assert [trial.state for trial in study.trials if result.pulls[trial.number] == 40] == [COMPLETE] * 2
    assert (result.best_trial.number, states(study)[2]) == (0, PRUNED)


def raises(trial):
    yield 0.5
    raise ZeroDivisionError("no such\nthing")


def exits(trial):
    yield 0.5
    sys.exit(3)


def turns_nan(trial):
    yield 0.01
    yield math.nan


def says_words(trial):
    yield "low"


def ends_at_once(trial):
    yield from ()


def ends_with_nan(trial):
    yield 0.1
    return math.nan


@pytest.mark.parametrize(
    ("bad", "reason", "reported"),
    [
        (raises, "ZeroDivisionError: no such thing", 1),
        (exits, "SystemExit: 3", 1),
        (turns_nan, "its value is nan", 2),
        (says_words, "yielded str, not a number", 0),
        (ends_at_once, "ended with None, not a finite number", 0),
        (ends_with_nan, "ended with nan, not a finite number", 1),
    ],
)
@pytest.mark.parametrize("workers", [1, 2])
def test_a_trial_that_fails_fails_alone(bad, reason: str, reported: int, workers: int) -> None:
    study = in_order(3)
    good = walk([losses(0.2, 0.2 + 0.1 * k, 100, k) for k in range(3)])
    result = optimize(study, lambda t: bad(t) if t.number == 1 else good(t), budget=100, n_trials=3, workers=workers)
    assert states(study) == [COMPLETE, FAIL, PRUNED]
    assert result.failures == {1: reason}
    assert study.trials[1].user_attrs == {"failure": reason}
    assert len(study.trials[1].intermediate_values) == reported
    assert result.pulls[0] + result.pulls[2] == 100 - (1 if reported else 0)
    assert f"trial 1: failed: {reason}" in result.explanation


def test_a_trial_that_somebody_else_has_ended_fails_alone() -> None:
    study = in_order(2)

    def objective(trial):
        for step, loss in enumerate(losses(0.2, 0.1, 100, trial.number)):
            if (trial.number, step) == (0, 5):
                study.tell(0, state=FAIL)
            yield loss

    result = optimize(study, objective, budget=50, n_trials=2)
    assert states(study) == [FAIL, COMPLETE]
    assert list(result.failures) == [0]
    assert result.pulls == {0: 5, 1: 45}


def test_all_fail() -> None:
    study = in_order(2)
    with pytest.raises(
        rs.NoArmLeft, match="none of 2 trials is complete: trial 0: ZeroDivisionError: no such thing; trial 1: Z"
    ):
        optimize(study, raises, budget=10, n_trials=2)
    assert states(study) == [FAIL, FAIL]


def test_an_objective_may_prune_itself() -> None:
    study = in_order(3)

    def objective(trial):
        for value in losses(0.2, 0.1 * (1 + trial.number), 100, trial.number):
            yield value
            if trial.number == 0 and value < 0.25:
                raise optuna.TrialPruned("too good")

    result = optimize(study, objective, budget=60, n_trials=3)
    assert states(study) == [PRUNED, COMPLETE, PRUNED]
    assert (result.best_trial.number, result.failures) == (1, {})
    assert "trial 0: pruned by its objective: too good" in result.explanation


@pytest.mark.parametrize("by_signal", [True, False])
@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_gives_back_the_best_so_far_and_leaves_no_trial_running(by_signal: bool, workers: int) -> None:
    study = in_order(3)
    walker = walk([losses(0.2, b, 1000, 1) for b in (0.5, 0.1, 0.9)])
    seen = []

    def interrupt(moment) -> None:
        seen.append(moment.over)
        if sum(moment.game.pulls) > 50 and not moment.over:
            if by_signal:
                os.kill(os.getpid(), signal.SIGINT)
            raise KeyboardInterrupt

    result = optimize(study, walker, budget=1000, n_trials=3, workers=workers, callbacks=[interrupt])
    assert result.interrupted
    assert states(study) == [PRUNED, COMPLETE, PRUNED]
    assert 50 < result.spent < 120
    assert result.best_trial.number == 1
    assert seen[-1] is True
    assert sorted(walker.closed) == [0, 1, 2]
    assert ", interrupted" in str(result)


def test_what_ends_it_before_a_step_is_raised_and_leaves_no_trial_running() -> None:
    def impatient(trial):
        raise KeyboardInterrupt
        yield

    study = in_order(2)
    with pytest.raises(KeyboardInterrupt):
        optimize(study, impatient, budget=10, n_trials=2)
    assert states(study) == [FAIL, FAIL]


@pytest.mark.parametrize("error", [RuntimeError("callback"), SystemExit(2)])
def test_a_callback_that_raises_ends_it_and_leaves_no_trial_running(error: BaseException) -> None:
    def breaks(moment) -> None:
        raise error

    study = in_order(3)
    with pytest.raises(type(error)):
        optimize(study, walk([np.ones(99)] * 3), budget=50, n_trials=3, callbacks=[breaks])
    assert RUNNING not in states(study)


KILLED = """
import sys
import optuna
from restsure.integrations.optuna import optimize

optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.create_study(study_name="s", storage="sqlite:///" + sys.argv[1])

def objective(trial):
    while True:
        if trial.number == 2:
            print("ready", flush=True)
        yield 1 / (1 + trial.number)

print(optimize(study, objective, budget=10**9, n_trials=3).interrupted)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_process_that_is_asked_to_end(number: int, tmp_path: Path) -> None:
    """Optuna's own loop leaves a trial RUNNING for ever when it is terminated."""
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path / "db")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    out, err = process.communicate()
    assert (out.splitlines()[-1], err, process.returncode) == ("True", "", 0)
    study = optuna.load_study(study_name="s", storage=f"sqlite:///{tmp_path / 'db'}")
    assert sorted(map(str, states(study))) == sorted(map(str, [PRUNED, PRUNED, COMPLETE]))


def test_a_trial_that_cannot_be_closed_is_told_all_the_same() -> None:
    def stubborn(trial):
        try:
            while True:
                yield 0.5
        finally:
            raise OSError("cannot clean up")

    study = in_order(2)
    with pytest.warns(RuntimeWarning, match="trial [01] raised when it was closed \\(OSError: cannot clean up\\)"):
        optimize(study, stubborn, budget=10, n_trials=2)
    assert RUNNING not in states(study)


@pytest.mark.parametrize(
    "sampler",
    [
        optuna.samplers.GridSampler({"arm": [0, 1, 2]}, seed=0),
        optuna.samplers.TPESampler(seed=0),
        optuna.samplers.RandomSampler(seed=0),
    ],
)
def test_samplers(sampler) -> None:
    """Those with nothing more to try would stop a study, which Optuna allows in its own loop only."""
    study = optuna.create_study(sampler=sampler)
    result = optimize(study, walk([losses(0.2, b, 60, 1) for b in (0.5, 0.1, 0.9)]), budget=60, n_trials=3)
    assert states(study).count(COMPLETE) == 1
    assert result.spent == 60


def test_several_calls_and_other_loops_share_a_study() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0), pruner=HorizonPruner(50))
    study.optimize(lambda trial: 0.15 + trial.suggest_float("x", 0, 0.1), n_trials=2)

    def objective(trial):
        yield from losses(0.2, trial.suggest_float("x", 0, 1), 100, trial.number)

    first = optimize(study, objective, budget=60, n_trials=4)
    second = optimize(study, objective, budget=60, n_trials=4)
    assert (list(first.pulls), list(second.pulls)) == ([2, 3, 4, 5], [6, 7, 8, 9])
    assert states(study).count(COMPLETE) == 4


def test_callbacks_are_shown_blocks_and_the_end() -> None:
    moments = []

    def watch(moment) -> None:
        moments.append((moment.over, len(moment.history), sum(moment.game.pulls)))
        assert moment.names == ("trial 0", "trial 1")
        for name in moment.names:
            last = [block.pulls for block in moment.history if block.name == name]
            assert last == sorted(last)

    curves = [losses(0.2, b, 200, 1) for b in (0.2, 0.4)]
    result = optimize(in_order(2), walk(curves), budget=200, n_trials=2, callbacks=[watch])
    assert [over for over, _, _ in moments] == [False] * (len(moments) - 1) + [True]
    assert moments[-1][2] == result.spent == 200
    assert len({blocks for _, blocks, _ in moments}) == len(moments) - 1 < 120  # one a decision, not one a step


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"study": "study"}, "study='study': must be of kind Study, not str"),
        ({"study": optuna.create_study(directions=["minimize"] * 2)}, "study: must have one objective, but has 2"),
        ({"objective": 3}, "objective=3: must be a generator function of a trial"),
        ({"objective": lambda trial: 0.5}, "objective: must be a generator that yields values, but returned float"),
        ({"budget": 1}, "budget=1: must be at least n_trials=2, one step for each trial"),
        ({"budget": "10min"}, "budget='10min': must be a whole number, not str"),
        ({"n_trials": 0}, "n_trials=0: must be at least 1"),
        ({"workers": 0}, "workers=0: must be at least 1"),
        ({"max_steps": 0}, "max_steps=0: must be at least 1"),
        ({"policy": "halving"}, "policy='halving': must be of kind Policy, not str"),
        ({"max_steps": 5, "policy": rs.UCBE()}, r"max_pulls=\[5, 5\]: must be None for UCBE"),
    ],
)
def test_bad_input_to_optimize(arguments, message: str) -> None:
    study = in_order(2)
    plain = {"study": study, "objective": walk([np.ones(9)] * 2), "budget": 10, "n_trials": 2}
    with pytest.raises(rs.InvalidParameter, match=f"^{message}$") as caught:
        optimize(**plain | arguments)
    assert "\n" not in str(caught.value)
    assert RUNNING not in states(study)


def test_the_result_is_frozen() -> None:
    result = optimize(in_order(1), walk([np.ones(9)]), budget=3, n_trials=1)
    assert isinstance(result, Optimization)
    with pytest.raises(AttributeError):
        result.budget = 4  # type: ignore[misc]


def python(code: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_without_optuna() -> None:
    error = python("import sys; sys.modules['optuna'] = None; import restsure.integrations.optuna").stderr.splitlines()
    assert error[-1].endswith("MissingExtra: restsure.integrations.optuna needs optuna: pip install 'restsure[optuna]'")


def test_restsure_does_not_import_optuna() -> None:
    assert python("import sys, restsure, restsure.integrations; print('optuna' in sys.modules)").stdout == "False\n"

"""One budget over all trials of Ray Tune: the scheduler plays the game of its policy, whatever trials do."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ray import cloudpickle
from ray.tune.experiment import Trial

import restsure as rs
from benchmarks.fake_tune import FakeTune, Reports
from restsure.errors import DamagedRun, InvalidParameter, NoArmLeft
from restsure.integrations.ray import HorizonScheduler
from restsure.integrations.ray_ledger import FILE, read_ledger

LINES = [(0.2, 0.3), (1.0, 0.05), (0.0, 0.5), (0.5, 0.2), (0.3, 0.25)]


def curves(noise: float = 0.01, turn: Callable[[float], float] = float) -> list[Reports]:
    """Reports that depend on the trial and its iteration only, as those of real ones should."""

    def made(number: int) -> Reports:
        alpha, beta = LINES[number]

        def report(k: int) -> dict[str, Any]:
            return {"m": turn(alpha / k**0.5 + beta + noise * np.random.default_rng([number, k]).normal())}

        return report

    return [made(number) for number in range(len(LINES))]


def scheduler(total: float = 200, **options: Any) -> HorizonScheduler:
    return HorizonScheduler(total, **{"metric": "m", "mode": "min", "workers": 1, **options})


def plain_game(total: int, workers: int = 1, policy: rs.Policy | None = None, **options: Any) -> rs.Game:
    """The same by asking and telling."""
    game = (policy or rs.HorizonLCB()).start(len(LINES), total, seed=0, **options)
    out = list[rs.Pull]()
    while pulls := [*out, *game.ask(workers=workers - len(out))]:
        pull, *out = pulls
        had, report = game.pulls[pull.arm], curves()[pull.arm]
        game.tell(pull.arm, [report(k)["m"] for k in range(had + 1, had + pull.times + 1)])
    return game


# ---- the game


@pytest.mark.parametrize("policy", [rs.HorizonLCB(), rs.SuccessiveHalving(), rs.RestSure(rho=0.5)])
def test_trials_are_trained_as_the_policy_says(policy) -> None:
    tune, expected = FakeTune(scheduler(policy=policy), curves()), plain_game(200, policy=policy)
    tune.run()
    assert [trial.iteration for trial in tune.trials] == list(expected.pulls)
    assert tune.steps == 200
    assert all(trial.status == Trial.TERMINATED for trial in tune.trials)
    assert tune.scheduler.best_trial is tune.trials[expected.recommend().arm]
    assert tune.scheduler.recommendation == expected.recommend()
    assert tune.search_alg.is_finished()


@pytest.mark.parametrize("workers", [2, 3, 8])
def test_several_at_once(workers) -> None:
    tune = FakeTune(scheduler(workers=workers), curves(), workers)
    tune.run()
    assert tune.steps == 200
    assert tune.scheduler.best_trial.number == 1
    assert tune.trials[1].iteration > 100


def test_trials_that_ray_starts_by_itself_are_not_trained_twice() -> None:
    """More run at once than the policy was told: what they report early is kept until it is asked for."""
    tune, expected = FakeTune(scheduler(workers=1), curves(), 5), plain_game(200)
    tune.run()
    assert [trial.iteration for trial in tune.trials] == list(expected.pulls)
    assert tune.scheduler.recommendation == expected.recommend()


def test_trials_may_come_one_by_one() -> None:
    tune, expected = FakeTune(scheduler(), curves()), plain_game(200)
    for _ in range(30):
        if len(tune.trials) < 5 and not any(trial.status == Trial.PENDING for trial in tune.trials):
            tune.add()
        tune.step()
    tune.run()
    assert [trial.iteration for trial in tune.trials] == list(expected.pulls)


@pytest.mark.parametrize(("mode", "best", "turn"), [("max", None, lambda x: 1 - x), ("max", 7.0, lambda x: 7 - x)])
def test_a_metric_that_is_maximised_is_the_same_game(mode, best, turn) -> None:
    tune = FakeTune(scheduler(mode=mode, best=best), curves(turn=turn))
    tune.run()
    assert [trial.iteration for trial in tune.trials] == list(plain_game(200).pulls)


def test_a_metric_beyond_its_best_value_is_said_once() -> None:
    tune = FakeTune(scheduler(mode="max"), curves(turn=lambda x: 100 - 100 * x))
    rule = r"^best=1: must be the best value that 'm' can have, but trial t0 has 49\.897$"
    with pytest.warns(RuntimeWarning, match=rule) as told:
        tune.run()
    assert len(told) == 1
    assert tune.scheduler.best_trial.number == 1


def test_budget_in_another_unit() -> None:
    """A report of one trial costs as much as ten of another."""
    plain = curves(noise=0.0)

    def made(number: int, cost: float) -> Reports:
        return lambda k: {**plain[number](k), "s": cost * k}

    tune = FakeTune(
        scheduler(100.0, time_attr="s"), [made(0, 0.1), made(1, 1.0), made(2, 0.1), made(3, 0.1), made(4, 1.0)]
    )
    tune.run()
    game = tune.scheduler._ledger.game
    assert 99 < game.spent < 103
    assert game.spent == pytest.approx(sum(t.iteration * c for t, c in zip(tune.trials, game.costs, strict=True)))


def test_max_t_is_an_end_that_the_policy_knows() -> None:
    tune, expected = FakeTune(scheduler(max_t=40), curves()), plain_game(200, max_pulls=[40] * 5)
    tune.run()
    assert [trial.iteration for trial in tune.trials] == list(expected.pulls)
    assert max(expected.pulls) == 40
    tune = FakeTune(scheduler(5.0, time_attr="s", max_t=1.0), [lambda k, c=c: {**c(k), "s": k / 16} for c in curves()])
    tune.run()
    assert max(trial.iteration for trial in tune.trials) == 16


# ---- what trials do


@pytest.mark.parametrize(
    ("policy", "end", "spent"), [(rs.HorizonLCB(), 70, 200), (rs.HorizonLCB(), 3, 200), (rs.RoundRobin(), 25, 185)]
)
def test_a_trial_that_ends_by_itself_keeps_what_it_has_reached(policy, end, spent) -> None:
    """What is left goes to the others; where a rule knows no ends, nobody can have what it has planned for that trial."""

    def ends(k: int) -> dict[str, Any]:
        if k > end:
            raise StopIteration
        return curves()[1](k)

    tune = FakeTune(scheduler(policy=policy), [curves()[0], ends, *curves()[2:]])
    tune.run()
    assert tune.trials[1].iteration == end
    assert tune.steps == spent
    assert tune.scheduler._ledger.game.failures == {}
    assert tune.scheduler.best_trial.number == {70: 1, 3: 3, 25: 4}[end]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, None, "0.1", True])
@pytest.mark.parametrize("at", [1, 5])
def test_what_is_no_number_fails_its_trial(bad, at) -> None:
    def broken(k: int) -> dict[str, Any]:
        return {"m": bad} if k >= at else {"m": 0.001}

    tune = FakeTune(scheduler(), [curves()[0], broken, *curves()[2:]])
    with pytest.warns(RuntimeWarning, match=rf"^trial t1 is stopped: m={bad!r}: must be a finite number$") as told:
        tune.run()
    assert len(told) == 1
    assert tune.log[-1][0] != 1
    assert tune.trials[1].status == Trial.TERMINATED
    assert tune.trials[1].iteration == at
    assert tune.scheduler.best_trial.number != 1
    assert tune.steps in (200, 201)  # the report that failed may have been within what was counted


@pytest.mark.parametrize("missing", ["m", "s"])
def test_a_report_that_lacks_something_fails_its_trial(missing) -> None:
    def made(number: int) -> Reports:
        return lambda k: {
            name: value
            for name, value in {**curves()[number](k), "s": k}.items()
            if not (number == 2 and name == missing)
        }

    tune = FakeTune(scheduler(100.0, time_attr="s"), [made(number) for number in range(5)])
    with pytest.warns(RuntimeWarning, match=rf"^trial t2 is stopped: {missing}=None: must be a finite number$"):
        tune.run()
    assert tune.scheduler._ledger.game.failures == {2: f"{missing}=None: must be a finite number"}


def test_a_trial_with_an_error_fails() -> None:
    def raises(k: int) -> dict[str, Any]:
        if k > 4:
            raise ZeroDivisionError
        return {"m": 0.001}

    tune = FakeTune(scheduler(workers=2), [curves()[0], raises, *curves()[2:]], 2)
    tune.run()
    assert tune.trials[1].status == Trial.ERROR
    assert tune.scheduler._ledger.game.failures == {1: "it ended with an error"}
    assert tune.scheduler.best_trial.number != 1
    assert tune.scheduler._ledger.game.spent == 200


def test_trials_that_are_taken_away() -> None:
    """By the user: one that has reported keeps that, one that has not is out."""
    tune = FakeTune(scheduler(workers=2), curves(), 2)
    for _ in range(5):
        tune.add()
    for _ in range(20):
        tune.step()
    tune.stop_trial(next(trial for trial in tune.trials if trial.status == Trial.PAUSED))
    fresh = FakeTune(scheduler(), curves())
    for _ in range(5):
        fresh.add()
    fresh.stop_trial(fresh.trials[3])
    for each in (tune, fresh):
        each.run()
        assert each.scheduler._ledger.game.spent == 200
    assert tune.scheduler._ledger.game.failures == {}
    assert fresh.scheduler._ledger.game.failures == {3: "it ended without a result"}


def test_all_fail() -> None:
    tune = FakeTune(scheduler(), [lambda k: {"m": math.nan}] * 5)
    with pytest.warns(RuntimeWarning, match="is stopped"):
        tune.run()
    assert all(trial.status == Trial.TERMINATED for trial in tune.trials)
    assert tune.scheduler.best_trial is None
    assert tune.steps == 5


def test_a_trial_that_begins_again_after_a_pause_is_told_so() -> None:
    tune = FakeTune(scheduler(), curves())

    def forgets(k: int) -> dict[str, Any]:  # it saves no checkpoints
        return curves()[1](k)

    tune.curves[1] = forgets
    tune.run(12)
    tune.trials[1].iteration = 0
    with pytest.warns(
        RuntimeWarning, match="^trial t1 reports again what it has reported before a pause: save a"
    ) as told:
        tune.run()
    assert len(told) == 1
    assert tune.scheduler._ledger.repeated > 0
    assert tune.scheduler._ledger.game.pulls == plain_game(200).pulls


# ---- how many


def test_more_trials_than_were_said_are_stopped() -> None:
    tune = FakeTune(scheduler(n_trials=3), curves())
    with pytest.warns(RuntimeWarning, match="^n_trials=3: there are more trials, which are stopped$"):
        tune.run()
    assert [trial.iteration > 0 for trial in tune.trials] == [True, True, True, False, False]


def test_fewer_trials_than_were_said() -> None:
    tune = FakeTune(scheduler(n_trials=7), curves())
    tune.run()
    assert tune.scheduler._ledger.game.failures == {5: "there is no such trial", 6: "there is no such trial"}
    assert tune.scheduler.best_trial.number == 1
    assert tune.steps == 200


def test_a_searcher_that_waits_is_refused() -> None:
    tune = FakeTune(scheduler(n_trials=9), curves())
    tune.search_alg.left = 9
    rule = (
        r"^n_trials=9: must be at most 5, since the searcher makes no more until one of those ends "
        r"\(max_concurrent_trials\), and paused ones have not ended$"
    )
    with pytest.raises(InvalidParameter, match=rule):
        tune.run(1_000)


@pytest.mark.parametrize(
    ("bad", "rule"),
    [
        (dict(total=0), "total_budget=0: must be at least 1"),
        (dict(total=1.5), r"total_budget=1\.5: must be a whole number, not float"),
        (dict(total=0, time_attr="s"), "total_budget=0: must be above 0"),
        (dict(mode="most"), "mode='most': must be one of 'min', 'max'"),
        (dict(max_t=0), "max_t=0: must be above 0"),
        (dict(best="all"), "best='all': must be a real number, not str"),
        (dict(policy="asha"), "policy='asha': must be of kind Policy, not str"),
        (dict(n_trials=0), "n_trials=0: must be at least 1"),
        (dict(workers=0), "workers=0: must be at least 1"),
        (
            dict(time_attr="s", policy=rs.RoundRobin()),
            "time_attr='s': must be 'training_iteration' for RoundRobin, which knows no costs and no ends",
        ),
        (dict(max_t=9, policy=rs.UCBE(1.0)), "max_t=9: must be None for UCBE, which knows no costs and no ends"),
        (dict(time_attr=3), "time_attr=3: must be of kind str, not int"),
    ],
)
def test_bad_parameters(bad, rule) -> None:
    with pytest.raises(InvalidParameter, match=rf"^{rule}$"):
        scheduler(**bad)


def test_what_must_be_said() -> None:
    for name in ("metric", "mode"):
        with pytest.raises(InvalidParameter, match=f"^{name}: must be said, to HorizonScheduler or to TuneConfig$"):
            FakeTune(scheduler(**{name: None}), curves()).run()
    endless = FakeTune(scheduler(), curves())
    endless.search_alg.total_samples = 2**63 - 1
    with pytest.raises(InvalidParameter, match="^n_trials: must be given where num_samples is without end"):
        endless.run()
    with pytest.raises(InvalidParameter, match="^horizon=4: must be at least n_arms=5"):
        FakeTune(scheduler(4), curves()).run()


def test_metric_and_mode_in_the_manner_of_ray() -> None:
    one = scheduler(metric=None, mode=None)
    assert one.set_search_properties("m", "max")
    assert one.metric == "m"
    assert not one.set_search_properties("m", None)
    assert not scheduler().set_search_properties(None, "max")
    assert scheduler().set_search_properties(None, None, num_samples=3)
    used = FakeTune(scheduler(), curves())
    used.run()
    with pytest.raises(InvalidParameter, match="^scheduler: must be a new one for every experiment$"):
        used.scheduler.set_search_properties(None, None)


# ---- what survives


def restored(tune: FakeTune, folder: Path, **options: Any) -> FakeTune:
    """Everything that had not ended is pending, as Ray has it; its scheduler is what was pickled when all began."""
    fresh = cloudpickle.loads(cloudpickle.dumps(tune.scheduler))
    assert fresh.debug_string() == "HorizonScheduler: 0 of 200 training_iteration"
    new = FakeTune(fresh, tune.curves, tune.workers, folder)
    for trial in tune.trials:
        ended = trial.status in (Trial.TERMINATED, Trial.ERROR)
        new.add(
            trial.status if ended else Trial.PENDING, trial.iteration - options.get("back", {}).get(trial.number, 0)
        )
    return new


@pytest.mark.parametrize("stop", [3, 20, 60, 150])
@pytest.mark.parametrize("back", [0, 1, 2])
def test_restored_it_goes_on_with_its_history(stop, back, tmp_path) -> None:
    """Also where the last checkpoint of a trial is some reports old."""
    whole = FakeTune(scheduler(), curves())
    whole.run()
    tune = FakeTune(scheduler(), curves(), folder=tmp_path)
    tune.run(stop)
    behind = {trial.number: min(back, trial.iteration) for trial in tune.trials if trial.status == Trial.RUNNING}
    new = restored(tune, tmp_path, back=behind)
    new.run()
    assert [trial.iteration for trial in new.trials] == [trial.iteration for trial in whole.trials]
    assert new.scheduler.recommendation == whole.scheduler.recommendation
    assert tune.steps + new.steps == 200 + sum(behind.values())
    assert new.scheduler._ledger.repeated == sum(behind.values())


def test_restored_again_and_again(tmp_path) -> None:
    tune, steps = FakeTune(scheduler(), curves(), folder=tmp_path), 0
    for _ in range(50):
        tune.run(7)
        steps += tune.steps
        if tune.scheduler._ledger.over:
            break
        tune = restored(tune, tmp_path)
    tune.run()
    assert [trial.iteration for trial in tune.trials] == list(plain_game(200).pulls)
    ledger = read_ledger((tmp_path / FILE).read_text())
    assert ledger.recommend() == ("t1", plain_game(200).recommend())


def test_a_trial_with_an_error_may_be_resumed(tmp_path) -> None:
    def raises(k: int) -> dict[str, Any]:
        if k > 4 and not (tmp_path / "repaired").exists():
            raise ZeroDivisionError
        return curves()[1](k)

    tune = FakeTune(scheduler(), [curves()[0], raises, *curves()[2:]], folder=tmp_path)
    tune.run(60)
    assert tune.trials[1].status == Trial.ERROR
    tune.trials[1].status = Trial.PENDING  # Tuner.restore(resume_errored=True)
    (tmp_path / "repaired").touch()
    new = restored(tune, tmp_path)
    new.run()
    assert new.scheduler.best_trial.number == 1
    assert new.scheduler._ledger.game.failures == {}


def test_a_file_that_was_cut_or_changed(tmp_path) -> None:
    tune = FakeTune(scheduler(), curves(), folder=tmp_path)
    tune.run(50)
    text = (tmp_path / FILE).read_text()
    assert len(read_ledger(text[:-3]).at) == len(read_ledger(text).at)  # the last line was not written to its end
    lines = text.splitlines(keepends=True)
    for bad in ("", "{}\n", "[1]\n", lines[0].replace('"restsure": 1', '"restsure": 9'), "x" + text, lines[0] * 2):
        if bad == lines[0] * 2:
            assert read_ledger(bad).at == {}
            continue
        with pytest.raises(DamagedRun, match=r"^the ledger is (damaged|of format)"):
            read_ledger(bad)
    told = [json.loads(line) for line in lines]
    told[-1] = {"trial": "nobody", "at": 1, "loss": 1}
    with pytest.raises(DamagedRun, match="KeyError"):
        read_ledger("".join(json.dumps(line) + "\n" for line in told))
    with pytest.raises(NoArmLeft, match="no arm has been pulled yet"):
        read_ledger(lines[0]).recommend()

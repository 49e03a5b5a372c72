"""The story of a run: few numbers, exact where they must be, and the same from wherever it is read."""

import json
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import restsure as rs
from restsure.errors import DamagedRun
from restsure.journal import Record, read_records
from restsure.report.beliefs import Beliefs
from restsure.report.story import SHOWN, Facts, story_in, story_of, tell
from restsure.report.thinning import MARKS, Ribbon, ThinCurve
from tests.report.runs import Curve, curves, hostile, recorded

LOSSES = np.random.default_rng(0).random(5_000)


def thinned(losses: np.ndarray, cuts: list[int] = ()) -> ThinCurve:
    curve = ThinCurve()
    for part in np.split(losses, sorted(cuts)):
        if len(part):
            curve.add(part)
    return curve


@pytest.mark.parametrize("count", [1, 2, 3, 24, 25, 26, 100, 4_999, 5_000])
def test_a_thinned_curve_is_exact_at_both_ends_and_wherever_it_has_a_point(count: int) -> None:
    steps, losses = thinned(LOSSES[:count]).points()
    assert (steps[0], steps[-1]) == (1, count)
    assert losses == [LOSSES[step - 1] for step in steps]
    assert steps == sorted(set(steps))


def test_what_is_kept_grows_with_the_logarithm() -> None:
    assert len(thinned(LOSSES).points()[0]) < 180
    assert np.searchsorted(MARKS, 10**6) < 330


@given(st.lists(st.integers(0, 400), max_size=20))
def test_a_curve_is_the_same_however_its_losses_come_in(cuts: list[int]) -> None:
    once, many = thinned(LOSSES[:400]), thinned(LOSSES[:400], cuts)
    assert once.points() == many.points()
    assert once.smooth() == many.smooth()
    assert (once.standing(), once.last) == (many.standing(), many.last)


@pytest.mark.parametrize("count", [1, 5, 20, 400, 5_000])
def test_the_smoothed_line_is_the_mean_of_about_the_last_fifth(count: int) -> None:
    curve = thinned(LOSSES[:count])
    window = LOSSES[:count][-max(3, count // 5) :]
    mean, low, high = curve.standing()
    assert mean == pytest.approx(window.mean(), abs=0.02 if count > 25 else 1e-12)
    assert low <= mean <= high
    assert len(curve.smooth()) == len(curve.points()[0])
    assert curve.smooth()[0] == pytest.approx(LOSSES[0])


def test_spans_that_look_like_one_are_one() -> None:
    ribbon = Ribbon(1.0, [])
    for start, end in [(0, 2), (2, 3), (3.5, 4), (9, 10)]:
        ribbon.add(start, end)
    assert ribbon.spans == [[0, 4], [9, 10]]


def without_times(story: dict) -> dict:
    head = {
        key: value for key, value in story["head"].items() if not key.endswith("_s") and key not in ("title", "seconds")
    }
    return story | {"head": head, "configuration": None}


def test_the_story_of_a_result_is_that_of_its_run_directory(tmp_path) -> None:
    result = recorded(tmp_path)
    bare = rs.select(curves(4), budget=400, progress=False, random_state=0)
    of_directory = story_of(rs.read_run(tmp_path))
    assert without_times(story_of(result)) == without_times(of_directory) == without_times(story_in(tmp_path))
    story, same = without_times(story_of(bare)), without_times(of_directory)
    for each in (story, same):  # saved states are a matter of the directory
        each["log"] = [line for line in each["log"] if line["kind"] != "note"]
        each["notes"], each["head"]["records"] = [], None
    assert story == same
    assert json.loads(json.dumps(story, allow_nan=False))


@pytest.mark.parametrize("policy", [rs.HorizonLCB(), rs.RestSure(), rs.SuccessiveHalving(), rs.RoundRobin()])
def test_following_is_the_same_as_reading_all(tmp_path, policy) -> None:
    recorded(tmp_path, policy=policy, candidates=curves(5) | {"broken": Curve(0.1, fails_at=4)})
    first, *others = read_records(tmp_path)
    facts, beliefs = Facts(first), Beliefs(first)
    for record in others:
        facts.add(record)
        beliefs.add(record)
        tell(facts, beliefs, state="running")  # a look changes nothing
    assert without_times(tell(facts, beliefs, state="over")) == without_times(
        {key: part for key, part in story_of(rs.read_run(tmp_path)).items() if key != "explanation"}
    )
    assert facts.spent == beliefs.progress.game.spent
    assert not beliefs.progress.history


def test_it_says_what_became_of_every_candidate(tmp_path) -> None:
    candidates = curves(4) | {"broken": Curve(0.1, fails_at=4)}
    result = recorded(tmp_path, policy=rs.SuccessiveHalving(), candidates=candidates, budget=300)
    story = story_of(result)
    by_name = {row["name"]: row for row in story["candidates"]}
    assert by_name[result.name]["state"] == "winner"
    assert by_name["broken"]["state"] == "failed"
    assert "out of <memory>" in by_name["broken"]["why"]
    assert by_name["model 3"]["state"] == "given up"
    assert {name: row["steps"] for name, row in by_name.items()} == dict(result.pulls)
    given_up = next(line for line in story["log"] if line["kind"] == "given up" and line["arm"] == 3)
    assert 0 < given_up["spent"] < 300
    assert story["head"]["sentence"] == str(result)


def test_losses_with_other_budgets_are_those_of_what_if(tmp_path) -> None:
    result = recorded(tmp_path)
    what_if = story_of(result)["what_if"]
    ahead = what_if["ahead"]
    for k in (0, 10, -1):
        told = result.what_if(budget=int(ahead["budget"][k]))
        assert (ahead["loss"][k], ahead["low"][k], ahead["high"][k]) == pytest.approx(told, rel=1e-3)
    assert what_if["before"]["budget"][-1] == 400
    early = what_if["before"]["budget"][20]
    assert what_if["before"]["loss"][20] == pytest.approx(result.what_if(budget=int(early))[0], abs=0.02)


def test_predictions_reach_to_the_end_of_the_budget_and_narrow(tmp_path) -> None:
    recorded(tmp_path)
    first, *others = read_records(tmp_path)
    half = others[: len(others) // 2]
    facts, beliefs = Facts(first), Beliefs(first)
    for record in half:
        facts.add(record)
        beliefs.add(record)
    story = tell(facts, beliefs, state="running")
    leader = story["head"]["leader"]
    row, band = story["candidates"][leader], story["bands"][leader]
    assert row["reach"] == row["steps"] + 400 - story["head"]["spent"]
    assert (band["steps"][0], band["steps"][-1]) == (row["steps"], row["reach"])
    assert [band[part][-1] for part in ("mean", "low", "high")] == row["predicted"]
    outlook = story_of(rs.read_run(tmp_path))["outlook"]
    assert 60 <= len(outlook["spent"]) <= 101
    low, high = (outlook["of"][leader][part] for part in ("low", "high"))
    widths = [b - a for a, b in zip(low, high, strict=True) if a is not None and b is not None]
    assert widths[-1] < widths[0]


def test_seconds_and_costs_add_up(tmp_path) -> None:
    learners = curves(3)
    learners["model 0"].cost = 2.5
    result = recorded(tmp_path / "costs", candidates=learners)
    story = story_of(result)
    assert sum(row["cost"] for row in story["candidates"]) == pytest.approx(story["head"]["spent"]) == result.spent
    timed = recorded(
        tmp_path / "seconds", candidates=curves(3, wait=lambda times: time.sleep(0.001 * times)), budget="0.2s"
    )
    story = story_of(timed)
    assert story["head"]["spent"] == pytest.approx(timed.spent)
    assert (story["head"]["unit"], story["head"]["budget"]) == ("seconds", 0.2)


def test_hostile_names_stay_text_and_many_candidates_stay_readable(tmp_path) -> None:
    story = story_of(recorded(tmp_path / "names", candidates=hostile()))
    json.dumps(story, allow_nan=False).encode()
    assert "<script>" in story["candidates"][0]["name"]
    many = story_of(recorded(tmp_path / "many", candidates=curves(60)))
    assert len(many["candidates"]) == 60
    assert len(many["shown"]) == len(many["curves"]) == SHOWN
    assert many["head"]["leader"] in many["shown"]


def test_what_is_no_run_is_refused(tmp_path) -> None:
    recorded(tmp_path)
    first, *_ = read_records(tmp_path)
    facts = Facts(first)
    block = {"arm": 0, "losses": [0.5], "cost": None, "seconds": 0.1}
    for body in (
        {},
        block | {"arm": 99},
        block | {"losses": [float("inf")]},
        block | {"losses": "x"},
        block | {"losses": []},
    ):
        with pytest.raises(DamagedRun, match="record 2 is not what a run has written"):
            facts.add(Record(2, 1, "block", 0.0, body))
    with pytest.raises(DamagedRun, match="first record"):
        Facts(Record(1, 0, "begin", 0.0, {"budget": "many"}))


def test_without_a_game_the_facts_are_told(tmp_path) -> None:
    """A journal of another version may not be played again the same way; what happened is there all the same."""
    result = recorded(tmp_path)
    first, *others = read_records(tmp_path)
    facts = Facts(first)
    for record in others:
        facts.add(record)
    story = tell(facts, "made by another version", state="over")
    assert story["head"]["no_beliefs"] == "made by another version"
    assert story["candidates"][story["head"]["leader"]]["name"] == result.name
    assert story["head"]["sentence"].startswith(f"{result.name}: last loss")


def test_beliefs_that_lag_behind_say_nothing_of_now(tmp_path) -> None:
    """A follower of a long run plays its game after reading it: until then, no winner of long ago is shown as that of now."""
    recorded(tmp_path)
    first, *others = read_records(tmp_path)
    facts, beliefs = Facts(first), Beliefs(first)
    for record in others:
        facts.add(record)
    for record in others[: len(others) // 2]:
        beliefs.add(record)
    story = tell(facts, beliefs, state="over")
    assert story["head"]["leader"] == facts.chosen
    assert story["head"]["certificate"] is None
    assert story["candidates"][0]["predicted"] is None
    assert story["head"]["believed"] < story["head"]["spent"]
    assert story["outlook"]["spent"]


def test_the_log_tells_who_takes_the_lead(tmp_path) -> None:
    """Also with a policy that gives up nobody on the way."""
    crossing = {"fast": Curve(0.3, 0.1), "slow": Curve(0.1, 0.9, seed=1)}
    story = story_of(recorded(tmp_path / "run", candidates=crossing, budget=300))
    leads = [line for line in story["log"] if line["kind"] == "leads"]
    assert (leads[-1]["arm"], leads[-1]["rival"]) == (1, 0)
    assert leads[-1]["text"].startswith("has the lowest losses now, about 0.")
    assert all(line["arm"] != line["rival"] for line in leads)
    assert 10 < leads[-1]["spent"] < 150

"""``select(run_dir=...)``: the same directory again goes on, another run is refused, and what is kept is bounded."""

import json
import re
import shutil
import time
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import restsure as rs
from restsure.policies.horizon_play import HorizonLCBPlay
from restsure.policies.phases import Phase
from restsure.report import story_of
from restsure.training import Checkpoints, findings, identity
from tests.faults.runs import Walk, blobs, outcome, plain_models, sklearn_models, train


class Stopped(BaseException):
    """Ends a run where it stands."""


def stop_at(steps: int) -> Any:
    def watch(moment: Any) -> None:
        if not moment.over and sum(moment.game.pulls) >= steps:
            raise Stopped

    return watch


@pytest.mark.parametrize("kind", ["plain", "sklearn", "river", "torch"])
def test_a_recorded_run_is_the_run(kind: str, tmp_path: Path) -> None:
    bare, kept = train(kind, None), train(kind, tmp_path)
    assert outcome(bare) == outcome(kept)
    again = train(kind, tmp_path)  # it is over: nothing is trained, the model is loaded
    assert outcome(again) == outcome(kept)
    read = rs.read_run(tmp_path)
    assert read.state == "over"
    assert read.result is not None
    assert read.result.model is None
    assert list(read.result.history) == list(kept.history)
    assert {**read.to_dict(), **kept.to_dict()} == read.to_dict()
    assert findings(tmp_path) == []


@pytest.mark.parametrize("kind", ["plain", "sklearn", "river", "torch"])
def test_stopped_again_and_again(kind: str, tmp_path: Path) -> None:
    whole = outcome(train(kind, None))
    for steps in range(7, 120, 19):
        with pytest.raises(Stopped):
            train(kind, tmp_path, callbacks=[stop_at(steps)])
    assert outcome(train(kind, tmp_path)) == whole


@pytest.mark.parametrize(
    "policy",
    [rs.RoundRobin(), rs.SuccessiveHalving(2), rs.RestSure(rho=0.5), rs.HorizonLCB(curve=rs.CurveBank())],
    ids=repr,
)
def test_with_other_policies(policy: rs.Policy, tmp_path: Path) -> None:
    whole = outcome(train("plain", None, policy=policy))
    for steps in (10, 60):
        with pytest.raises(Stopped):
            train("plain", tmp_path, policy=policy, callbacks=[stop_at(steps)])
    assert outcome(train("plain", tmp_path, policy=policy)) == whole
    assert len(rs.read_run(tmp_path).progress.states) == 1


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (dict(budget=200), "budget=200: must be 120, as when the run in "),
        (dict(budget="10s"), "budget=10.0: must be 120"),
        (dict(random_state=6), "random_state=6: must be 5"),
        (dict(batch_size=8), "data="),
        (dict(loss="balanced"), "data="),
        (dict(data=(blobs()[0] + 1, blobs()[1])), "data="),
        (dict(data=(blobs()[0][:-1], blobs()[1][:-1])), "data="),
        (dict(validation=blobs()), "data="),
        (dict(policy=rs.RoundRobin()), "policy="),
        (dict(policy=rs.HorizonLCB(patience=2.0)), "policy="),
        (dict(candidates={"bayes": sklearn_models()["bayes"]}), "candidates="),
        (dict(candidates={**sklearn_models(), "bayes": sklearn_models()["perceptron"]}), "candidates['bayes']="),
        (
            dict(candidates={**sklearn_models(), "network": sklearn_models()["network"].set_params(alpha=1.0)}),
            "['network']=",
        ),
    ],
)
def test_another_run_is_refused_and_what_differs_is_named(
    change: dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    first = dict(candidates=sklearn_models(), data=blobs(), budget=120, batch_size=16, random_state=5)
    with pytest.raises(Stopped):
        rs.select(**first, run_dir=tmp_path, callbacks=[stop_at(10)], progress=False)
    with pytest.raises(rs.InvalidParameter) as refused:
        rs.select(**{**first, **change}, run_dir=tmp_path, progress=False)
    assert complaint in str(refused.value)
    assert "as when the run in" in str(refused.value)
    rs.select(**first, run_dir=tmp_path, progress=False)


class Slow(Walk):
    """Takes its time, so that its state is worth saving, and is large."""

    size = 1_000

    def train(self, times: int) -> list[float]:
        time.sleep(0.01 * times)
        return super().train(times)

    def save(self, directory: Path) -> None:
        super().save(directory)
        (directory / "weights.npy").write_bytes(bytes(self.size))


def slow_models() -> dict[str, Any]:
    return {"quick": Slow(0.2, 0.3, 0), "slow": Slow(1.0, 0.05, 1), "flat": Slow(0.0, 0.5, 2)}


def sizes(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("weights.npy"))


def test_only_the_newest_states_are_kept_and_in_the_end_the_winners(tmp_path: Path) -> None:
    most = list[int]()
    options = dict(budget=120, run_dir=tmp_path, progress=False, checkpoints=Checkpoints(share=1.0))
    result = rs.select(slow_models(), callbacks=[lambda moment: most.append(sizes(tmp_path))], **options)
    assert len([record for record in rs.read_run(tmp_path).records if record.kind == "checkpoint"]) > 6
    assert max(most) <= 3 * Slow.size
    assert sizes(tmp_path) == Slow.size
    kept = rs.read_run(tmp_path).to_dict()["checkpoints"]
    assert kept["count"] == 1
    assert kept["bytes"] == sum(path.stat().st_size for path in (tmp_path / "checkpoints").rglob("*") if path.is_file())
    assert result.name == "slow"


def test_all_are_kept_when_asked_for(tmp_path: Path) -> None:
    rule = Checkpoints(share=1.0, keep_all=True)
    rs.select(slow_models(), budget=120, run_dir=tmp_path, progress=False, checkpoints=rule)
    assert rs.read_run(tmp_path).to_dict()["checkpoints"]["count"] == 3


def test_all_states_together_are_bounded(tmp_path: Path) -> None:
    rule = Checkpoints(share=1.0, max_bytes=2 * Slow.size + 800)
    most = list[int]()
    with pytest.warns(RuntimeWarning, match="cannot be saved .all states together would exceed max_bytes"):
        rs.select(
            slow_models(), budget=120, run_dir=tmp_path, progress=False, checkpoints=rule,
            callbacks=[lambda moment: most.append(sizes(tmp_path))],
        )  # fmt: skip
    assert max(most) == 2 * Slow.size


def test_saving_takes_no_more_than_its_share(tmp_path: Path) -> None:
    class Heavy(Slow):
        def save(self, directory: Path) -> None:
            time.sleep(0.02)
            super().save(directory)

    saves = {}
    for share in (0.02, 0.5):
        models = {"a": Heavy(1.0, 0.0, 0), "b": Heavy(0.0, 0.5, 1)}
        folder = tmp_path / str(share)
        rs.select(models, budget=100, run_dir=folder, progress=False, checkpoints=Checkpoints(share=share))
        saves[share] = len([record for record in rs.read_run(folder).records if record.kind == "checkpoint"])
    assert saves[0.02] <= 2 < saves[0.5]


def test_a_candidate_that_is_not_what_it_was_is_said_and_the_journal_stands(tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        train("plain", tmp_path, share=0.001, callbacks=[stop_at(60)])
    before = rs.read_run(tmp_path)
    models = {**plain_models(), "slow": Walk(1.0, 0.05, 7)}  # another seed
    with pytest.warns(
        RuntimeWarning, match="slow: training step 1, made again, has loss .* not deterministic, or not what"
    ):
        result = rs.select(models, budget=120, batch_size=16, random_state=5, progress=False, run_dir=tmp_path)
    assert result.history[: len(before.progress.history)] == tuple(before.progress.history)
    assert any("which stands" in note for note in result.notes)


def test_samples_and_costs_are_resumed(tmp_path: Path) -> None:
    def run(folder: Path | None, **options: Any) -> rs.Result:
        models = {name: model for name, model in sklearn_models().items() if name != "network"}
        return rs.select(
            models, blobs(), budget="1600 samples", batch_size=16, progress=False, run_dir=folder, **options
        )

    whole = run(None)
    with pytest.raises(Stopped):
        run(tmp_path, callbacks=[stop_at(30)])
    result = run(tmp_path)
    assert outcome(result) == outcome(whole)
    assert result.spent == 1600


def test_a_budget_in_seconds_is_resumed_with_what_was_spent(tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        rs.select(slow_models(), budget="1s", run_dir=tmp_path, progress=False, callbacks=[stop_at(30)])
    before = rs.read_run(tmp_path).progress
    result = rs.select(slow_models(), budget="1s", run_dir=tmp_path, progress=False)
    assert result.history[: len(before.history)] == tuple(before.history)
    assert 0.95 < result.spent < 1.3


def test_a_run_in_the_middle_of_a_long_block_is_recorded_piece_by_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = train("plain", None)
    monkeypatch.setattr("restsure.training.session._PIECE_S", 1e-9)  # a piece is one pull
    pieces = train("plain", tmp_path)
    assert list(pieces.history) == list(whole.history)
    assert all(len(record.body["losses"]) <= 2 for record in rs.read_run(tmp_path).records if record.kind == "block")


def test_a_run_that_is_stopped_right_after_it_was_resumed_gives_back_a_trained_model(tmp_path: Path) -> None:
    with pytest.raises(Stopped):
        train("sklearn", tmp_path, callbacks=[stop_at(100)])
    before = rs.read_run(tmp_path).progress

    def interrupt(moment: Any) -> None:
        if not moment.over:
            raise KeyboardInterrupt

    result = train("sklearn", tmp_path, callbacks=[interrupt])
    assert result.interrupted
    assert sum(result.pulls.values()) > sum(before.game.pulls)
    assert result.model.predict(blobs()[0]).shape == (480,)
    assert np.mean(result.model.predict(blobs()[0]) != blobs()[1]) < 0.6


def test_bad_arguments(tmp_path: Path) -> None:
    for options, complaint in (
        (dict(retries=-1), "retries=-1: must be at least 0"),
        (dict(retries="2"), "retries='2'"),
        (dict(executor="processes"), "executor='processes'"),
        (dict(checkpoints=0.05), "checkpoints=0.05"),
    ):
        with pytest.raises(rs.InvalidParameter, match=complaint):
            train("plain", None, **options) if "checkpoints" not in options else rs.select(
                {"a": Walk(1, 0, 0)}, budget=3, **options
            )
    for options in (
        dict(share=0),
        dict(share=2),
        dict(share="x"),
        dict(max_bytes=-1),
        dict(keep_all=1),
        dict(pickle="yes"),
    ):
        with pytest.raises(rs.InvalidParameter):
            Checkpoints(**options)  # type: ignore[arg-type]


def test_a_run_directory_can_be_moved_and_its_checkpoint_refused_is_redone(tmp_path: Path) -> None:
    whole = outcome(train("plain", None))
    with pytest.raises(Stopped):
        train("plain", tmp_path / "a", callbacks=[stop_at(60)])
    shutil.move(tmp_path / "a", tmp_path / "b")
    assert outcome(train("plain", tmp_path / "b")) == whole


def test_the_journal_is_small(tmp_path: Path) -> None:
    rs.select(plain_models(), budget=20_000, run_dir=tmp_path, progress=False)
    assert (tmp_path / "journal.sqlite").stat().st_size < 25 * 20_000
    spent = json.loads(json.dumps(rs.read_run(tmp_path).to_dict()))["spent"]
    assert spent == 20_000
    assert np.isfinite(rs.read_run(tmp_path).result.loss)  # type: ignore[union-attr]


def test_without_an_installed_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sources on the path, or a frozen program, have no version to read."""

    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(identity, "version", missing)
    identity._version.cache_clear()
    try:
        train("plain", tmp_path)
        assert identity.versions()["restsure"] == "unknown"
    finally:
        identity._version.cache_clear()
    assert findings(tmp_path) == []


@pytest.mark.parametrize("workers", [1, 3])
def test_a_run_of_other_constants_is_shown_but_does_not_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    """What happened is as it was recorded, down to who was returned; it is not continued as another run, and that is said."""
    executor = rs.ProcessExecutor(workers=workers) if workers > 1 else None
    result = train("plain", tmp_path, executor=executor)
    other = next(k for k, name in enumerate(result.pulls) if name != result.name)
    monkeypatch.setattr("restsure.policies.horizon_play.BLOCK", 2)
    wishes = np.where(np.arange(len(result.pulls)) == other, 0.0, 1.0)[None]
    monkeypatch.setattr(HorizonLCBPlay, "standing", lambda play, rows: wishes)  # it would return another one
    run = rs.read_run(tmp_path)
    told = run.result
    assert run.state == "over"
    assert told is not None
    assert (told.name, told.pulls) == (result.name, result.pulls)
    assert all(told.history.losses(name) == result.history.losses(name) for name in result.pulls)
    assert "returned, as was recorded" in told.explain()
    departs = r"record \d+ has .*, where the policy now wants .*another version"
    note = departs + ".*; shown as it was recorded, with the predictions of this version"
    story = story_of(run)
    assert len([words for words in told.to_dict()["notes"] if re.search(note, words)]) == 1
    assert len([words for words in story["notes"] if re.search(note, words)]) == 1
    assert story["candidates"][story["head"]["leader"]]["name"] == result.name
    [finding] = findings(tmp_path)
    assert re.search(departs, finding)
    with pytest.raises(rs.DamagedRun, match=departs):
        train("plain", tmp_path, executor=executor)


def test_a_run_of_other_constants_that_was_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Stopped):
        train("plain", tmp_path, callbacks=[stop_at(60)])
    pulls = rs.read_run(tmp_path).progress.game.pulls
    monkeypatch.setattr("restsure.policies.horizon_play.BLOCK", 2)
    after = rs.read_run(tmp_path)
    assert after.state == "stopped"
    assert after.progress.astray is not None
    assert after.progress.game.pulls == pulls


def test_a_policy_that_goes_one_way_only_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train("plain", tmp_path, policy=rs.SuccessiveHalving(2))
    monkeypatch.setattr(rs.SuccessiveHalving, "rungs", lambda policy, n_arms, horizon: [Phase(5, 1)])
    with pytest.raises(rs.DamagedRun, match="where the policy now wants"):
        rs.read_run(tmp_path)

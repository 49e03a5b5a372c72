"""The suite `curves`: which learners play, what is true and what is shown, on small tables and on the real ones."""

import csv
import pickle
from pathlib import Path

import numpy as np
import pytest

import restsure as rs
from restsure.errors import InvalidParameter
from restsure.simulation.suites.curves import (
    _DIVERGED,
    Task,
    _half,
    _lcbench,
    _lcdb_mean,
    _lcdb_split,
    _neural_scaling,
    _pythia,
    _taskset,
    curves,
)
from restsure.simulation.suites.data import load_long
from restsure.simulation.suites.row import Row
from tests.chance import Z
from tests.simulation.test_data import real_data, refusal, write_long

ROWS = curves(real_data())


def row(name: str, directory: Path | None = None) -> Row:
    (found,) = (row for row in (ROWS if directory is None else curves(directory)) if row.name == name)
    return found


def test_rows_are_listed_without_reading_anything(tmp_path) -> None:
    """An empty directory will do; the file is missed when the row is played."""
    rows = curves(tmp_path)
    assert [row.name for row in rows] == [row.name for row in ROWS]
    assert len({row.name for row in rows}) == len(rows) == 30
    assert {row.group for row in rows} == {
        *("LCDB mean", "LCDB split", "TaskSet", "LCBench surrogate", "neural scaling", "Pythia", "online")
    }
    for missing in rows:
        if missing.group != "LCDB split":  # which the PyPI package may serve
            refusal(lambda make=missing.make: make(5, 0), ".npz: is missing")


def test_the_directory_may_come_from_the_environment(monkeypatch) -> None:
    monkeypatch.setenv("RESTSURE_DATA", str(real_data()))
    assert len(curves(None)) == 30
    monkeypatch.delenv("RESTSURE_DATA")
    refusal(lambda: curves(None), "--data DIR")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_row_builds(row) -> None:
    """Five instances of K arms and T pulls, all finite; error rates are rates. K and T are in the row's name."""
    arms = row.make(5, 0)
    k, horizon = (int(part.rpartition(" ")[2]) for part in row.name.split(", ")[1:])
    assert arms.losses.shape == arms.seen.shape == (5, k, horizon)
    assert (arms.instances, arms.n_arms, arms.longest, row.horizon) == (5, k, horizon, horizon)
    assert np.isfinite(arms.losses).all()
    assert np.isfinite(arms.seen).all()
    if row.unit == "points":
        assert 0 <= arms.losses.min() < arms.losses.max() <= 1
    shown_as_it_is = row.group in ("TaskSet", "LCBench surrogate", "neural scaling")
    assert np.array_equal(arms.losses, arms.seen) == shown_as_it_is
    distinct = {run.tobytes() for run in np.sort(arms.losses, axis=1)}
    assert len(distinct) > 1
    assert row.name.startswith(row.group)
    assert row.scale == 100


@pytest.mark.parametrize("group", sorted({row.group for row in ROWS}))
def test_a_run_is_fixed_by_seed_row_and_number(group) -> None:
    """Two of five runs are the two runs that replicates=2 gives; another seed draws other runs."""
    first = next(row for row in ROWS if row.group == group)
    five, two, again, seed = (first.make(r, s) for r, s in ((5, 3), (2, 3), (5, 3), (5, 4)))
    np.testing.assert_array_equal(five.losses[:2], two.losses)
    np.testing.assert_array_equal(five.seen[:2], two.seen)
    np.testing.assert_array_equal(five.losses, again.losses)
    np.testing.assert_array_equal(five.seen, again.seen)
    assert not np.array_equal(five.seen, seed.seen)


def test_rows_draw_apart(tmp_path) -> None:
    """Rows that differ in T alone meet the same data set with other learners."""
    records = [("3", f"learner {k}", n, -1, 100.0 * k) for k in range(12) for n in (16, 8192)]
    write_long(tmp_path / "lcdb11.npz", records, se=np.zeros(len(records), dtype=np.uint16))
    short, long = (row(f"LCDB mean, K = 5, T = {horizon}", tmp_path).make(20, 0).losses for horizon in (128, 256))
    assert not np.allclose(short[:, :, -1], long[:, :, -1])


def test_rows_can_be_sent_to_another_process() -> None:
    sent = pickle.loads(pickle.dumps(row("online, K = 4, T = 256")))
    np.testing.assert_array_equal(sent.make(2, 0).seen, row("online, K = 4, T = 256").make(2, 0).seen)


def test_a_row_can_be_played() -> None:
    played = row("LCDB mean, K = 5, T = 128")
    out = rs.simulate(rs.RestSure(), played.make(5, 1), horizon=played.horizon, replicates=5, seed=1)
    assert (out.arm_pulls.sum(axis=1) == 128).all()
    assert (out.regret > -1).all()


@pytest.mark.parametrize(("replicates", "seed"), [(0, 0), (5, -1), (2.0, 0), (5, None)])
def test_bad_numbers(replicates, seed) -> None:
    with pytest.raises(InvalidParameter, match="replicates=|seed="):
        ROWS[0].make(replicates, seed)


# LCDB mean, on tables made up so that every number can be worked out by hand: anchors 16, 1024 and 2048 samples, T = 128.

LOSSES = {16: 8000.0, 1024: 2000.0, 2048: 1000.0}


def lcdb_mean(directory: Path, extra: dict[str, list[tuple[int, float]]], se: int = 0) -> Row:
    """Twelve learners with the losses above plus .0001 k for the k-th, and any others; the row K = 5, T = 128."""
    records = [("3", f"learner {k:02}", n, -1, loss + k) for k in range(12) for n, loss in LOSSES.items()]
    records += [("3", name, n, -1, loss) for name, curve in extra.items() for n, loss in curve]
    write_long(directory / "lcdb11.npz", records, se=np.full(len(records), se, dtype=np.uint16))
    return row("LCDB mean, K = 5, T = 128", directory)


def test_interpolation_in_log_n(tmp_path) -> None:
    """A pull is 16 samples. Pull 8 is 128 samples, half-way from 16 to 1024; pull 96 is 1536, .585 from 1024 to 2048."""
    arms = lcdb_mean(tmp_path, {}).make(20, 0)
    offset = np.rint((arms.losses[:, :, 0] - 0.8) * 1e4)
    assert set(offset.ravel()) == set(range(12))
    assert all(len(set(run)) == 5 for run in offset)
    for pull, loss in ((1, 0.8), (8, 0.5), (64, 0.2), (96, 0.2 - 0.1 * np.log2(1.5)), (128, 0.1)):
        np.testing.assert_allclose(arms.losses[:, :, pull - 1], loss + offset * 1e-4, atol=1e-12)


def test_before_the_first_record_a_curve_is_constant(tmp_path) -> None:
    records = [("3", f"learner {k}", n, -1, loss) for k in range(5) for n, loss in ((64, 5000.0), (2048, 1000.0))]
    write_long(tmp_path / "lcdb11.npz", records, se=np.zeros(len(records), dtype=np.uint16))
    arms = row("LCDB mean, K = 5, T = 128", tmp_path).make(1, 0)
    np.testing.assert_allclose(arms.losses[0, 0, :4], 0.5, atol=1e-12)
    np.testing.assert_allclose(arms.losses[0, 0, [4, 127]], [0.5 - 0.4 * np.log2(80 / 64) / 5, 0.1], atol=1e-12)


def test_gaps_short_curves_and_the_majority_vote_do_not_play(tmp_path) -> None:
    """Their losses are 0, which no other learner has; in 100 runs, each would be drawn but for (11/16)^100 = 6e-17."""
    extra = {
        "gap": [(16, 0.0), (2048, 0.0)],
        "late": [(1024, 0.0), (2048, 0.0)],
        "short": [(16, 0.0), (1024, 0.0)],
        "DummyClassifier": [(16, 0.0), (1024, 0.0), (2048, 0.0)],
    }
    assert lcdb_mean(tmp_path, extra).make(100, 0).losses.min() > 0.09


def test_missing_values_are_gaps(tmp_path) -> None:
    missing = {"missing": [(16, 0.0), (1024, 65535.0), (2048, 0.0)], "whole": [(16, 1.0), (1024, 1.0), (2048, 1.0)]}
    assert lcdb_mean(tmp_path, missing).make(100, 0).losses.min() == pytest.approx(1e-4)


def test_noise_of_five_standard_errors(tmp_path) -> None:
    """The deviations of 64,000 losses: mean 0, std 5 x .01 (false alarm 2e-6; seen from 2 % off), and independent."""
    arms = lcdb_mean(tmp_path, {}, se=100).make(100, 0)
    noise = (arms.seen - arms.losses) / 0.05
    limit = Z / np.sqrt(noise.size)
    assert abs(noise.mean()) < limit
    assert abs(noise.std() - 1) < limit / np.sqrt(2)
    for one, two in ((noise[:, 0], noise[:, 1]), (noise[:-1], noise[1:]), (noise[..., :-1], noise[..., 1:])):
        assert abs(np.mean(one * two)) < Z / np.sqrt(one.size)


def test_too_little_data_for_a_row(tmp_path) -> None:
    """Twelve learners are too few for twenty arms, and 2,048 samples too few for 256 pulls."""
    lcdb_mean(tmp_path, {})
    for name in ("LCDB mean, K = 20, T = 128", "LCDB mean, K = 5, T = 256"):
        refusal(lambda name=name: row(name, tmp_path).make(5, 0), f"data: has nothing for the row {name!r}")


def test_a_table_of_nothing_but_the_majority_vote(tmp_path) -> None:
    records = [("3", "DummyClassifier", n, -1, 5000.0) for n in LOSSES]
    write_long(tmp_path / "lcdb11.npz", records, se=np.zeros(3, dtype=np.uint16))
    refusal(lambda: row("LCDB mean, K = 5, T = 128", tmp_path).make(5, 0), "has nothing for the row")


def test_where_the_real_data_sets_end() -> None:
    """The rule for n_end is the one behind `crossing_dev.csv`, on all its data sets."""
    ends = {name: task.n[-1] for name, task in _lcdb_mean(real_data()).items()}
    with (real_data() / "crossing_dev.csv").open() as file:
        listed = {line["openml_id"]: float(line["nend"]) for line in csv.DictReader(file)}
    assert len(listed) == 177
    assert {name: ends[name] for name in listed} == listed


@pytest.mark.parametrize("group", ["LCDB mean", "LCDB split", "TaskSet", "LCBench surrogate"])
def test_halves_have_every_data_set_once(group) -> None:
    """And a row of a half plays its own data sets, no others."""
    tasks = {"LCDB mean": _lcdb_mean, "LCDB split": _lcdb_split, "TaskSet": _taskset, "LCBench surrogate": _lcbench}
    named = tasks[group](real_data())
    halves = [_half(lambda: named, half) for half in (0, 1)]
    assert abs(len(halves[0]) - len(halves[1])) <= 1
    assert sorted(map(id, (*halves[0], *halves[1]))) == sorted(map(id, named.values()))
    for half, own in enumerate(halves):
        played = next(row for row in curves(real_data(), half) if row.group == group)
        ends = {end for task in own for end in task.truth[..., -1].round(9).ravel().tolist()}
        assert set(played.make(50, 0).losses[..., -1].round(9).ravel().tolist()) <= ends


@pytest.mark.parametrize(("group", "expected"), [("LCDB mean", (98, 98, 95)), ("LCDB split", (96, 82, 15))])
def test_enough_real_data_sets(group, expected) -> None:
    """Data sets with at least 2,048 samples and K complete learners (in one split)."""
    tasks = {"LCDB mean": _lcdb_mean, "LCDB split": _lcdb_split}[group](real_data())
    large = [task for task in tasks.values() if task.n[-1] >= 2048]
    assert tuple(sum(task.most >= k for task in large) for k in (5, 10, 20)) == expected


# LCDB split: the loss of learner k in split j is .1 k + .01 j (+ .0001 at the start).


def test_a_split_is_shown_and_their_mean_is_true(tmp_path) -> None:
    """Six splits, of which the last ends early for learner 0: that pair never plays and is in no mean.

    A learner with four complete splits has too little to take for the truth and never plays at all.
    """
    records = [
        ("3", f"learner {k}", n, seed, 1000.0 * k + 100 * seed + (n == 16))
        for k in range(7)
        for seed in range(6)
        for n in (16, 1024, 2048)
        if not (n == 2048 and ((k, seed) == (0, 5) or (k == 6 and seed >= 4)))
    ]
    write_long(tmp_path / "lcdb10_per_seed.npz", records)
    arms = row("LCDB split, K = 5, T = 128", tmp_path).make(200, 0)
    learner = (arms.losses[:, :, -1] / 0.1).astype(int)
    np.testing.assert_allclose(arms.losses[:, :, -1], 0.1 * learner + np.where(learner == 0, 0.02, 0.025), atol=1e-12)
    np.testing.assert_allclose(arms.losses[:, :, 0] - arms.losses[:, :, -1], 1e-4, atol=1e-12)
    split = (arms.seen[:, :, -1] - 0.1 * learner) / 0.01
    np.testing.assert_allclose(split, np.broadcast_to(split[:, :1], split.shape), atol=1e-9)
    assert set(np.rint(split).ravel()) == set(range(6))
    assert set(learner.ravel()) == set(range(6))
    assert not (learner == 0)[np.rint(split) == 5].any()


def test_real_splits() -> None:
    """Every curve shown ends where a split ends, in steps of .0001; the truth is smoother, and about as high."""
    arms = row("LCDB split, K = 10, T = 256").make(100, 0)
    ends = arms.seen[:, :, -1]
    np.testing.assert_allclose(ends, ends.round(4), atol=1e-12)
    rough, smooth = (np.abs(np.diff(losses)).mean() for losses in (arms.seen, arms.losses))
    assert smooth < rough
    noise = arms.seen - arms.losses
    assert abs(noise.mean()) < 0.01 < noise.std() < 0.1
    assert np.mean(noise[..., 1:] * noise[..., :-1]) > 0.5 * noise.var()  # correlated along a curve


# The other tables


def test_diverged_runs_never_win(tmp_path) -> None:
    """NaN and anything above 5 count as 5; the rest is as recorded."""
    table = np.full((1, 3, 51), 0.7, dtype=np.float32)
    table[0, 1, 20:], table[0, 2, 5:], table[0, 2, 30] = np.nan, 1e6, 0.5
    np.savez(tmp_path / "taskset.npz", valid_loss=table)
    arms = row("TaskSet, K = 3, T = 51", tmp_path).make(4, 0)
    expected = np.minimum(np.where(np.isnan(table[0]), 5, table[0]).astype(np.float64), 5)
    for run in range(4):
        np.testing.assert_allclose(sorted(map(tuple, arms.losses[run])), sorted(map(tuple, expected)), atol=1e-12)
        assert arms.losses[run, arms.losses[run, :, -1].argmin(), -1] == pytest.approx(0.7)


def test_no_untrained_model_looks_diverged() -> None:
    with np.load(real_data() / "taskset.npz") as file:
        assert file["valid_loss"][:, :, 0].max() < 4.72 < _DIVERGED


@pytest.mark.parametrize(
    ("name", "file", "key", "shape"),
    [
        ("TaskSet, K = 3, T = 51", "taskset.npz", "valid_loss", (1, 9, 50)),
        ("LCBench surrogate, K = 3, T = 52", "lcbench_surrogate.npz", "val_error", (52, 9)),
        ("online, K = 4, T = 256", "online_fashion_mnist.npz", "loss", (12, 5, 255)),
    ],
)
def test_dense_tables_of_another_shape(tmp_path, name, file, key, shape) -> None:
    np.savez(tmp_path / file, **{key: np.zeros(shape), "test_loss": np.zeros((12, 5, 256))})
    refusal(lambda: row(name, tmp_path).make(5, 0), file, f"has shape {shape} in {key!r}")


def test_the_surrogate_is_replayed_as_it_is() -> None:
    with np.load(real_data() / "lcbench_surrogate.npz") as file:
        recorded = {curve.tobytes() for curve in file["val_error"].reshape(-1, 52).round(5)}
    arms = row("LCBench surrogate, K = 10, T = 52").make(20, 0)
    drawn = [curve.astype(np.float32).round(5).tobytes() for curve in arms.losses.reshape(-1, 52)]
    assert recorded.issuperset(drawn)
    assert len({run.tobytes() for run in arms.losses}) == 20


def test_online_learners_are_scored_by_their_own_test_error() -> None:
    """Shown and true losses are of the same learner and the same training run; the last batch shown is shown twice."""
    with np.load(real_data() / "online_fashion_mnist.npz") as file:
        shown, truth = file["loss"].astype(np.float64), file["test_loss"].astype(np.float64)
    arms = row("online, K = 12, T = 256").make(10, 0)
    drawn = set()
    for run in range(10):
        distance = np.abs(truth[:, None] - arms.losses[run][None, :, None]).max(axis=-1)  # learner, arm, seed
        learner, seed = np.array([np.argwhere(distance[:, arm] < 1e-9)[0] for arm in range(12)]).T
        assert sorted(learner) == list(range(12))
        assert len(set(seed)) == 1
        drawn.add(seed[0])
        np.testing.assert_allclose(arms.seen[run, :, :-1], shown[learner, seed, :-1], atol=1e-9)
        np.testing.assert_allclose(arms.seen[run, :, -1], shown[learner, seed, -2], atol=1e-9)
    assert len(drawn) > 1


def test_pythia_at_its_checkpoints() -> None:
    """A pull is 1,000 steps: pulls 1, 3, 13, ..., 143 are checkpoints. Between, the loss lies between."""
    table = load_long(real_data() / "pythia_0shot.npz").curves
    arms = row("Pythia, K = 16, T = 143").make(10, 0)
    pulls = np.array([1, 3, *range(13, 144, 10)])
    tasks = {}
    for name, learners in table.items():
        recorded = [curve.loss[np.isin(curve.n, 1000 * pulls)] for curve in learners.values()]
        tasks[name] = np.array(sorted(map(tuple, recorded)))
    seen = [
        {name for name, task in tasks.items() if np.allclose(sorted(map(tuple, run[:, pulls - 1])), task, atol=1e-9)}
        for run in arms.losses
    ]
    assert all(len(names) == 1 for names in seen)
    assert len(set.union(*seen)) > 1


def test_pythia_noise() -> None:
    """10 runs x 16 x 143 deviations, each in units of its standard error: std 1 (false alarm 1e-6; seen from 5 % off)."""
    (task, *_) = _pythia(real_data())
    assert task.std is not None
    draws = [task.draw(np.random.default_rng(k), 16, 143) for k in range(10)]
    quiet = Task(task.n, task.std, task.std, task.usable)
    scale = [quiet.draw(np.random.default_rng(k), 16, 143)[0] for k in range(10)]
    noise = np.array([(seen - true) / std for (true, seen), std in zip(draws, scale, strict=True)])
    assert abs(noise.std() - 1) < Z / np.sqrt(2 * noise.size)


@pytest.mark.parametrize(
    ("name", "prefixes", "tasks"),
    [
        ("neural scaling of image classifiers, K = 6, T = 100", ("IC",), 9),
        ("neural scaling of language models, K = 5, T = 100", ("LM", "NMT"), 2),
    ],
)
def test_neural_scaling_up_to_what_all_learners_reach(name, prefixes, tasks) -> None:
    """Every pull of every learner is its own record, interpolated in log n; each task with a choice is played once."""
    table = load_long(real_data() / "neural_scaling.npz").curves
    tables = list[np.ndarray]()
    for learners in (cells for task, cells in table.items() if task.partition(":")[0] in prefixes):
        end = min(curve.n.max() for curve in learners.values())
        at = np.log(np.arange(1, 101) * end / 100)
        tables.append(np.array([np.interp(at, np.log(curve.n), curve.loss) for curve in learners.values()]))
    assert len(tables) == tasks
    assert row(name).replicates == tasks
    played = list[int]()
    for run in row(name).make(tasks, 0).losses:  # in each column, the same losses in any order
        (which,) = (k for k, task in enumerate(tables) if np.allclose(np.sort(run, 0), np.sort(task, 0), atol=1e-9))
        played.append(which)
    assert sorted(played) == [*range(tasks)]


def test_short_curves_are_not_replayed(tmp_path) -> None:
    """Nine points are too few; a resource of 0 has no logarithm and is left out."""
    points = {f"learner {k}": range(12) for k in range(6)} | {"short": range(9), "zero": range(12)}
    records = [
        ("IC:x", name, (0 if name == "zero" and p == 0 else 2**p), 0, 100.0 if name == "short" else 5000.0 - p)
        for name, all_points in points.items()
        for p in all_points
    ]
    write_long(tmp_path / "neural_scaling.npz", records)
    (task,) = _neural_scaling(tmp_path, ("IC",))
    assert task.n.tolist() == [2**p for p in range(12)]
    assert (task.most, task.truth.min()) == (7, pytest.approx(0.4989))


def test_a_table_of_short_curves_has_nothing_to_play(tmp_path) -> None:
    write_long(
        tmp_path / "neural_scaling.npz", [("IC:x", f"learner {k}", 2**p, 0, 1.0) for k in range(6) for p in range(9)]
    )
    name = "neural scaling of image classifiers, K = 6, T = 100"
    refusal(lambda: row(name, tmp_path).make(5, 0), "has nothing for the row")

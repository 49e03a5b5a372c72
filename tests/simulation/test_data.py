"""The tables of learning curves: found, read, checked, and refused in one line when something is wrong with them."""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from restsure.errors import InvalidParameter, MissingExtra, WrongType
from restsure.simulation.suites import data
from restsure.simulation.suites.data import (
    ORIGINS,
    data_directory,
    load_arrays,
    load_lcdb10,
    load_lcdb_package,
    load_long,
)

LCDB_HEADER = "openmlid,learner,size_train,size_test,outer_seed,inner_seed,traintime,score_train,score_valid,score_test"


def real_data() -> Path:
    """The directory of the real tables; without it these tests fail, since nothing else shows that they are read right."""
    named = os.environ.get("RESTSURE_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data"
    assert Path(named).is_dir(), "set RESTSURE_DATA to the directory of the learning curves"
    return Path(named)


def write_long(path: Path, records: list[tuple[str, str, int, int, float]], **changes: Any) -> Path:
    """A table in long format of (data set, learner, n, seed, loss in units of 1e-4); ``changes`` replace whole arrays."""
    datasets, learners = (sorted({record[k] for record in records}) for k in (0, 1))
    arrays: dict[str, Any] = dict(
        dataset_names=np.array(datasets),
        learner_names=np.array(learners),
        dataset=np.array([datasets.index(record[0]) for record in records], dtype=np.uint16),
        learner=np.array([learners.index(record[1]) for record in records], dtype=np.uint16),
        n=np.array([record[2] for record in records], dtype=np.int32),
        seed=np.array([record[3] for record in records], dtype=np.int16),
        loss=np.array([record[4] for record in records], dtype=np.uint16),
        scale=np.float64(1e-4),
    )
    arrays.update(changes)
    np.savez(path, **{key: value for key, value in arrays.items() if value is not None})
    return path


RECORDS = [("7", "tree", 32, 0, 2000.0), ("7", "tree", 16, 0, 3000.0), ("7", "net", 16, 0, 4000.0)]


def refusal(call: Any, *words: str) -> None:
    """The call is refused, in one line that has all the words."""
    with pytest.raises(InvalidParameter) as caught:
        call()
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message


def test_the_directory_is_the_argument_else_the_environment(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("RESTSURE_DATA", str(tmp_path))
    assert data_directory(None) == tmp_path
    other = tmp_path / "other"
    other.mkdir()
    assert data_directory(other) == data_directory(str(other)) == other
    refusal(lambda: data_directory(tmp_path / "nowhere"), "nowhere", "must be a directory")
    with pytest.raises(WrongType, match="data=3: must be a path, not int"):
        data_directory(3)


@pytest.mark.parametrize("value", [None, ""])
def test_no_directory_says_how_to_name_one(value, monkeypatch) -> None:
    monkeypatch.delenv("RESTSURE_DATA", raising=False)
    if value is not None:
        monkeypatch.setenv("RESTSURE_DATA", value)
    refusal(
        lambda: data_directory(None),
        "--data DIR",
        "RESTSURE_DATA",
        "the PyPI package lcdb",
        *ORIGINS.keys() - {data.LCDB10},
    )


def test_every_file_has_an_origin_and_a_licence() -> None:
    for name, (origin, licence) in ORIGINS.items():
        assert (real_data() / name).is_file()
        assert origin
        assert licence
        assert "//" not in origin


def test_a_missing_file(tmp_path) -> None:
    refusal(lambda: load_long(tmp_path / "lcdb11.npz"), "lcdb11.npz: is missing", "LCDB-1.1", "CC BY 4.0")
    (tmp_path / "taskset.npz").mkdir()
    refusal(lambda: load_arrays(tmp_path / "taskset.npz", {}), "is missing", "TaskSet")


def test_a_damaged_file(tmp_path) -> None:
    """Cut short, overwritten, or something else altogether: one line each time, and no file left open."""
    path = write_long(tmp_path / "lcdb11.npz", RECORDS)
    whole = path.read_bytes()
    at = whole.index(b"loss.npy") + 30
    damaged = [
        b"",
        b"PK",
        b"no archive\n",
        whole[:-40],
        whole[: len(whole) // 2],
        whole[:at] + b"(((((" + whole[at + 5 :],
    ]
    header = whole.index(b"'shape': (")
    damaged.append(whole[:header] + whole[header:].replace(b"'shape': (", b"'shape': [", 1))
    damaged.append(whole.replace(b"PK\x01\x02", b"PK\x01\x03"))  # the list of contents
    for content in damaged:
        path.write_bytes(content)
        refusal(lambda: load_long(path), "lcdb11.npz: cannot be read (", "LCDB-1.1")
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    refusal(lambda: load_long(path), "not an .npz archive")


@pytest.mark.parametrize("key", ["dataset_names", "learner_names", "dataset", "learner", "n", "loss", "scale"])
def test_a_missing_array(tmp_path, key) -> None:
    path = write_long(tmp_path / "table.npz", RECORDS, **{key: None})
    refusal(lambda: load_long(path), f"table.npz: has no array {key!r}")


def test_optional_columns_that_are_needed_here(tmp_path) -> None:
    path = write_long(tmp_path / "table.npz", RECORDS, seed=None)
    assert load_long(path).curves["7"]["tree"].se is None
    assert load_long(path).curves["7"]["tree"].seed.tolist() == [0, 0]
    refusal(lambda: load_long(path, needs=("se",)), "has no array 'se'")
    refusal(lambda: load_long(path, needs=("seed",)), "has no array 'seed'")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (dict(loss=np.zeros(2, dtype=np.uint16)), "has shape (2,) in 'loss' where (row=3) is due"),
        (dict(n=np.ones((3, 1), dtype=np.int32)), "has shape (3, 1) in 'n'"),
        (dict(scale=np.ones(3)), "has shape (3,) in 'scale'"),
        (dict(scale=np.float64(0)), "has scale=0.0, which must be positive"),
        (dict(scale=np.float64(np.nan)), "has scale=nan"),
        (dict(loss=np.array(["a", "b", "c"])), "has <U1 in 'loss'"),
        (dict(n=np.ones(3)), "has float64 in 'n' where whole numbers are due"),
        (dict(dataset=np.array([0, 0, 1])), "has a code in 'dataset' that is no index into 'dataset_names'"),
        (dict(learner=np.array([0, -1, 1])), "has a code in 'learner' that is no index"),
        (dict(learner_names=np.arange(2)), "has int64 in 'learner_names'"),
        (dict(n=np.array([16, 16, 16])), "has two records of one data set, learner, seed and n"),
    ],
)
def test_arrays_that_do_not_fit(tmp_path, changes, words) -> None:
    path = write_long(tmp_path / "table.npz", RECORDS, **changes)
    refusal(lambda: load_long(path), words)


def test_fixed_lengths_and_equal_names(tmp_path) -> None:
    np.savez(tmp_path / "table.npz", a=np.zeros((2, 3)), b=np.zeros(4))
    assert load_arrays(tmp_path / "table.npz", {"a": ("x", 3)})["a"].shape == (2, 3)
    refusal(lambda: load_arrays(tmp_path / "table.npz", {"a": ("x", 4)}), "shape (2, 3) in 'a' where (x=2, 4) is due")
    refusal(
        lambda: load_arrays(tmp_path / "table.npz", {"a": ("x", "y"), "b": ("x",)}), "shape (4,) in 'b' where (x=2)"
    )


class Bomb:
    """Unpickling it leaves a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def test_pickled_objects_are_not_opened(tmp_path) -> None:
    mark = tmp_path / "went off"
    path = write_long(tmp_path / "table.npz", RECORDS, learner_names=np.array([Bomb(mark)] * 2, dtype=object))
    refusal(lambda: load_long(path), "cannot be read", "pickle")
    assert not mark.exists()


def test_rows_in_any_order_are_grouped_sorted_and_scaled(tmp_path) -> None:
    records = [
        (d, a, n, s, n + 10 * s) for d in ("7", "11") for a in ("tree", "net") for n in (16, 23, 32) for s in (0, 4)
    ]
    shuffled = [records[k] for k in np.random.default_rng(0).permutation(len(records))]
    table = load_long(write_long(tmp_path / "table.npz", shuffled)).curves
    assert {d: sorted(cells) for d, cells in table.items()} == {"11": ["net", "tree"], "7": ["net", "tree"]}
    curve = table["7"]["tree"]
    assert curve.seed.tolist() == [0, 0, 0, 4, 4, 4]
    assert curve.n.tolist() == [16, 23, 32] * 2
    assert curve.loss.dtype == np.float64
    np.testing.assert_array_equal(curve.loss, np.array([16, 23, 32, 56, 63, 72]) * 1e-4)


def test_missing_values_are_dropped(tmp_path) -> None:
    """65535 in uint16, NaN in floats; a loss without its standard error is of no use either."""
    losses, errors = np.array([2000, 65535, 4000], dtype=np.uint16), np.array([10, 10, 65535], dtype=np.uint16)
    table = load_long(write_long(tmp_path / "a.npz", RECORDS, loss=losses)).curves
    assert (table["7"]["tree"].n.tolist(), table["7"]["tree"].loss.tolist()) == ([32], [0.2])
    table = load_long(write_long(tmp_path / "b.npz", RECORDS, loss=losses, se=errors)).curves
    assert list(table["7"]) == ["tree"]
    assert table["7"]["tree"].se.tolist() == [0.001]
    floats = np.array([np.nan, 65535.0, np.inf], dtype=np.float32)
    table = load_long(write_long(tmp_path / "c.npz", RECORDS, loss=floats, scale=np.float64(1))).curves
    assert table["7"]["tree"].loss.tolist() == [65535.0]
    assert "net" not in table["7"]
    nothing = np.full(3, 65535, dtype=np.uint16)
    assert load_long(write_long(tmp_path / "d.npz", RECORDS, loss=nothing)).curves == {}


@pytest.mark.parametrize(
    ("name", "datasets", "cells", "rows"),
    [
        ("lcdb11.npz", 188, 5117, 320_035),
        ("lcdb10_per_seed.npz", 175, 3082, 1_415_339),
        ("neural_scaling.npz", 17, 70, 13_460),
        ("pythia_0shot.npz", 5, 80, 2_160),
    ],
)
def test_the_real_tables(name, datasets, cells, rows) -> None:
    """Nothing is lost, and any cell is what a plain look into the file finds."""
    table = load_long(real_data() / name).curves
    curves = [curve for learners in table.values() for curve in learners.values()]
    assert (len(table), len(curves), sum(len(curve.n) for curve in curves)) == (datasets, cells, rows)
    with np.load(real_data() / name) as file:
        raw, rng = dict(file), np.random.default_rng(0)
    columns = {key: raw[key] for key in ("dataset", "learner", "n", "seed", "loss")}
    for row in rng.integers(rows, size=20):
        cell = (columns["dataset"] == columns["dataset"][row]) & (columns["learner"] == columns["learner"][row])
        dataset, learner = (str(raw[f"{key}_names"][columns[key][row]]) for key in ("dataset", "learner"))
        curve = table[dataset][learner]
        assert len(curve.n) == cell.sum()
        place = (curve.n == columns["n"][row]) & (curve.seed == columns["seed"][row])
        np.testing.assert_array_equal(curve.loss[place], [columns["loss"][row] * raw["scale"]])


def lcdb_package(folder: Path, lines: list[str], header: str = LCDB_HEADER) -> None:
    """A package laid out like lcdb 0.1.0, which cannot be imported without what it does not declare."""
    package = folder / "lcdb"
    package.mkdir()
    (package / "__init__.py").write_text("import a_package_that_nobody_has\n")
    (package / "database-accuracy.csv").write_text("\n".join([header, *lines]) + "\n")
    (folder / "datasets.csv").write_text("openml_id,name\n3,kr-vs-kp\n11,balance-scale\n")


LCDB_LINES = [
    "44,SVC_linear,16,461,0,0,0.0024,0.875,0.7440000000000001,0.7072",
    "11,SVC_linear,23,461,1,2,0.0024,0.875,0.7440000000000001,0.7072",
    "11,SVC_linear,16,461,1,2,0.0024,0.875,0.25,0.7072",
    "3,sklearn.tree.ExtraTreeClassifier,16,461,4,4,0.0024,0.875,0.9,0.7072",
    "3,sklearn.naive_bayes.BernoulliNB,16,461,0,0,0.0024,0.875,1.0,0.7072",
    "3,SVC_linear,16,461,0,0,0.0024,0.875,0.0,0.7072",
    "3,SVC_linear,23,461,0,0,0.0024,0.875,nan,0.7072",
]


@pytest.mark.parametrize("lines", [1, 2, 7, 200_000])
def test_the_package_gives_the_same_table(tmp_path, monkeypatch, lines) -> None:
    """It is read without being imported, and the size of the parts it is read in does not matter."""
    lcdb_package(tmp_path, LCDB_LINES)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(data, "_LINES", lines)
    table = load_lcdb10(tmp_path).curves
    assert "lcdb" not in sys.modules
    assert [(d, list(cells)) for d, cells in table.items()] == [
        ("3", ["BernoulliNB", "ExtraTreeClassifier", "SVC_linear"]),
        ("11", ["SVC_linear"]),
    ]
    records = [
        ("3", "BernoulliNB", 16, 0, 0.0),
        ("3", "ExtraTreeClassifier", 16, 104, 1000.0),
        ("3", "SVC_linear", 16, 0, 10000.0),
        ("11", "SVC_linear", 16, 27, 7500.0),
        ("11", "SVC_linear", 23, 27, 2560.0),
    ]
    same = load_long(write_long(tmp_path / "same.npz", records)).curves
    for dataset, cells in same.items():
        for learner, curve in cells.items():
            for key in ("n", "seed", "loss"):
                np.testing.assert_array_equal(getattr(table[dataset][learner], key), getattr(curve, key))


def test_the_table_is_preferred_to_the_package(tmp_path, monkeypatch) -> None:
    lcdb_package(tmp_path, LCDB_LINES)
    monkeypatch.syspath_prepend(tmp_path)
    write_long(tmp_path / data.LCDB10, RECORDS)
    assert list(load_lcdb10(tmp_path).curves) == ["7"]


def test_neither_table_nor_package(tmp_path, monkeypatch) -> None:
    """A folder of that name without the file is no package either."""
    (tmp_path / "lcdb").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    for found in (data.importlib.util.find_spec, lambda name: None):
        monkeypatch.setattr(data.importlib.util, "find_spec", found)
        with pytest.raises(MissingExtra, match="lcdb10_per_seed.npz.*pip install lcdb") as caught:
            load_lcdb10(tmp_path)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("lines", "header"),
    [
        (["3,tree,16"], LCDB_HEADER),
        (["3,tree,many,1,0,0,1,1,1,1"], LCDB_HEADER),
        (LCDB_LINES, "id,learner"),
        ([""], ""),
    ],
)
def test_another_package_of_that_name(tmp_path, monkeypatch, lines, header) -> None:
    lcdb_package(tmp_path, lines, header)
    monkeypatch.syspath_prepend(tmp_path)
    refusal(lambda: load_lcdb10(tmp_path), "database-accuracy.csv: is not the table of the PyPI package lcdb 0.1.0")


def test_the_list_of_data_sets(tmp_path, monkeypatch) -> None:
    lcdb_package(tmp_path, LCDB_LINES)
    monkeypatch.syspath_prepend(tmp_path)
    refusal(lambda: load_lcdb_package(tmp_path / "no" / "datasets.csv"), "datasets.csv: is missing", "LCDB-1.1")
    for content in ("id\n3\n", "openml_id\nthree\n", "name,openml_id\nshort\n"):
        (tmp_path / "datasets.csv").write_text(content)
        refusal(lambda: load_lcdb_package(tmp_path / "datasets.csv"), "has no column of whole numbers 'openml_id'")
    (tmp_path / "datasets.csv").write_text("openml_id\n")
    assert load_lcdb_package(tmp_path / "datasets.csv").curves == {}

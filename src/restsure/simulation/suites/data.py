"""Recorded learning curves on disk: where they are, where they come from, and how they are read.

No table is shipped with this package. A directory of `.npz` files is named by the user; a file that is not there, or is not
what it should be, is named in one line together with its origin.
"""

import csv
import importlib.util
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from restsure.errors import InvalidParameter, MissingExtra, WrongType

LCDB10: Final = "lcdb10_per_seed.npz"

ORIGINS: Final[Mapping[str, tuple[str, str]]] = {
    "lcdb11.npz": ("github learning-curve-research/LCDB-1.1", "CC BY 4.0"),
    LCDB10: ("PyPI package lcdb 0.1.0", "MIT"),
    "neural_scaling.npz": ("github google-research/google-research, revisiting_neural_scaling_laws", "CC BY 4.0"),
    "pythia_0shot.npz": ("github EleutherAI/pythia, evals/pythia-v1", "Apache-2.0"),
    "taskset.npz": ("TaskSet, as in github machinelearningnuremberg/DPL", "Apache-2.0"),
    "lcbench_surrogate.npz": ("YAHPO's model of LCBench, github slds-lmu/yahpo_data", "Apache-2.0"),
    "online_fashion_mnist.npz": ("scikit-learn partial_fit on Debian's dataset-fashion-mnist, 14 x 14 pixels", "MIT"),
    "imdb_online.npz": ("github MontenegroAlessandro/BestArmIdSRB, environment/imdb", "MIT"),
    "datasets.csv": ("metadata of github learning-curve-research/LCDB-1.1", "CC BY 4.0"),
}
"""Origin and licence of each file."""

_MISSING = 65535  # what a table of uint16 has where no loss was recorded
_LINES = 200_000  # of the CSV of LCDB 1.0 parsed together: a tenth of it, some 30 MB


def data_directory(given: Path | str | None) -> Path:
    """The directory of the tables: ``given``, else the environment variable RESTSURE_DATA."""
    if given is not None and not isinstance(given, (str, Path)):
        raise WrongType(f"data={given!r}: must be a path, not {type(given).__name__}")
    named = given or os.environ.get("RESTSURE_DATA")
    if not named:
        files = ", ".join(f"{name} from {origin}" for name, (origin, _) in ORIGINS.items() if name != LCDB10)
        raise InvalidParameter(
            "data: name the directory of the learning curves with --data DIR or the environment variable RESTSURE_DATA "
            f"(LCDB 1.0 is the PyPI package lcdb; {files})"
        )
    directory = Path(named).expanduser().absolute()
    if not directory.is_dir():
        raise InvalidParameter(f"data={str(named)!r}: must be a directory (--data DIR or RESTSURE_DATA)")
    return directory


def load_arrays(
    path: Path, axes: Mapping[str, tuple[str | int, ...]], *, optional: tuple[str, ...] = ()
) -> dict[str, NDArray[Any]]:
    """The arrays of an `.npz` named in ``axes``, which gives each its axes: an int is a length, equal words equal lengths.

    Keys that end in "_names" hold text, all others numbers. Pickled objects are refused, since unpickling runs code.
    """
    if not path.is_file():
        raise _complaint(path, "is missing")
    try:
        if not zipfile.is_zipfile(path):
            raise ValueError("not an .npz archive")
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays = {key: np.asarray(file[key]) for key in axes if key in file.files}
    except Exception as error:  # a damaged archive can bring up anything in zipfile, zlib and the parser of its headers
        raise _complaint(path, f"cannot be read ({' '.join(str(error).split()) or type(error).__name__})") from None
    if absent := [key for key in axes if key not in arrays and key not in optional]:
        raise _complaint(path, f"has no array {absent[0]!r}")
    lengths = dict[str, int]()
    for key, array in arrays.items():
        if array.dtype.kind not in ("U" if key.endswith("_names") else "iuf"):
            raise _complaint(path, f"has {array.dtype} in {key!r}")
        named = [
            lengths.setdefault(a, n) if isinstance(a, str) else a for a, n in zip(axes[key], array.shape, strict=False)
        ]
        if len(axes[key]) != array.ndim or tuple(named) != array.shape:
            wanted = ", ".join(f"{a}={lengths[a]}" if a in lengths else str(a) for a in map(str, axes[key]))
            raise _complaint(path, f"has shape {array.shape} in {key!r} where ({wanted}) is due")
    return arrays


def _complaint(path: Path, what: str) -> InvalidParameter:
    origin, licence = ORIGINS.get(path.name, ("an unknown origin", "licence unknown"))
    return InvalidParameter(f"{path}: {what}; its contents come from {origin} ({licence})")


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """What was recorded of one learner on one data set, sorted by split (``seed``), then by resource ``n``.

    ``se`` is the standard error of ``loss``, or None where none was recorded. A mean over splits has a single seed.
    """

    n: NDArray[np.int64]
    loss: NDArray[np.float64]
    se: NDArray[np.float64] | None
    seed: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class LongTable:
    """Curves by data set, then by learner; pairs without a record are not there."""

    curves: Mapping[str, Mapping[str, Curve]]


def load_long(path: Path, *, needs: tuple[str, ...] = ()) -> LongTable:
    """A table in long format (a row a record); rows whose loss or standard error is missing are dropped.

    ``needs`` names the columns, of the optional "se" and "seed", that the table must have here.
    """
    row = ("row",)
    axes: dict[str, tuple[str | int, ...]] = {
        **dict(dataset=row, learner=row, n=row, loss=row, se=row, seed=row),
        **dict(scale=(), dataset_names=("dataset name",), learner_names=("learner name",)),
    }
    raw = load_arrays(path, axes, optional=tuple({"se", "seed"} - {*needs}))
    for key, names in (("dataset", "dataset_names"), ("learner", "learner_names"), ("n", None), ("seed", None)):
        if key in raw and raw[key].dtype.kind not in "iu":
            raise _complaint(path, f"has {raw[key].dtype} in {key!r} where whole numbers are due")
        if names and raw[key].size and not (raw[key].min() >= 0 and raw[key].max() < len(raw[names])):
            raise _complaint(path, f"has a code in {key!r} that is no index into {names!r}")
    scale = float(raw["scale"])
    if not (np.isfinite(scale) and scale > 0):
        raise _complaint(path, f"has scale={scale}, which must be positive")
    loss = _scaled(raw["loss"], scale)
    se = _scaled(raw["se"], scale) if "se" in raw else None
    kept = np.isfinite(loss) if se is None else np.isfinite(loss) & np.isfinite(se)
    seed = raw.get("seed", np.zeros(len(loss), dtype=np.int64))
    try:
        return _grouped(
            raw["dataset_names"].tolist(),
            raw["learner_names"].tolist(),
            *(raw[key][kept].astype(np.int64) for key in ("dataset", "learner", "n")),
            seed=seed[kept].astype(np.int64),
            loss=loss[kept],
            se=None if se is None else se[kept],
        )
    except ValueError as error:
        raise _complaint(path, str(error)) from None


def _scaled(values: NDArray[Any], scale: float) -> NDArray[np.float64]:
    """True values, with NaN for what is missing."""
    true = values.astype(np.float64) * scale
    if values.dtype == np.uint16:
        true[values == _MISSING] = np.nan
    return true


def _grouped(
    datasets: list[str],
    learners: list[str],
    dataset: NDArray[np.int64],
    learner: NDArray[np.int64],
    n: NDArray[np.int64],
    *,
    seed: NDArray[np.int64],
    loss: NDArray[np.float64],
    se: NDArray[np.float64] | None,
) -> LongTable:
    """Sort all rows once and cut them where the learner changes."""
    order = np.lexsort((n, seed, learner, dataset))
    dataset, learner, n, seed = (column[order] for column in (dataset, learner, n, seed))
    loss, se = loss[order], None if se is None else se[order]
    new_cell = (np.diff(dataset) != 0) | (np.diff(learner) != 0)
    if not (new_cell | (np.diff(seed) != 0) | (np.diff(n) != 0)).all():
        raise ValueError("has two records of one data set, learner, seed and n")
    edges = [0, *(np.flatnonzero(new_cell) + 1).tolist(), len(n)] if len(n) else [0]
    curves = dict[str, dict[str, Curve]]()
    for first, last in pairwise(edges):
        curve = Curve(n[first:last], loss[first:last], None if se is None else se[first:last], seed[first:last])
        curves.setdefault(datasets[dataset[first]], {})[learners[learner[first]]] = curve
    return LongTable(curves)


def load_lcdb10(directory: Path) -> LongTable:
    """LCDB 1.0, a curve a split: from its table in the directory, else from the PyPI package."""
    path = directory / LCDB10
    return load_long(path, needs=("seed",)) if path.is_file() else load_lcdb_package(directory / "datasets.csv")


def load_lcdb_package(datasets_csv: Path) -> LongTable:
    """The same table from the PyPI package `lcdb`, restricted to the OpenML ids listed in ``datasets_csv``.

    The package is found, not imported: importing it needs pandas, openml and func_timeout, which it does not even declare,
    while all that is read here is one CSV file in its folder (2 million lines, of which accuracies have four decimals).
    """
    spec = importlib.util.find_spec("lcdb")
    folders = [] if spec is None else list(spec.submodule_search_locations or [])
    found = [path for folder in folders if (path := Path(folder) / "database-accuracy.csv").is_file()]
    if not found:
        raise MissingExtra(
            f"LCDB 1.0 needs {LCDB10} in the data directory or the PyPI package lcdb: pip install lcdb "
            "(with --no-deps if you like: only its CSV is read)"
        )
    return _read_lcdb(found[0], _openml_ids(datasets_csv))


def _openml_ids(path: Path) -> NDArray[np.int64]:
    if not path.is_file():
        raise _complaint(path, "is missing")
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return np.unique(np.array([int(row["openml_id"]) for row in csv.DictReader(file)], dtype=np.int64))
    except (OSError, ValueError, KeyError, TypeError, csv.Error) as error:
        raise _complaint(path, f"has no column of whole numbers 'openml_id' ({error})") from None


def _read_lcdb(path: Path, ids: NDArray[np.int64]) -> LongTable:
    """Parse the CSV a part at a time and keep the rows of the data sets wanted."""
    text = dict(openmlid="i8", learner="S64", size_train="i8", outer_seed="i8", inner_seed="i8", score_valid="f8")
    kept = [np.empty(0, dtype=list({**text, "learner": "i8"}.items()))]  # S64 would be half a gigabyte of names
    codes = dict[bytes, int]()
    try:
        with path.open(encoding="utf-8") as file:
            header = file.readline().strip().split(",")
            columns = [header.index(name) for name in text]
            while lines := list(islice(file, _LINES)):
                part = np.loadtxt(lines, np.dtype(list(text.items())), delimiter=",", usecols=columns, ndmin=1)
                part = part[np.isin(part["openmlid"], ids) & np.isfinite(part["score_valid"])]
                kept.append(np.empty(len(part), dtype=kept[0].dtype))
                for name in text.keys() - {"learner"}:
                    kept[-1][name] = part[name]
                kept[-1]["learner"] = [codes.setdefault(name, len(codes)) for name in part["learner"].tolist()]
        rows = np.concatenate(kept)
        learners, code = np.unique([name.decode().rpartition(".")[2] for name in codes] or [""], return_inverse=True)
        datasets, dataset = np.unique(rows["openmlid"], return_inverse=True)
        return _grouped(
            [str(number) for number in datasets],
            learners.tolist(),
            dataset.astype(np.int64),
            code[rows["learner"]].astype(np.int64),
            rows["size_train"],
            seed=rows["outer_seed"] * 25 + rows["inner_seed"],
            loss=np.rint((1 - rows["score_valid"]) * 1e4) * 1e-4,  # exactly the numbers of the table
            se=None,
        )
    except (OSError, ValueError) as error:
        raise InvalidParameter(f"{path}: is not the table of the PyPI package lcdb 0.1.0 ({error})") from None

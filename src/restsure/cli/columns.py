"""Data in a .csv: a line of names, then numbers, and one column of targets, which may be text. An empty cell is NaN."""

import csv
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from restsure.errors import InvalidParameter


def read_columns(name: str, path: Path, target: Any) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Features and targets; ``name`` is what the table is called in errors, which say where in the file they are."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file)
        lines = [(reader.line_num, row) for row in reader if row]
    if not lines:
        raise InvalidParameter(f"{name}.file={str(path)!r}: must begin with a line of column names, but is empty")
    columns = [column.strip() for column in lines[0][1]]
    if columns.count(target) != 1:
        raise InvalidParameter(f"{name}.target={target!r}: must be one of the columns {', '.join(columns)}")
    at = columns.index(target)
    features = list[list[float]]()
    for line, row in lines[1:]:
        where = f"{name}.file={str(path)!r}, line {line}"
        if len(row) != len(columns):
            raise InvalidParameter(f"{where}: must have {len(columns)} columns, but has {len(row)}")
        if not row[at].strip():
            raise InvalidParameter(f"{where}: {target} must not be empty")
        features.append([_number(row[k], where, column) for k, column in enumerate(columns) if k != at])
    x = np.array(features, dtype=np.float64).reshape(len(features), len(columns) - 1)
    return x, _plain([row[at] for _, row in lines[1:]])


def _number(cell: str, where: str, column: str) -> float:
    try:
        return float(cell) if cell.strip() else math.nan
    except ValueError:
        raise InvalidParameter(f"{where}: {column} must be a number, but is {cell!r}") from None


def _plain(targets: list[str]) -> NDArray[Any]:
    """Whole numbers if all of them are, else numbers if all of them are, else text."""
    for kind in (np.int64, np.float64):
        try:
            return np.array([cell.strip() for cell in targets]).astype(kind)
        except (ValueError, OverflowError):
            continue
    return np.array(targets)

"""Tables of numbers in a .csv, as spreadsheets and other programs write them."""

from pathlib import Path

import numpy as np
import pytest

import restsure as rs
from restsure.cli.columns import read_columns


def read(folder: Path, text: str, target: str = "y", encoding: str = "utf-8") -> tuple[np.ndarray, np.ndarray]:
    (folder / "data.csv").write_text(text, encoding=encoding)
    return read_columns("data", folder / "data.csv", target)


@pytest.mark.parametrize(
    "text",
    [
        "a,y,b (cm)\n1,no,2.5\n3,yes,-4e1\n",
        '"a","y","b (cm)"\r\n"1","no","2.5"\r\n"3","yes","-4e1"\r\n',
        "a, y, b (cm)\n\n1,no, 2.5\n3,yes,-4e1",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_quotes_blank_lines_and_marks_of_other_programs(tmp_path: Path, text: str, encoding: str) -> None:
    x, y = read(tmp_path, text, encoding=encoding)
    assert x.tolist() == [[1.0, 2.5], [3.0, -40.0]]
    assert y.tolist() == ["no", "yes"]
    assert read(tmp_path, text.replace("no", "1").replace("yes", "2"), target="b (cm)")[1].tolist() == [2.5, -40.0]


def test_whole_numbers_are_labels_and_others_are_not(tmp_path: Path) -> None:
    assert read(tmp_path, "a,y\n1,3\n1, 4\n")[1].dtype == np.int64
    assert read(tmp_path, "a,y\n1,3\n1,4.5\n")[1].dtype == np.float64
    assert read(tmp_path, "a,y\n1,3\n1,99999999999999999999\n")[1].dtype == np.float64
    assert read(tmp_path, "y\n1\n")[0].shape == (1, 0)
    assert read(tmp_path, "a,y\n")[0].shape == (0, 1)


def test_an_empty_cell_is_a_gap(tmp_path: Path) -> None:
    x, y = read(tmp_path, "a,y,b\n1,2,\n ,3,nan\n")
    np.testing.assert_equal(x, [[1.0, np.nan], [np.nan, np.nan]])
    assert y.tolist() == [2, 3]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "must begin with a line of column names, but is empty"),
        ("a,b\n1,2\n", "data.target='y': must be one of the columns a, b"),
        ("y,y\n1,2\n", "data.target='y': must be one of the columns y, y"),
        ("a,y\n1,2\n1\n", "line 3: must have 2 columns, but has 1"),
        ("a,y\n1,2\n1,2,3\n", "line 3: must have 2 columns, but has 3"),
        ("a,y\n1,2\n\n1,\n", "line 4: y must not be empty"),
        ("a,y\nred,2\n", "line 2: a must be a number, but is 'red'"),
    ],
)
def test_errors_say_where(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(rs.InvalidParameter, match=r"^data\.") as raised:
        read(tmp_path, text)
    assert complaint in str(raised.value)

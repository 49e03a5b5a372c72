"""States by content hash, and the one way from a name to a path."""

import os
from pathlib import Path

import pytest

from restsure.errors import DamagedRun, InvalidParameter
from restsure.journal import Files, State, States, inside


def write(directory: Path) -> None:
    (directory / "a.json").write_text("{}")
    (directory / "part").mkdir()
    (directory / "part" / "b.npy").write_bytes(b"\0" * 3_000_000)


def test_a_state_is_found_by_its_hash(tmp_path: Path) -> None:
    states = States(tmp_path, Files())
    state = states.save(write)
    assert State.from_dict(state.to_dict()) == state
    assert state.size == 3_000_002
    assert states.save(write) == state  # the same content again is the same state
    path = states.find(state)
    assert path.name == state.digest
    assert sorted(os.listdir(tmp_path / "checkpoints")) == [state.digest]
    states.keep_only([])
    with pytest.raises(DamagedRun, match="is missing"):
        states.find(state)


@pytest.mark.parametrize("harm", ["flip", "cut", "grow", "remove", "add", "link", "swap", "pipe", "folder link"])
def test_whatever_was_changed_is_named(tmp_path: Path, harm: str) -> None:
    states = States(tmp_path, Files())
    state = states.save(write)
    path = states.find(state)
    target = path / "part" / "b.npy"
    if harm == "flip":
        target.write_bytes(b"\0" * 2_999_999 + b"\1")
    elif harm == "cut":
        target.write_bytes(b"\0" * 2_999_999)
    elif harm == "grow":
        with target.open("ab") as file:
            file.truncate(10**11)  # a file of 100 GB, of which nothing is read
    elif harm == "remove":
        target.unlink()
    elif harm == "add":
        (path / "c.pickle").write_bytes(b"\x80\x04.")
    elif harm == "link":
        target.rename(tmp_path / "elsewhere")
        target.symlink_to(tmp_path / "elsewhere")
    elif harm == "swap":
        target.write_text("{}")
        (path / "a.json").write_bytes(b"\0" * 3_000_000)
    elif harm == "pipe":
        target.unlink()
        os.mkfifo(target)
    else:
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises((DamagedRun, InvalidParameter)):
        states.find(state)


@pytest.mark.parametrize(
    "entries",
    [
        {},
        {"hash": "x", "files": {}},
        {"hash": "../../etc", "files": {"passwd": [1, "x"]}},
        {"hash": None, "files": None},
        {"hash": 3, "files": [["a", 1]]},
        {"hash": "", "files": {"a": ["many", "x"]}},
        {"hash": "", "files": {"a": [1]}},
    ],
)
def test_a_description_that_is_none_is_refused(entries: dict[str, object]) -> None:
    with pytest.raises(DamagedRun, match="is not described as it must be"):
        State.from_dict(entries)


BAD_NAMES = [
    *("", ".", "..", "...", "/", "//", "/etc/passwd", "a/b", "../a", "a/../b", "./a", "~", "~root", "-rf", "--help"),
    *(
        "\\",
        "a\\b",
        "C:",
        "C:\\x",
        "c:/x",
        "\\\\host\\share",
        "file://x",
        "a:b",
        "a*",
        "a?",
        "a|b",
        "a<b",
        "a>b",
        'a"b',
    ),
    *(
        "\0",
        "a\0b",
        "a\n",
        "\na",
        "a\rb",
        "a\tb",
        " a",
        "a b",
        "a ",
        "\x1b[31m",
        "\x7f",
        "a\u202eb",
        "\u2215",
        "\uff0e\uff0e",
    ),
    *(
        "\u2024\u2024",
        "ä",
        "名",
        "😀",
        "\ud800",
        "con",
        "CON",
        "nul",
        "NUL.txt",
        "aux.json",
        "com1",
        "LPT9",
        "prn",
        "a.",
    ),
    *(
        "x" * 256,
        "x" * 10_000,
        "%2e%2e",
        "%00",
        "$HOME",
        "${x}",
        "`id`",
        "$(id)",
        ";ls",
        "a;b",
        "a&b",
        "a'b",
        "#a",
        "a,b",
    ),
    *(".hidden", ".git", "..a", "(a)", "[a]", "{a}", "!a", "a!"),
]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_names_that_could_lead_elsewhere_are_refused(tmp_path: Path, name: str) -> None:
    assert len(set(BAD_NAMES)) >= 60
    with pytest.raises(InvalidParameter, match="must begin with a letter, a digit or _"):
        inside(tmp_path, name)
    with pytest.raises(InvalidParameter, match="must begin with"):
        inside(tmp_path, "checkpoints", name)


@pytest.mark.parametrize("name", [None, 3, b"a", ["a"], Path("a")])
def test_names_are_text(tmp_path: Path, name: object) -> None:
    with pytest.raises(InvalidParameter):
        inside(tmp_path, name)  # type: ignore[arg-type]


def test_plain_names_lead_inside(tmp_path: Path) -> None:
    for name in ("a", "model.skops", "_x", "0" * 64, "a-b+c=d@e.f", "x" * 255):
        assert inside(tmp_path, "checkpoints", name).parent == tmp_path / "checkpoints"
    (tmp_path / "out").symlink_to("/")
    with pytest.raises(InvalidParameter, match="be no link"):
        inside(tmp_path, "out", "etc")


def test_a_learner_that_saves_a_link_or_an_odd_name_is_refused(tmp_path: Path) -> None:
    states = States(tmp_path, Files())
    for make in (
        lambda d: (d / "x").symlink_to("/etc/passwd"),
        lambda d: (d / "a b").touch(),
        lambda d: os.mkfifo(d / "p"),
    ):
        with pytest.raises((InvalidParameter, DamagedRun)):
            states.save(make)

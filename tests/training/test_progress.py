"""The live table: in a terminal only, and gone at the end."""

import io

from rich.console import Console

import restsure as rs
from restsure.training.progress import progress_table, show_progress
from restsure.training.session import Moment


def test_draws_in_a_terminal_and_nowhere_else() -> None:
    for terminal in (True, False):
        console = Console(file=io.StringIO(), force_terminal=terminal, width=100)
        rs.select(
            {"slow": lambda: 0.3, "[bold]": lambda: 0.4}, budget=40, progress=False, callbacks=[show_progress(console)]
        )
        text = console.file.getvalue()  # type: ignore[attr-defined]
        assert ("slow" in text) == ("[bold]" in text) == terminal
        if not terminal:
            assert text == ""


def test_the_table_says_who_stands_where() -> None:
    moments = list[Moment]()

    def broken() -> float:
        raise ValueError

    rs.select({"a": lambda: 0.3, "b": lambda: 0.4, "c": broken}, budget=40, progress=False, callbacks=[moments.append])
    console = Console(file=io.StringIO(), width=100)
    console.print(progress_table(moments[-3], seconds=10.0))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "training steps, about" in text
    assert "failed" in text
    assert "training" in text
    assert "0.3000" in text

"""``restsure report`` writes one self-contained file about a run."""

from pathlib import Path
from typing import Annotated

import typer

from restsure.cli.show import Directory
from restsure.errors import InvalidParameter
from restsure.report import save_report
from restsure.training import read_run


def report(
    directory: Directory,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write it.")] = Path("report.html"),
) -> None:
    """Write a page about a run, while it goes on or after: one file, which needs no network."""
    if output.is_dir() or not output.parent.is_dir():
        raise InvalidParameter(f"output={str(output)!r}: must be a file in a directory that is there")
    typer.echo(save_report(output, read_run(directory)))

"""``restsure dashboard`` shows runs as they happen."""

from pathlib import Path
from typing import Annotated

import typer


def dashboard(
    directory: Annotated[Path, typer.Argument(metavar="dir", help="Where a run is recorded, or a folder of such.")],
    host: Annotated[
        str, typer.Option(help="Where to listen; others than this machine can reach some addresses.")
    ] = "127.0.0.1",
    port: Annotated[int | None, typer.Option(help="8642, or if that is taken another, unless given.")] = None,
    allow_host: Annotated[list[str] | None, typer.Option(help="A further name under which the page is opened.")] = None,
    new_token: Annotated[
        bool, typer.Option("--new-token", help="Make a new token: pages that are open are shut out.")
    ] = False,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open a browser.")] = False,
) -> None:
    """Show a run, or a folder of runs, live in a browser: read-only, on this machine, with a token."""
    from restsure.report.dashboard.access import own_token
    from restsure.report.dashboard.server import open_page, serve

    def ready(address: str) -> None:
        typer.echo(f"{directory} is shown at {address}\nCtrl-C ends this; runs go on.")
        if not no_open:
            open_page(address)

    serve(directory, host=host, port=port, token=own_token(new=new_token), allow_hosts=allow_host or (), ready=ready)

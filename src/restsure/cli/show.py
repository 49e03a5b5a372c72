"""``restsure show`` tells what a run directory says, ``restsure verify`` what is wrong with it."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from restsure.problem import amount
from restsure.training import History, findings, read_run, saved_types

Directory = Annotated[Path, typer.Argument(metavar="dir", help="Where a run is recorded.")]


def show(
    directory: Directory,
    csv: Annotated[Path | None, typer.Option(help="Write every block of training there, as a table.")] = None,
    types: Annotated[bool, typer.Option("--types", help="Tell which types the saved models are made of.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Tell how a run stands, while it goes on or after."""
    run = read_run(directory)
    told = run.to_dict() | ({"types": saved_types(directory)} if types else {})
    if csv is not None:
        History(run.progress.history).to_csv(csv)
    if as_json:
        typer.echo(json.dumps(told))
        return
    if "name" not in told:
        typer.echo(f"{run.state}: no losses yet")
        return
    if run.state != "over":
        typer.echo(
            f"{run.state}: as things stand" + ("" if run.state == "running" else f" (restsure resume {directory})")
        )
    tell_result(told, as_json=False)
    kept = told["checkpoints"]
    for name, named in told.get("types", {}).items():
        typer.echo(f"\n{name} is saved as {', '.join(named) or 'no model'}")
    typer.echo(f"\n{told['records']:,} records; {kept['count']} saved states, {kept['bytes']:,} bytes")


def verify(directory: Directory) -> None:
    """Check a run directory: its journal, its saved states, and that its game can be played again."""
    found = findings(directory)
    for line in found:
        typer.echo(line)
    if found:
        raise typer.Exit(1)
    typer.echo(f"{directory}: nothing is wrong")


def tell_result(outcome: dict[str, Any], as_json: bool) -> None:
    """An outcome as JSON, or as a table and text."""
    if as_json:
        typer.echo(json.dumps(outcome))
        return
    console = Console(highlight=False)
    console.print(candidates_table(outcome))
    name, cut = outcome["name"], ", interrupted" if outcome["interrupted"] else ""
    steps = {candidate["name"]: candidate["pulls"] for candidate in outcome["candidates"]}[name]
    low, high = ("unknown" if end is None else f"{end:.4g}" for end in outcome["interval"])
    console.print(f"{escape(name)}: loss {outcome['loss']:.4g} ({low} to {high}) after {steps:,} training steps{cut}")
    console.print(f"\n{escape(outcome['certificate']['text'])}\n\n{escape(outcome['explanation'])}")
    for note in outcome["notes"]:
        console.print(f"note: {escape(note)}")


def candidates_table(outcome: dict[str, Any]) -> Table:
    """Steps, last losses and state of every candidate, the winner in bold."""
    spent, planned = amount(round(outcome["spent"], 1)), amount(outcome["budget"])
    title = f"{spent} of {planned} {outcome['unit']} over {len(outcome['candidates'])} candidates"
    table = Table(title=title, title_justify="left")
    table.add_column("candidate")
    for heading in ("steps", "last losses"):
        table.add_column(heading, justify="right")
    costs = outcome["unit"] != "training steps"
    if costs:
        table.add_column(f"{outcome['unit']} a step", justify="right")
    table.add_column("state")
    for candidate in outcome["candidates"]:
        last, failure = candidate["last_loss"], candidate["failure"]
        state = f"failed: {failure}" if failure else candidate["misfit"] or ""
        row = [escape(candidate["name"]), f"{candidate['pulls']:,}", "" if last is None else f"{last:.4g}"]
        row += [f"{candidate['cost']:.3g}" if candidate["pulls"] else ""] if costs else []
        table.add_row(*row, escape(state), style="bold" if candidate["name"] == outcome["name"] else None)
    return table

"""``restsure run`` trains what a file or function describes; ``restsure show`` tells what came out."""

import json
import pickle
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from restsure import checks
from restsure.cli.spec import read_spec
from restsure.errors import InvalidParameter
from restsure.report.plots import plot_selection, pyplot
from restsure.training import select
from restsure.training.progress import show_progress


def run(
    spec: Annotated[str, typer.Argument(metavar="spec", help="SPEC.toml, or module:function.")],
    directory: Annotated[Path, typer.Option("--dir", help="Where outcome and history go.")] = Path("restsure-run"),
    budget: Annotated[str | None, typer.Option(help="In the place of the spec's: 600, 10min, '60000 samples'.")] = None,
    seed: Annotated[int | None, typer.Option(help="In the place of the spec's random_state.")] = None,
    picture: Annotated[Path | None, typer.Option(help="Draw how it went there.")] = None,
    pickled: Annotated[Path | None, typer.Option("--pickle", help="Write the trained model there, by pickle.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Train candidates under one budget, as a TOML file or a Python function describes them."""
    arguments = read_spec(spec)
    if budget is not None:
        arguments["budget"] = int(budget) if budget.isdigit() else budget
    if seed is not None:
        arguments["random_state"] = checks.whole("seed", seed, at_least=0)
    if picture is not None:
        pyplot()  # better to miss it now than after the training
    if (directory / "result.json").exists() or (directory.exists() and not directory.is_dir()):
        raise InvalidParameter(f"dir={str(directory)!r}: must be a directory without a result yet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # candidates are noisy about their first batches
        result = select(**arguments, callbacks=[show_progress(Console(stderr=True))], progress=False)
    result.save(directory)
    if picture is not None:
        plot_selection(picture, result)
    if pickled is not None:
        with pickled.open("wb") as file:
            pickle.dump(result.model, file)
    _tell(result.to_dict(), as_json)


def show(
    directory: Annotated[Path, typer.Argument(metavar="dir", help="Where a run wrote its outcome.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Tell what came out of a run."""
    path = directory / "result.json"
    try:
        outcome = json.loads(path.read_text(encoding="utf-8"))
        _tell(outcome, as_json)
    except FileNotFoundError:
        raise InvalidParameter(f"dir={str(directory)!r}: must have a result.json, which a run writes") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidParameter(f"{path}: is not the outcome of a run ({type(error).__name__}: {error})") from None


def _tell(outcome: dict[str, Any], as_json: bool) -> None:
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


def candidates_table(outcome: dict[str, Any]) -> Table:
    """Steps, last losses and state of every candidate, the winner in bold."""
    spent, planned = f"{round(outcome['spent'], 1):,g}", f"{outcome['budget']:,g}"
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

"""``restsure bench``: a suite of problems, a table of scores."""

import json
import sys
from dataclasses import asdict, fields
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from restsure import checks
from restsure.errors import InvalidParameter
from restsure.report.drawing import need_matplotlib
from restsure.report.rows import write_rows
from restsure.report.scores import save_scores
from restsure.simulation.suites import DEFAULTS, SUITES, Row, Score, entries, run_suite


def bench(
    suite: Annotated[str, typer.Argument(help="in-model, rising, shapes or curves.")],
    policies: Annotated[str, typer.Option(help="Names, separated by commas; the suite's own if empty.")] = "",
    rows: Annotated[str, typer.Option(help="Only rows whose group or name has this text in it.")] = "",
    replicates: Annotated[int, typer.Option(help="Runs of each policy on each row.")] = 100,
    seed: Annotated[int, typer.Option(help="Everything random comes from here.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes; the results do not depend on it.")] = 1,
    data: Annotated[Path | None, typer.Option(help="Directory of recorded curves; RESTSURE_DATA if not given.")] = None,
    csv_file: Annotated[Path | None, typer.Option("--csv", help="Write the scores there.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the mean regrets there.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Play policies on a suite: mean regret with standard error and p90, runs within a point, errors, pulls, time."""
    suite = checks.choice("suite", suite, list(SUITES))
    checks.whole("replicates", replicates, at_least=1)
    checks.whole("seed", seed, at_least=0)
    checks.whole("jobs", jobs, at_least=1)
    line_up = entries([name.strip() for name in policies.split(",")] if policies else list(DEFAULTS[suite]))
    chosen = [row for row in SUITES[suite](data) if rows.lower() in f"{row.group}, {row.name}".lower()]
    if not chosen:
        raise InvalidParameter(f"rows={rows!r}: must be part of the name of a row of the suite {suite}")
    if plot:
        need_matplotlib()  # better to miss it now than after the games
    console = Console(stderr=as_json)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    scores = list[Score]()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(suite, total=len(chosen) * len(line_up))
        played = run_suite(
            suite,
            chosen,
            line_up,
            replicates=replicates,
            seed=seed,
            n_jobs=jobs,
            progress=lambda row, policy: progress.update(task, description=f"{row}: {policy}"),
        )
        for score in played:
            scores.append(score)
            progress.advance(task)
    if csv_file:
        options = "".join(f" --{name} '{value}'" for name, value in (("policies", policies), ("rows", rows)) if value)
        command = f"restsure bench {suite}{options} --replicates {replicates} --seed {seed}"
        write_csv(csv_file, scores, seed=seed, command=command)
    if plot:
        save_scores(scores, plot, unit=chosen[0].unit)
    if as_json:
        typer.echo(json.dumps([asdict(score) for score in scores]))
        return
    wide = Console(width=None if sys.stdout.isatty() else 130)
    for row_name, group in groupby(scores, key=lambda score: (score.group, score.row)):
        wide.print(_table(row_name, list(group), chosen))


def write_csv(path: Path, scores: list[Score], *, seed: int, command: str) -> None:
    """One line a score, with the seed, the command and the commit it was made by."""
    head = [*(field.name for field in fields(Score)), "seed"]
    rows = [[f"{v:.6g}" if isinstance(v, float) else v for v in asdict(score).values()] + [seed] for score in scores]
    write_rows(path, head, rows, command=command)


def _table(row_name: tuple[str, str], scores: list[Score], rows: list[Row]) -> Table:
    unit = next(row.unit for row in rows if (row.group, row.name) == row_name)
    group, name = row_name
    title = name if name.startswith(group) or group in name else f"{group}, {name}"
    table = Table(title=f"{title} ({scores[0].runs} runs, regret in {unit})", title_justify="left")
    table.add_column("policy")
    for heading in ("regret", "± se", "p90", "within 1", "wrong arm", "winner's pulls", "seconds"):
        table.add_column(heading, justify="right")
    best = min(score.regret for score in scores)
    for score in scores:
        table.add_row(
            score.policy,
            f"{score.regret:.3f}",
            f"{score.se:.3f}",
            f"{score.p90:.3f}",
            f"{score.within:.0%}",
            f"{score.error:.2f}",
            f"{score.pulls:.0%}",
            f"{score.seconds:.2f}",
            style="bold" if score.regret == best else None,
        )
    return table

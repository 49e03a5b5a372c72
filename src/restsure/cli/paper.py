"""``restsure paper``: the paper's algorithms against each other, with a picture."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from restsure import checks
from restsure.arms import Gaussian, PowerLawArms
from restsure.bounds import ExactWeights
from restsure.estimators import fit_curve
from restsure.policies import ExploreThenCommit, Policy, RestSure
from restsure.report.drawing import GREY, INK, PALETTE, need_matplotlib, new_figure, save
from restsure.report.plots import plot_curves, plot_ribbon
from restsure.simulation import simulate
from restsure.training import Result, select

SIGMA, RHO = 0.1, 0.5
NOISE = Gaussian(SIGMA)

POLICIES: dict[str, Policy] = {
    "ETC as published": ExploreThenCommit.as_published(RHO),
    "REST-SURE as published": RestSure.as_published(RHO),
    "ETC, least squares, exact width": ExploreThenCommit(RHO, bound=ExactWeights(SIGMA)),
    "REST-SURE, least squares, exact width": RestSure(RHO, bound=ExactWeights(SIGMA)),
    "REST-SURE, noise estimated": RestSure(RHO),
}
SHOWN = "REST-SURE, least squares, exact width"


def example_1() -> PowerLawArms:
    """The paper's Example 1: a stationary arm against one that falls and never gets below it."""
    return PowerLawArms([0.0, 1.0], [0.2, 0.2], rho=RHO, noise=NOISE)


def crossing() -> PowerLawArms:
    """Eight arms of which the slowest starter ends lowest: beta = .5 - .45 alpha, a little off the line."""
    alpha = np.linspace(0.05, 0.95, 8)
    off_the_line = np.array([0.01, -0.01, 0.02, 0.0, -0.02, 0.01, 0.015, -0.015])
    return PowerLawArms(alpha, 0.5 - 0.45 * alpha + off_the_line, rho=RHO, noise=NOISE)


INSTANCES: dict[str, Callable[[], PowerLawArms]] = {
    "Example 1: a stationary arm against a falling one": example_1,
    "Eight crossing arms": crossing,
}


def paper(
    horizon: Annotated[int, typer.Option(help="Pulls in total, over all arms.")] = 10_000,
    runs: Annotated[int, typer.Option(help="Simulated games of each algorithm.")] = 100,
    seed: Annotated[int, typer.Option(help="Everything random comes from here.")] = 0,
    picture: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("restsure-paper.png"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
) -> None:
    """Play the paper's algorithms on Example 1 and on eight crossing arms, and draw one game of each."""
    for name, value, least in (("horizon", horizon, 8), ("runs", runs, 1), ("seed", seed, 0)):
        checks.whole(name, value, at_least=least)
    need_matplotlib()  # better to miss it now than after the games
    console = Console(stderr=as_json, quiet=not sys.stdout.isatty() and as_json)
    rows, games = list[dict[str, Any]](), dict[str, tuple[Result, PowerLawArms]]()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        for title, make in INSTANCES.items():
            arms = make()
            for label, policy in POLICIES.items():
                task = progress.add_task(label, total=horizon * runs)
                out = simulate(
                    policy,
                    arms,
                    horizon,
                    runs,
                    seed,
                    progress=lambda done, total, task=task: progress.update(task, completed=done),  # type: ignore[misc]
                )
                rows.append(
                    {
                        "instance": title,
                        "algorithm": label,
                        "regret": float(out.regret.mean()),
                        "standard_error": float(out.regret.std() / np.sqrt(runs)),
                        "wrong": float(out.error.mean()),
                        "winners_pulls": float(out.pulls.mean()),
                    }
                )
                progress.remove_task(task)
            games[title] = _one_game(arms, horizon, seed), arms
    where = _draw(games, picture)
    if as_json:
        typer.echo(json.dumps({"horizon": horizon, "runs": runs, "seed": seed, "rows": rows, "picture": str(where)}))
        return
    for title in INSTANCES:
        console.print(_table(title, [row for row in rows if row["instance"] == title], horizon, runs))
        _print_outcome(console, games[title][0])
    console.print(f"\nPicture of one game of each: {where}", highlight=False)


def _one_game(arms: PowerLawArms, horizon: int, seed: int) -> Result:
    """A live game, asked and told: arms are candidates like any others, of whom only the losses are known."""
    rng = np.random.default_rng(seed)

    def losses(arm: int) -> Iterator[float]:
        for pull in count(1):
            yield float(arms.mean(0, arm, pull)) + SIGMA * rng.standard_normal()

    candidates = {f"arm {arm}": losses(arm) for arm in range(arms.n_arms)}
    return select(candidates, budget=horizon, policy=POLICIES[SHOWN], progress=False, random_state=seed)


def _draw(games: Mapping[str, tuple[Result, PowerLawArms]], path: Path) -> Path:
    """One column a game: its curves, the truth and how the fitted laws go on above, who was pulled when below."""
    figure = new_figure(6.8 * len(games), 7.2, shown=False)
    grid = figure.subplots(2, len(games), height_ratios=(3, 2), squeeze=False)
    for (title, (result, arms)), curves, ribbon in zip(games.items(), *grid, strict=True):
        everywhere = np.unique(np.geomspace(1, result.budget, 200).round())
        for arm, name in enumerate(result.names):
            curves.plot(everywhere, arms.mean(0, arm, everywhere), ":", color=GREY, lw=1, zorder=0)
            if result.pulls[name] < 3:
                continue
            beyond = everywhere[everywhere >= result.pulls[name]]
            mean, sd = fit_curve(result.history.losses(name), rho=arms.rho).predict(beyond)
            curves.plot(beyond, mean, "--", color=PALETTE[arm], lw=1)
            curves.fill_between(beyond, mean - 2 * sd, mean + 2 * sd, color=PALETTE[arm], alpha=0.12, lw=0)
        plot_curves(result, curves)
        curves.set_title(
            f"{title}\ndotted: the truth    dashed: the fitted law ± 2 sd", fontsize=9, color=INK, loc="left"
        )
        plot_ribbon(result, ribbon)
    return save(figure, path)


def _table(title: str, rows: list[dict[str, Any]], horizon: int, runs: int) -> Table:
    table = Table(title=f"{title} (T = {horizon:,}, {runs} runs, noise {SIGMA})", title_justify="left")
    table.add_column("algorithm")
    for heading in ("mean regret", "± se", "wrong arm", "winner's pulls"):
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(
            row["algorithm"],
            f"{row['regret']:.5f}",
            f"{row['standard_error']:.5f}",
            f"{row['wrong']:.0%}",
            f"{row['winners_pulls']:,.0f}",
        )
    return table


def _print_outcome(console: Console, result: Result) -> None:
    low, high = result.interval
    console.print(
        f"One live game of “{SHOWN}”: {result.name} after {result.pulls[result.name]:,} of its own pulls, "
        f"loss {result.loss:.4f} in [{low:.4f}, {high:.4f}].",
        highlight=False,
    )
    for decision in result.explain().splitlines()[1:]:
        console.print(f"  {decision}", style="dim", highlight=False)
    console.print()

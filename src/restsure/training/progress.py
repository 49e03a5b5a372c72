"""A live table of a selection in a terminal; nothing anywhere else."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from restsure.problem import amount

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from restsure.training.session import Moment

_EVERY_S = 0.2  # drawing more often would cost more than it shows


def show_progress(console: "Console | None" = None) -> "Callable[[Moment], None]":
    """A callback that redraws a table of the candidates, at most five times a second."""
    from rich.console import Console
    from rich.live import Live

    console = console or Console(stderr=True)
    if not console.is_terminal:
        return lambda moment: None
    live, began, drawn = Live(console=console, auto_refresh=False, transient=True), time.monotonic(), [0.0]

    def draw(moment: "Moment") -> None:
        now = time.monotonic()
        if moment.over:
            live.stop()
        elif now - drawn[0] >= _EVERY_S:
            drawn[0] = now
            live.start()
            live.update(progress_table(moment, now - began), refresh=True)

    return draw


def progress_table(moment: "Moment", seconds: float) -> "Table":
    """Pulls, last loss, predicted final loss and state of each candidate, and the time left."""
    from rich.markup import escape
    from rich.table import Table

    game = moment.game
    spent, outlook = game.spent, game.outlook(game.lengths)
    left = seconds * (game.horizon - spent) / spent if spent else float("nan")
    table = Table(
        title=f"{amount(round(spent, 1))} of {amount(game.horizon)} {game.unit}, about {left:.0f} s left",
        title_justify="left",
    )
    for heading in ("candidate", "steps", "loss", "predicted", "state"):
        table.add_column(heading, justify="left" if heading in ("candidate", "state") else "right")
    last = {block.name: block.losses[-1] for block in moment.history}
    training = moment.history[-1].name if moment.history else ""
    for arm, name in enumerate(moment.names):
        predicted = "" if outlook is None or name not in last else f"{outlook[arm][0]:.4f}"
        state = "failed" if arm in game.failures else "training" if name == training else game.misfits.get(arm, "")
        loss = f"{last[name]:.4f}" if name in last else ""
        table.add_row(
            escape(name), f"{game.pulls[arm]:,}", loss, predicted, state, style="bold" if state == "training" else None
        )
    return table

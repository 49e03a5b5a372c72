"""``restsure theory``: the theorems side by side."""

import json
import math
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from restsure import checks
from restsure.theory import (
    corollary1_bound,
    corollary2_terms,
    explore_then_commit_terms,
    lower_bound,
    rest_sure_terms,
    suboptimal_pulls,
    theorem2_radius,
)


def theory(
    alpha: Annotated[float, typer.Option(help="How far the curves fall: mu(s) = alpha s**-rho + beta.")] = 0.5,
    gap: Annotated[float, typer.Option(help="The best arm's lead over every other, at every pull.")] = 0.02,
    horizon: Annotated[int, typer.Option(help="Pulls in total (T).")] = 10_000,
    rho: Annotated[float, typer.Option(help="Exponent of the curves, below 1.")] = 0.5,
    sigma: Annotated[float, typer.Option(help="Gaussian noise of a loss; Theorem 1's C is 1/(2 sigma^2).")] = 0.1,
    alpha_max: Annotated[float, typer.Option(help="Known upper limit of alpha (U).")] = 1.0,
    n_arms: Annotated[int, typer.Option(help="Arms (K); Theorems 1 and 3 and the corollaries are about two.")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Print every statement of the paper for arms a constant gap apart."""
    checks.real("sigma", sigma, above=0)
    checks.real("gap", gap, above=0)
    checks.whole("n_arms", n_arms, at_least=2)
    checks.whole("horizon", horizon, at_least=n_arms)
    kl = 1 / (2 * sigma**2)
    rows = list[dict[str, Any]]()

    def add(statement: str, says: str, value: float, pulls: int | None = None) -> None:
        rows.append({"statement": statement, "says": says, "value": value, "explored": pulls})

    tau = max(horizon // (2 * n_arms), 1)
    radius = theorem2_radius(
        tau, n_arms=n_arms, horizon=horizon, rho=rho, alpha_max=alpha_max, delta=1 / max(horizon, 2)
    )
    add("Theorem 2", f"2 CB after {2 * tau:,} pulls of each arm, the most round robin can give", 2 * float(radius))
    pair = dict(horizon=horizon, rho=rho, kl=kl)
    for exact, form in ((False, "as printed"), (True, "as proved")):
        pulls = suboptimal_pulls(alpha, gap, exact=exact, **pair)  # type: ignore[arg-type]
        says = "regret of any policy, at least (two arms)"
        add(f"Theorem 1, {form}", says, lower_bound(alpha, gap, exact=exact, **pair), pulls)  # type: ignore[arg-type]
    if math.isclose(rho, 0.5):
        add("Corollary 1", "the same at rho = 1/2", corollary1_bound(alpha, gap, horizon=horizon, kl=kl))
    three = explore_then_commit_terms(alpha, gap, horizon=horizon, rho=rho, alpha_max=alpha_max)
    add("Theorem 3", _upper("ETC (two arms)", three.confusion), three.total, three.explored)
    betas = [0.0] + [min(gap, 1.0)] * (n_arms - 1)
    four = rest_sure_terms([alpha] * n_arms, betas, horizon=horizon, rho=rho, alpha_max=alpha_max)
    add("Theorem 4", _upper(f"REST-SURE ({n_arms} arms)", four.confusion), four.total, four.explored)
    if math.isclose(rho, 0.5):
        two = corollary2_terms(alpha, gap, horizon=horizon, alpha_max=alpha_max)
        add("Corollary 2", _upper("REST-SURE (two arms)", two.confusion), two.total, two.explored)
    if as_json:
        typer.echo(json.dumps(rows))
        return
    table = Table(title=f"alpha {alpha:g}, gap {gap:g}, T {horizon:,}, rho {rho:g}, sigma {sigma:g}, U {alpha_max:g}")
    table.add_column("statement")
    table.add_column("says")
    table.add_column("value", justify="right")
    table.add_column("pulls of other arms", justify="right")
    for row in rows:
        explored = "" if row["explored"] is None else f"{row['explored']:,}"
        table.add_row(row["statement"], row["says"], f"{row['value']:.3g}", explored)
    Console().print(table)


def _upper(who: str, confusion: float) -> str:
    price = f", of which 2 CB = {confusion:.3g}" if confusion else ", the arm is the right one"
    return f"regret of published {who}, at most{price}"

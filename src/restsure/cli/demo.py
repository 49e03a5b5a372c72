"""``restsure demo``: ten real classifiers, one training budget, the best one back, trained."""

import json
import warnings
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from restsure import checks
from restsure.cli.show import candidates_table
from restsure.errors import MissingExtra
from restsure.policies import HorizonLCB, Policy, RoundRobin, SuccessiveHalving
from restsure.report.drawing import need_matplotlib
from restsure.training import Result, select
from restsure.training.progress import show_progress

TRAINED, BATCH = 1_300, 32  # digits to train on, of 1,797, and samples in a training step

RIVALS: dict[str, Policy] = {
    "restsure": HorizonLCB(),
    "successive halving": SuccessiveHalving(),
    "round robin": RoundRobin(),
}


def demo(
    budget: Annotated[int, typer.Option(help="Training steps in total, over all candidates.")] = 600,
    seed: Annotated[int, typer.Option(help="Everything random comes from here.")] = 0,
    picture: Annotated[Path, typer.Option(help="Where the picture goes.")] = Path("restsure-demo.png"),
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Train ten classifiers of handwritten digits under one budget, give back the best one, and draw how it went."""
    seed = checks.whole("seed", seed, at_least=0)
    need_matplotlib()  # better to miss it now than after the training
    x, y = _digits()
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[:TRAINED], order[TRAINED:]
    console = Console(stderr=as_json)
    rows, ours = list[dict[str, Any]](), None
    for label, policy in RIVALS.items():
        watch = [show_progress(console)] if label == "restsure" else []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some of the candidates are noisy about their first batches
            result = select(
                _candidates(seed),
                (x[train], y[train]),
                budget=budget,
                batch_size=BATCH,
                policy=policy,
                callbacks=watch,
                progress=False,
                random_state=seed,
            )
            error = float((result.model.predict(x[test]) != y[test]).mean())
        ours = ours or result
        rows.append({"rule": label, "returns": result.name, "steps": result.pulls[result.name], "test_error": error})
    assert ours is not None
    where = ours.plot(picture)
    if as_json:
        outcome = {"name": ours.name, "pulls": ours.pulls, "loss": ours.loss, "interval": ours.interval}
        typer.echo(json.dumps({"budget": budget, "seed": seed, **outcome, "rows": rows, "picture": str(where)}))
        return
    _print_outcome(console, ours, rows, where)


def _print_outcome(console: Console, result: Result, rows: list[dict[str, Any]], where: Path) -> None:
    console.print(candidates_table(result.to_dict()))
    console.print("\n".join([f"{result}", *(f"note: {note}" for note in result.notes), ""]), highlight=False)
    rivals = Table(title="What each rule gives back for the same budget", title_justify="left")
    for heading in ("rule", "returns", "its steps", "error on a test set"):
        rivals.add_column(heading, justify="right" if heading.startswith(("its", "error")) else "left")
    for row in rows:
        rivals.add_row(row["rule"], row["returns"], f"{row['steps']:,}", f"{row['test_error']:.1%}")
    console.print(rivals)
    console.print(f"{result.explain()}\n\nPicture: {where}", highlight=False)


def _digits() -> tuple[Any, Any]:
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise MissingExtra("the demo trains scikit-learn models: pip install 'restsure[sklearn]'") from None
    x, y = load_digits(return_X_y=True)
    return x, y


def _candidates(seed: int) -> dict[str, Any]:
    """Some that are good at once, and some that start at chance and end best."""
    from sklearn.linear_model import Perceptron, SGDClassifier
    from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    logistic = {"loss": "log_loss", "random_state": seed}
    return {
        "naive Bayes, counts": MultinomialNB(),
        "naive Bayes, binary": BernoulliNB(binarize=8),
        "naive Bayes, Gaussian": GaussianNB(var_smoothing=1e-3),
        "perceptron": Perceptron(random_state=seed),
        "linear, hinge": SGDClassifier(random_state=seed),
        "linear, logistic": SGDClassifier(**logistic),
        "linear, averaged": SGDClassifier(**logistic, average=True),
        "linear, scaled": make_pipeline(StandardScaler(), SGDClassifier(**logistic, alpha=1e-3)),
        "network, 64": MLPClassifier((64,), random_state=seed),
        "network, 256": MLPClassifier((256,), learning_rate_init=3e-3, random_state=seed),
    }

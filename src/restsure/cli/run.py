"""``restsure run`` trains what a file or function describes, ``restsure resume`` goes on with it."""

import pickle
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from restsure import checks
from restsure.cli.show import tell_result
from restsure.cli.spec import Source
from restsure.errors import InvalidParameter
from restsure.journal import JOURNAL, read_records
from restsure.report.drawing import need_matplotlib
from restsure.training import Checkpoints, select
from restsure.training.executors import Executor, ProcessExecutor
from restsure.training.progress import show_progress

Workers = Annotated[int | None, typer.Option(help="Train each candidate in a process of its own, so many at a time.")]
Timeout = Annotated[float | None, typer.Option("--pull-timeout", help="Seconds that a step may take, with --workers.")]
Memory = Annotated[str | None, typer.Option("--memory-limit", help="What a candidate may use, with --workers: 2GB.")]
Retries = Annotated[int, typer.Option(help="How often a candidate that fails is brought back.")]
AllowPickle = Annotated[
    bool, typer.Option("--allow-pickle", help="Save, and load, by pickle what has no safe format: it can run any code.")
]
Picture = Annotated[Path | None, typer.Option(help="Draw how it went there.")]
Pickled = Annotated[Path | None, typer.Option("--pickle", help="Write the trained model there, by pickle.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")]


def run(
    spec: Annotated[str, typer.Argument(metavar="spec", help="SPEC.toml, or module:function.")],
    directory: Annotated[Path, typer.Option("--dir", help="Where the run is recorded.")] = Path("restsure-run"),
    budget: Annotated[str | None, typer.Option(help="In the place of the spec's: 600, 10min, '60000 samples'.")] = None,
    seed: Annotated[int | None, typer.Option(help="In the place of the spec's random_state.")] = None,
    workers: Workers = None,
    pull_timeout_s: Timeout = None,
    memory_limit: Memory = None,
    retries: Retries = 0,
    allow_pickle: AllowPickle = False,
    picture: Picture = None,
    pickled: Pickled = None,
    as_json: AsJson = False,
) -> None:
    """Train candidates under one budget, as a TOML file or a Python function describes them."""
    if (directory / JOURNAL).exists():
        raise InvalidParameter(f"dir={str(directory)!r}: must be a directory without a run yet; or restsure resume")
    source = Source.of(spec, budget=budget, seed=seed)
    place = _executor(workers, pull_timeout_s, memory_limit)
    _train(source, directory, place, retries, allow_pickle, picture, pickled, as_json)


def resume(
    directory: Annotated[Path, typer.Argument(metavar="dir", help="Where the run is recorded.")],
    spec: Annotated[str | None, typer.Option(help="The spec of the run, if it is elsewhere now.")] = None,
    workers: Workers = None,
    pull_timeout_s: Timeout = None,
    memory_limit: Memory = None,
    retries: Retries = 0,
    allow_pickle: AllowPickle = False,
    picture: Picture = None,
    pickled: Pickled = None,
    as_json: AsJson = False,
) -> None:
    """Go on with a run, exactly as if it had not stopped; of one that is over, tell the outcome."""
    source = Source.from_dict(read_records(directory)[0].body.get("source"), directory, spec)
    place = _executor(workers, pull_timeout_s, memory_limit)
    _train(source, directory, place, retries, allow_pickle, picture, pickled, as_json)


def _train(
    source: Source,
    directory: Path,
    executor: Executor | None,
    retries: int,
    allow_pickle: bool,
    picture: Path | None,
    pickled: Path | None,
    as_json: bool,
) -> None:
    arguments = source.arguments()
    if picture is not None:
        need_matplotlib()  # better to miss it now than after the training
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # candidates are noisy about their first batches
        result = select(
            **arguments,
            run_dir=directory,
            checkpoints=Checkpoints(pickle=allow_pickle),
            executor=executor,
            retries=retries,
            callbacks=[show_progress(Console(stderr=True))],
            progress=False,
            _source=source.to_dict(),
        )
    if picture is not None:
        result.plot(picture)
    if pickled is not None:
        with pickled.open("wb") as file:
            pickle.dump(result.model, file)
    tell_result(result.to_dict(), as_json)
    if result.interrupted:
        typer.echo(f"restsure: stopped; go on with: restsure resume {directory}", err=True)
        raise typer.Exit(1)


def _executor(workers: int | None, pull_timeout_s: float | None, memory_limit: str | None) -> Executor | None:
    if workers is None:
        for name, value in (("pull-timeout", pull_timeout_s), ("memory-limit", memory_limit)):
            if value is not None:
                raise InvalidParameter(
                    f"{name}={value!r}: must come with --workers, which gives each candidate a process"
                )
        return None
    options: dict[str, Any] = {"pull_timeout_s": pull_timeout_s, "memory_limit": memory_limit}
    return ProcessExecutor(workers=checks.whole("workers", workers, at_least=1), **options)

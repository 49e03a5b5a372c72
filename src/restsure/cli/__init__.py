"""The command line: one file a verb.

Exit codes: 0 done; 2 bad input, with one line that names the field, the value and the rule; 1 anything else.
"""

import io
import sys

import typer

from restsure import __version__
from restsure.cli import bench, dashboard, demo, paper, report, run, show, theory
from restsure.errors import InvalidParameter, RestSureError

app = typer.Typer(
    name="restsure",
    help="K candidate models, one training budget: which model gets the next training step?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("bench")(bench.bench)
app.command("dashboard")(dashboard.dashboard)
app.command("demo")(demo.demo)
app.command("paper")(paper.paper)
app.command("report")(report.report)
app.command("resume")(run.resume)
app.command("run")(run.run)
app.command("show")(show.show)
app.command("theory")(theory.theory)
app.command("verify")(show.verify)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """What stands before the verb."""


def main(arguments: list[str] | None = None) -> None:
    """Entry point: run a verb and turn errors into one line and an exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name may have characters that the terminal has not
    try:
        code = app(args=arguments, standalone_mode=False)
    except typer.TyperException as error:
        sys.exit(_complain(error.format_message() + _given(error, arguments), error.exit_code))
    except InvalidParameter as error:
        sys.exit(_complain(str(error), 2))
    except (RestSureError, OSError) as error:
        sys.exit(_complain(str(error), 1))
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(_complain("stopped", 1))
    sys.exit(code if isinstance(code, int) else 0)


def _given(error: typer.TyperException, arguments: list[str]) -> str:
    """The value that a refused option was given; typer's message names the option and the rule only."""
    for option in getattr(getattr(error, "param", None), "opts", ()):
        for here, following in zip(arguments, [*arguments[1:], ""], strict=True):
            if here == option or here.startswith(f"{option}="):
                return f" (given: {here.partition('=')[2] or following!r})"
    return ""


def _complain(message: str, code: int) -> int:
    text = " ".join(message.split())
    if text:
        typer.echo(f"restsure: {text}", err=True)
    return code

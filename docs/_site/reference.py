"""The reference: a page for each module that the navigation names, all names of ``restsure`` itself, and the command line."""

import ast
from collections.abc import Iterator
from importlib import import_module
from inspect import Parameter, getdoc, signature
from pathlib import Path
from typing import Any

from docstrings import as_markdown
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
FOLDER = "reference/"


def on_files(files: Files, config: Any) -> Files:
    """Pages that mkdocstrings fills."""
    places = [place for place in _leaves(config.nav) if place.startswith(FOLDER)]
    modules = [f"restsure.{place.removeprefix(FOLDER).removesuffix('.md')}" for place in places]
    for place, module in zip(places, modules, strict=True):
        own = {"restsure.index": overview, "restsure.command_line": command_line}.get(module)
        files.append(File.generated(config, place, content=f"::: {module}\n" if own is None else own(modules)))
    return files


def overview(modules: list[str]) -> str:
    """``import restsure as rs``: every name, by the room that it comes from, with the first sentence about it."""
    tree = ast.parse((ROOT / "src" / "restsure" / "__init__.py").read_text())
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    rooms = {node.module: node.names for node in imports if node.module and node.module.startswith("restsure.")}
    lines = ["# Reference", "", "What `import restsure as rs` brings, by the room that it comes from."]
    for module in sorted(rooms, key=modules.index):
        lines += ["", f"## [{module}]({module.removeprefix('restsure.')}.md)", "", "| | |", "|---|---|"]
        for name in (alias.name for alias in rooms[module]):
            lines.append(f"| [`{name}`][{module}.{name}] | {_about(getattr(import_module(module), name))} |")
    lines += ["", "## Rooms with names of their own", "", "| | |", "|---|---|"]
    for name in ("bounds", "report", "theory"):
        lines.append(f"| [`rs.{name}`]({name}.md) | {_about(import_module(f'restsure.{name}'))} |")
    return "\n".join([*lines, ""])


def command_line(_: list[str]) -> str:
    """Every verb, with its arguments and options, as ``--help`` has them."""
    from restsure import cli

    lines = ["# Command line", "", (getdoc(cli) or "").partition("\n\n")[2]]
    for command in sorted(cli.app.registered_commands, key=lambda command: command.name or ""):
        lines += ["", f"## restsure {command.name}", "", getdoc(command.callback) or ""]
        parameters = signature(command.callback, eval_str=True).parameters.values() if command.callback else ()
        lines += ["", "| | |", "|---|---|"] if parameters else []
        for parameter in parameters:
            told = parameter.annotation.__metadata__[0]
            unsaid = any(parameter.default is nothing for nothing in (Parameter.empty, None, False, ""))
            usual = "" if unsaid else f" (default: {parameter.default})"
            lines.append(f"| `{_option(parameter.name, told)}` | {told.help}{usual} |")
    return "\n".join([*lines, ""])


def _option(name: str, told: Any) -> str:
    """As it is typed: ``DIR``, ``--budget``."""
    if type(told).__name__ == "ArgumentInfo":
        return (told.metavar or name).upper()
    named = [told.default] if isinstance(told.default, str) else []  # where typer keeps the first of an annotation
    return ", ".join([*named, *(told.param_decls or ())]) or f"--{name.replace('_', '-')}"


def _about(thing: Any) -> str:
    """The first paragraph of its docstring, on one line of a table."""
    return as_markdown((getdoc(thing) or "").split("\n\n")[0]).replace("\n", " ").replace("|", "&#124;")


def _leaves(nav: Any) -> Iterator[str]:
    """The pages of a navigation, however deep."""
    if isinstance(nav, str):
        yield nav
    else:
        for entry in nav.values() if isinstance(nav, dict) else nav:
            yield from _leaves(entry)

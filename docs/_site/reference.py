"""The reference: a page for each module that the navigation names, and one with all names of ``restsure`` itself."""

import ast
from collections.abc import Iterator
from importlib import import_module
from inspect import getdoc
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
        content = overview(modules) if module == "restsure.index" else f"::: {module}\n"
        files.append(File.generated(config, place, content=content))
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

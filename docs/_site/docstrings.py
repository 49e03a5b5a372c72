"""Docstrings of this package as Markdown: doctests in fences, names instead of roles; and rooms as they are imported."""

import re
from typing import Any

import griffe

_DOCTEST = re.compile(r"^( *)>>> .*?(?=^\s*$|\Z)", re.DOTALL | re.MULTILINE)
_ROLE = re.compile(r":(?:attr|class|data|exc|func|meth|mod):`[~.]?([^`]+)`")


class Markdown(griffe.Extension):
    """Rewrites every docstring before it is rendered."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Of modules, classes, functions and attributes alike."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Where a room exports a function that its file is named after (``select``), show the function."""
        for room in [pkg, *pkg.modules.values()]:
            for name, file in list(room.modules.items()):
                if name in (room.exports or ()) and name in file.members:
                    room.set_member(name, griffe.Alias(name, target=file.members[name], parent=room))


def as_markdown(text: str) -> str:
    r"""Prose with doctests and roles, as Markdown.

    >>> as_markdown("Twice.\n\n>>> 1 + 1\n2\n\nSee :meth:`fail`.")
    'Twice.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nSee `fail`.'
    """
    fenced = _DOCTEST.sub(lambda found: f"{found[1]}```pycon\n{found[0].rstrip()}\n{found[1]}```\n", text)
    return _ROLE.sub(lambda found: f"`{found[1]}`", fenced)

"""The gallery: a page for each script in examples/, with what it says, its code, and the pictures it draws.

A script that draws says so in its first lines, by ``python examples/NAME.py [FOLDER]``, and leaves its pictures in FOLDER.
It is run whenever the site is built, so that pictures are those of the code beside them.
"""

import ast
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*.py"))


def on_config(config: Any) -> None:
    """All examples, in the navigation."""
    for entry in config.nav:
        if entry.get("Examples") == "gallery/index.md":
            entry["Examples"] = ["gallery/index.md", *(f"gallery/{script.stem}.md" for script in EXAMPLES)]


def on_files(files: Files, config: Any) -> Files:
    """A page for each example, and its pictures."""
    for script in EXAMPLES:
        pictures = draw(script) if "[FOLDER]" in script.read_text() else {}
        files.append(File.generated(config, f"gallery/{script.stem}.md", content=page(script, list(pictures))))
        for name, picture in pictures.items():
            files.append(File.generated(config, f"gallery/{name}", content=picture))
    return files


def page(script: Path, pictures: list[str]) -> str:
    """What an example says of itself, what it draws, and its code."""
    source = script.read_text()
    first, _, rest = (ast.get_docstring(ast.parse(source)) or "").partition("\n")
    title = re.split("[:,.]", first)[0]
    code = source[source.index('"""', 3) + 3 :].strip()
    shown = "\n\n".join(f"![{Path(name).stem.partition('_')[2].replace('_', ' ')}]({name})" for name in pictures)
    return f"# {title}\n\n{first}\n{rest}\n\n{shown}\n\n```python\n{code}\n```\n"


def draw(script: Path) -> dict[str, bytes]:
    """The pictures that a script draws, by name."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, script, folder], env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise PluginError(f"{script.name} failed:\n{done.stderr}")
        return {path.name: path.read_bytes() for path in sorted(Path(folder).glob("*.png"))}

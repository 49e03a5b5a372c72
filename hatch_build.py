"""Compile the numbers of a live game (live_filters.py) by mypyc, where a C compiler is at hand; without one, all works as well.

The compiled module is a copy of the source under another name, and knows what it is a copy of: where the source has changed
since, as in a checkout, it is not used (estimators/compiled.py). ``RESTSURE_COMPILE=0`` builds without.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = Path("restsure", "estimators")
SOURCE, COPY = "live_filters.py", "_live_filters.py"


class Compile(BuildHookInterface[Any]):
    """Adds the compiled module to a wheel; to a checkout that is installed as editable, beside the source."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if os.environ.get("RESTSURE_COMPILE") == "0":
            return
        package = Path(self.root, "src", PACKAGE)
        with tempfile.TemporaryDirectory() as temporary:
            try:
                built = compiled(package / SOURCE, Path(temporary))
            except (OSError, subprocess.CalledProcessError) as error:
                self.app.display_warning(f"not compiled, which costs some microseconds a training step: {error}")
                return
            if version == "editable":
                target = package
            else:
                target = Path(self.directory, "compiled")
                build_data["force_include"] |= {str(target / each.name): str(PACKAGE / each.name) for each in built}
            build_data["pure_python"], build_data["infer_tag"] = False, True
            target.mkdir(parents=True, exist_ok=True)
            for each in built:
                shutil.copy(each, target / f"{each.name}.new")
                os.replace(target / f"{each.name}.new", target / each.name)  # a process may have the old one open


def compiled(source: Path, directory: Path) -> list[Path]:
    """Compile a copy of the source in a directory that is empty; the files that make it up."""
    package = directory / PACKAGE
    package.mkdir(parents=True)
    for each in (package, package.parent):
        (each / "__init__.py").touch()
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    (package / COPY).write_text(f"{source.read_text()}\nDIGEST = {digest!r}\n")
    # a product and a sum are rounded one after the other, as the interpreter does
    flags = {"CFLAGS": f"{os.environ.get('CFLAGS', '')} -ffp-contract=off"} if os.name == "posix" else {}
    command = [sys.executable, "-m", "mypyc", "--ignore-missing-imports", str(PACKAGE / COPY)]
    subprocess.run(command, cwd=directory, env=os.environ | flags, check=True, stdout=subprocess.DEVNULL)
    return sorted(package.glob("*.so")) + sorted(package.glob("*.pyd"))

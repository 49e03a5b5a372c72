"""``python benchmarks/live``: see command.py."""

import os
import sys
from pathlib import Path

for library in ("OMP", "OPENBLAS", "MKL"):
    os.environ[f"{library}_NUM_THREADS"] = "1"  # before numpy is there: on batches this small, threads only wait
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # Python puts this folder there, not the repository

from benchmarks.live.command import main  # noqa: E402

if __name__ == "__main__":
    main()

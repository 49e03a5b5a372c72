"""Writes the journal that is kept for the present format: ``python -m tests.journal.make_golden``.

Run it once, when the format changes; files of older formats stay as they are. Halving decides as it always will:
constants of the default policy may change, and a run of other constants is refused by name.
"""

import tempfile
from pathlib import Path

import restsure as rs
from restsure.journal import FORMAT, JOURNAL


def loop(alpha: float, beta: float, breaks: int = 0):
    s = 0
    while True:
        s += 1
        yield float("nan") if s == breaks else alpha / s**0.5 + beta


def stop(moment: object) -> None:
    if not moment.over and sum(moment.game.pulls) >= 40:  # type: ignore[attr-defined]
        raise KeyboardInterrupt


if __name__ == "__main__":
    candidates = {"quick": loop(0.2, 0.3), "slow": loop(1.0, 0.05), "broken": loop(1.0, 0.0, breaks=3)}
    with tempfile.TemporaryDirectory() as folder:
        rs.select(
            candidates,
            budget=80,
            policy=rs.SuccessiveHalving(),
            run_dir=folder,
            callbacks=[stop],
            progress=False,
            random_state=0,
        )
        whole = (Path(folder) / JOURNAL).read_bytes()
    target = Path(__file__).parent / "golden" / f"format{FORMAT}.sqlite"
    target.write_bytes(whole)
    print(target, len(whole), "bytes")

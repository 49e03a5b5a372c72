"""A run as its directory tells it, whether or not it is still going on: nothing is trained, loaded or run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from restsure.errors import DamagedRun, RunError
from restsure.journal import FILES, FOLDER, Record, States, in_use, read_records
from restsure.training.replay import Progress, replay
from restsure.training.result import Result, result_of
from restsure.training.saving.model_file import types_in


@dataclass(frozen=True)
class Recorded:
    """A run directory, read: its records, how far they bring the run, and whether somebody is at it.

    ``state``: "running", "over", or "stopped", by whom it may be; then it can be resumed.
    """

    directory: Path
    records: Sequence[Record]
    progress: Progress
    state: str

    @property
    def result(self) -> Result | None:
        """What would come out now, without the model; None before the first losses."""
        progress = self.progress
        if not any(progress.game.pulls):
            return None
        return result_of(
            progress.names,
            progress.game,
            progress.history,
            model=lambda arm: None,
            interrupted=self.state == "stopped",
            notes=[*progress.notes, *progress.caveats],
            records=self.records,
        )

    def to_dict(self) -> dict[str, Any]:
        """In plain values: where the run stands, its outcome so far, and what is kept of it."""
        sizes = {state.digest: state.size for state, _ in self.progress.states.values()}
        result = self.result
        return {
            "state": self.state,
            "records": len(self.records),
            "checkpoints": {"count": len(sizes), "bytes": sum(sizes.values())},
            **({} if result is None else result.to_dict()),
        }


def read_run(directory: Path | str) -> Recorded:
    """What a run directory says; raises DamagedRun, which says what is wrong, where it is not what a run has written.

    A run of another version of the policy, which cannot go on, can be read all the same, as far as the policy follows: its
    ``progress.astray`` says where, and the notes of its result.
    """
    folder = Path(directory)
    busy = in_use(folder)
    records = read_records(folder)
    try:
        progress = replay(records, follow=True)
    except DamagedRun as error:
        raise DamagedRun(f"{folder}: {error}") from None
    return Recorded(folder, records, progress, "over" if progress.ended else "running" if busy else "stopped")


def saved_types(directory: Path | str) -> dict[str, list[str]]:
    """The classes and functions that the saved model of each candidate names: what loading it would make."""
    run = read_run(directory)
    states = States(run.directory, FILES)
    found = dict[str, list[str]]()
    for arm, (state, _) in sorted(run.progress.states.items()):
        models = [path for path in states.find(state).glob("model-*") if path.suffix in (".skops", ".json")]
        found[run.progress.names[arm]] = sorted({name for path in models for name in types_in(path)})
    return found


def findings(directory: Path | str) -> list[str]:
    """What is wrong with a run directory, a line each; nothing, where a run can be resumed or its model loaded."""
    try:
        run = read_run(directory)
    except RunError as error:
        return [str(error)]
    states, astray = States(run.directory, FILES), run.progress.astray
    found = [] if astray is None else [f"{run.directory}: {astray}"]
    if (run.directory / FOLDER).is_symlink():
        return [f"{run.directory / FOLDER}: must be no link"]
    for arm, (state, _) in sorted(run.progress.states.items()):
        try:
            states.find(state)
        except DamagedRun as error:
            found.append(f"candidate {run.progress.names[arm]!r}: {error}")
    known = [state.digest for state, _ in run.progress.states.values()]
    if run.state != "running":  # a run that is going on may have a state in hand
        left = states.others(known) if run.state == "over" else states.strangers(known)
        found += [f"{path}: no record speaks of it" for path in left]
    return found

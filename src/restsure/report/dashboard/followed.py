"""One run that somebody looks at, read by one reader for however many they are."""

import json
import time
from pathlib import Path
from typing import Any

from restsure.errors import DamagedRun, RestSureError
from restsure.journal import Tail, in_use
from restsure.report.beliefs import Beliefs
from restsure.report.story import Facts, tell

_SLICE_S = 0.2  # of playing the game again, before what has come of it is shown
_PIECE = 1 << 18  # bytes of records that are played at a time
_LINES = 50  # of the log in one part
_RESTED = 8  # times what a telling takes, that lie between two
_BEHIND_S = 1.0  # between two, while the game is played again

Parts = dict[str, str]


class Reader:
    """Reads a run directory on and on, in a thread of its own, and tells what has changed; keeps no losses.

    What happened is read first and shown at once; the game is played again behind it, from a reading of its own.
    """

    def __init__(self, directory: Path, title: str):
        self.directory, self.title = directory, title
        self._told_s, self._cost_s, self._state = 0.0, 0.0, ""
        self._begin()

    def _begin(self) -> None:
        self._facts_tail, self._beliefs_tail = Tail(self.directory), Tail(self.directory)
        self._facts: Facts | None = None
        self._beliefs: Beliefs | str | None = None
        self._fresh = True  # whether there is anything that was not told
        self._long = False  # whether it took more than one piece to read

    def step(self) -> tuple[Parts | None, bool]:
        """Read on for a moment: what is to be shown now, if that has changed, and whether there is more to read at once."""
        try:
            if self._read_facts():
                self._long = True
                return None, True
            now = self._state_now()
            more = (
                self._long and not self._state
            ) or self._read_beliefs()  # of a long run, what happened is told first
        except RestSureError as error:
            return self._trouble(str(error)), False
        except OSError as error:  # the directory goes while it is read
            return self._trouble(f"{self.directory}: {error.strerror or error}"), False
        rested = time.monotonic() - self._told_s > max(_RESTED * self._cost_s, _BEHIND_S if more else 0.0)
        if self._facts is None or not rested or not (self._fresh or now != self._state):
            return None, more
        return self._tell(self._facts, now), more

    def _trouble(self, text: str) -> Parts:
        self._fresh = True  # all is to be told again when it is over
        return {"trouble": json.dumps(text)}

    def _read_facts(self) -> bool:
        """Read the next piece; whether there are more."""
        records = self._facts_tail.read()
        if self._facts_tail.generation:  # another run is in the place of the one that was followed
            self._begin()
            records = self._facts_tail.read()
        for record in records:
            if self._facts is None:
                self._facts = Facts(record)
            else:
                self._facts.add(record)
        self._fresh |= bool(records)
        return self._facts_tail.cut

    def _read_beliefs(self) -> bool:
        """Play on for a moment, and whether there is more; where it cannot be done, that is what there is to say."""
        until = time.monotonic() + _SLICE_S
        while not isinstance(self._beliefs, str):
            if time.monotonic() > until:
                return True
            records = self._beliefs_tail.read(most_bytes=_PIECE)
            if not records or self._beliefs_tail.generation:
                break
            self._fresh = True
            try:
                for record in records:
                    if self._beliefs is None:
                        self._beliefs = Beliefs(record)
                    else:
                        self._beliefs.add(record)
            except DamagedRun as error:
                self._beliefs = f"No predictions: {error}"
        return False

    def _state_now(self) -> str:
        if self._facts is not None and self._facts.ended:
            return "over"
        return "running" if in_use(self.directory) else "stopped"

    def _tell(self, facts: Facts, state: str) -> Parts:
        began = time.monotonic()
        story = tell(facts, self._beliefs or "", state=state, title=self.title)
        parts = {"trouble": '""'} | parts_of(story)
        self._told_s, self._state, self._fresh = time.monotonic(), state, False
        self._cost_s = self._told_s - began
        return parts


def parts_of(story: dict[str, Any]) -> Parts:
    """A story in pieces of JSON by name, so that only those need to be sent that have changed."""
    flat = dict[str, Any]()
    for key, value in story.items():
        if key in ("curves", "bands", "ribbon"):
            flat |= {f"{key}/{arm}": part for arm, part in value.items()}
        elif key == "outlook":
            flat["outlook/spent"] = value["spent"]
            flat |= {f"outlook/of/{arm}": part for arm, part in value["of"].items()}
        elif key == "log":
            flat |= {f"log/{at // _LINES}": value[at : at + _LINES] for at in range(0, len(value), _LINES)}
        else:
            flat[key] = value
    return {key: json.dumps(value, allow_nan=False, separators=(",", ":")) for key, value in flat.items()}


class Board:
    """The newest version of every part; whoever looks is told what is newer than what they have, however late they come."""

    def __init__(self) -> None:
        self.version = 0
        self._parts = dict[str, tuple[int, str]]()
        self._ready = dict[int, bytes]()

    def put(self, parts: Parts) -> bool:
        """Show these parts, and whether any of them is new; parts that are gone go, but for trouble alone."""
        new = {key: text for key, text in parts.items() if key not in self._parts or self._parts[key][1] != text}
        gone = self._parts.keys() - parts.keys() if parts.keys() - {"trouble"} else set[str]()
        if not new and not gone:
            return False
        self.version += 1
        self._ready.clear()
        for key in gone:
            del self._parts[key]
        self._parts |= {key: (self.version, text) for key, text in new.items()}
        if gone:  # all of it again, for everybody
            self._parts = {key: (self.version, text) for key, (_, text) in self._parts.items()}
        return True

    def since(self, version: int) -> bytes:
        """An event with all parts that are newer than ``version``; made once for all who have that version."""
        if version not in self._ready:
            parts = ",".join(
                f"{json.dumps(key)}:{text}" for key, (changed, text) in self._parts.items() if changed > version
            )
            whole = "true" if not version or all(changed > version for changed, _ in self._parts.values()) else "false"
            self._ready[version] = f'data: {{"whole":{whole},"parts":{{{parts}}}}}\n\n'.encode()
        return self._ready[version]

    def story(self) -> str:
        """All parts as one JSON object."""
        return "{" + ",".join(f"{json.dumps(key)}:{text}" for key, (_, text) in self._parts.items()) + "}"

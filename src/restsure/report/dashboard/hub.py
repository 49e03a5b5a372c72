"""Which runs there are, and who looks at which: one reader a run, however many follow it."""

import asyncio
import math
import time
from collections.abc import AsyncGenerator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from restsure.errors import InvalidParameter, RestSureError
from restsure.journal import JOURNAL, inside, peek
from restsure.report.dashboard.followed import Board, Reader

MOST_RUNS = 500  # that are listed: the newest
MOST_READ = 16  # runs that are read at a time
MOST_FOLLOWERS = 200
_POLL_S = 0.25  # between two looks at a run in which nothing was new
_LIST_S = 1.0  # that a list of runs is good for
_LINGER_S = 30.0  # that a run is still read for when nobody looks
_BEAT_S = 10.0  # of silence after which a follower is told that all is well


class Full(Exception):
    """So many followers, or runs that are read, that there can be no more."""


class _Followed:
    """A run that is read, what is shown of it, and how many look."""

    def __init__(self, directory: Path, title: str):
        self.reader, self.board = Reader(directory, title), Board()
        self.news = asyncio.Event()
        self.followers, self.left_s = 0, time.monotonic()
        self.task: asyncio.Task[None] | None = None


class Hub:
    """A run directory, or a folder of run directories."""

    def __init__(self, root: Path):
        self.root = root
        self.closing = False
        self._followed = dict[str, _Followed]()
        self._listing, self._listed, self._listed_s = asyncio.Lock(), dict[str, Any](), -math.inf

    @property
    def single(self) -> bool:
        """Whether the folder is itself a run directory."""
        return (self.root / JOURNAL).is_file()

    def directory(self, run: str) -> Path:
        """Where a run is; the name of one is plain, and no link."""
        if self.single and run == self._own_name:
            return self.root
        return inside(self.root, run)

    @property
    def _own_name(self) -> str:
        name = self.root.resolve().name
        try:
            inside(self.root, name)
        except InvalidParameter:
            return "run"
        return name

    @property
    def followers(self) -> int:
        """How many look at any run."""
        return sum(each.followers for each in self._followed.values())

    @property
    def read(self) -> int:
        """How many runs are read."""
        return len(self._followed)

    async def ended(self) -> None:
        """When no run is read any more."""
        await asyncio.gather(*(each.task for each in self._followed.values() if each.task is not None))

    async def runs(self) -> dict[str, Any]:
        """The list of runs, made once a second at the most, for however many ask."""
        async with self._listing:
            if time.monotonic() - self._listed_s > _LIST_S:
                self._listed = await asyncio.to_thread(self.list)
                self._listed_s = time.monotonic()
            return self._listed

    def list(self) -> dict[str, Any]:
        """Every run at a glance, those written last first; and how many directories have names that no address can have."""
        if self.single:
            return {"runs": [self._glance(self._own_name, self.root)], "hidden": 0}
        found, hidden = list[tuple[float, str, Path]](), 0
        for path in self.root.iterdir() if self.root.is_dir() else ():
            if (path / JOURNAL).is_file():
                try:
                    found.append((_written_s(path), path.name, inside(self.root, path.name)))
                except InvalidParameter:
                    hidden += 1
        newest = sorted(found, reverse=True)[:MOST_RUNS]
        return {
            "runs": [self._glance(name, path) for _, name, path in newest],
            "hidden": hidden + len(found) - len(newest),
        }

    def _glance(self, name: str, path: Path) -> dict[str, Any]:
        try:
            return {"name": name, **asdict(peek(path))}
        except (RestSureError, OSError) as error:
            return {"name": name, "state": "damaged", "why": str(error)}

    async def events(self, run: str) -> AsyncGenerator[bytes, None]:
        """What is shown of a run, then whatever changes, until the follower goes or the server ends."""
        followed = self._follow(run)
        followed.followers += 1
        seen, spoken_s = 0, time.monotonic()
        try:
            while not self.closing:
                news = followed.news
                if followed.board.version > seen:
                    message, seen = followed.board.since(seen), followed.board.version
                elif time.monotonic() - spoken_s > _BEAT_S:
                    message = b": all is well\n\n"
                else:
                    await _until(news, 0.5)
                    continue
                yield message
                spoken_s = time.monotonic()
        finally:
            followed.followers -= 1
            followed.left_s = time.monotonic()

    async def story(self, run: str) -> str:
        """What is shown of a run now, when it has been read."""
        followed = self._follow(run)
        followed.left_s = time.monotonic()
        while not followed.board.version and not self.closing:
            await _until(followed.news, 0.5)
        return followed.board.story()

    def check(self, run: str) -> None:
        """That this run can be followed by one more; raises if not."""
        self._follow(run)
        if self.followers >= MOST_FOLLOWERS:
            raise Full(f"{MOST_FOLLOWERS} followers are there already")

    def _follow(self, run: str) -> _Followed:
        directory = self.directory(run)
        if run not in self._followed:
            if not directory.is_dir():
                raise InvalidParameter(f"run={run!r}: must be the name of a run directory")
            if len(self._followed) >= MOST_READ:
                raise Full(f"{MOST_READ} runs are followed already")
            followed = self._followed[run] = _Followed(directory, run)
            followed.task = asyncio.create_task(self._read(run, followed))
        return self._followed[run]

    async def _read(self, run: str, followed: _Followed) -> None:
        while not self.closing and (followed.followers or time.monotonic() - followed.left_s < _LINGER_S):
            parts, more = await asyncio.to_thread(followed.reader.step)
            if parts is not None and followed.board.put(parts):
                news, followed.news = followed.news, asyncio.Event()
                news.set()
            await asyncio.sleep(0 if more else _POLL_S)
        del self._followed[run]


def _written_s(path: Path) -> float:
    times = [file.stat().st_mtime for file in (path / JOURNAL, path / f"{JOURNAL}-wal") if file.exists()]
    return max(times, default=0.0)


async def _until(news: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await news.wait()
    except TimeoutError:
        pass

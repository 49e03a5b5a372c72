"""TensorBoard: every candidate is a run of its own, so that their curves lie over each other."""

import os
import socket
import time
from contextlib import suppress
from pathlib import Path

from restsure.errors import MissingExtra
from restsure.integrations.watching import News, Watcher, file_names
from restsure.training.session import Moment

try:
    from tensorboardX import summary
    from tensorboardX.proto.event_pb2 import Event
    from tensorboardX.record_writer import RecordWriter, directory_check
except ImportError:
    raise MissingExtra(
        "restsure.integrations.tensorboard needs tensorboardX: pip install 'restsure[tensorboard]'"
    ) from None

__all__ = ["TensorBoardCallback"]

_FLUSH_S = 2.0  # what TensorBoard shows is at most this old


class TensorBoardCallback(Watcher):
    """A callback of ``select`` that writes event files for TensorBoard into ``logdir``.

    In ``logdir/<candidate>``: ``loss`` by the training steps of that candidate; ``predicted/loss``, ``predicted/low`` and
    ``predicted/high``, what it is predicted to end with, by the steps of all together. In ``logdir``: ``budget/spent``, the
    decisions and the result as text.
    """

    def __init__(self, logdir: Path | str):
        super().__init__()
        self.logdir = str(logdir)
        self._folders, self._files = list[str](), dict[str, RecordWriter]()
        self._flushed, self._decisions = 0.0, 0

    def __repr__(self) -> str:
        return f"TensorBoardCallback({self.logdir!r})"

    def begin(self, moment: Moment) -> None:
        self._close()
        self._folders = [os.path.join(self.logdir, name) for name in file_names(moment.names)]
        self._flushed, self._decisions = time.monotonic(), 0

    def write(self, news: News) -> None:
        try:
            self._write(news)
            if news.end is not None or time.monotonic() - self._flushed > _FLUSH_S:
                self._flushed = time.monotonic()
                for file in self._files.values():
                    file.flush()
        except BaseException:
            self._close()
            raise
        if news.end is not None:
            self._close()

    def _write(self, news: News) -> None:
        for arm, first, losses in news.curves:
            for step, loss in enumerate(losses, start=first):
                self._add(self._folders[arm], summary.scalar("loss", loss), step, news.at)
        for arm, predicted in news.outlook.items():
            for tag, value in zip(("loss", "low", "high"), predicted, strict=True):
                self._add(self._folders[arm], summary.scalar(f"predicted/{tag}", value), news.steps, news.at)
        self._add(self.logdir, summary.scalar("budget/spent", news.spent), news.steps, news.at)
        for decision in news.decisions:
            self._decisions += 1
            self._add(self.logdir, summary.text("decisions", decision), self._decisions, news.at)
        if news.end is not None:
            self._add(self.logdir, summary.text("result", news.end.text), news.steps, news.at)
            for arm, reason in news.end.failures.items():
                self._add(self._folders[arm], summary.text("failure", reason), news.steps, news.at)

    def _add(self, folder: str, what: object, step: int, at: float) -> None:
        if folder not in self._files:
            self._files[folder] = _new_file(folder, at)
        self._files[folder].write(Event(summary=what, step=step, wall_time=at).SerializeToString())

    def _close(self) -> None:
        files, self._files = self._files, {}
        for file in files.values():
            with suppress(OSError):  # it was flushed, or cannot be
                file.close()


def _new_file(folder: str, at: float) -> RecordWriter:
    """A file of events that no other run writes to; tensorboardX's own writers have a thread and a queue for each."""
    directory_check(folder)
    name = f"events.out.tfevents.{int(at)}.{socket.gethostname()}.{os.getpid()}.{time.monotonic_ns()}"
    file = RecordWriter(os.path.join(folder, name))
    file.write(Event(wall_time=at, file_version="brain.Event:2").SerializeToString())
    return file

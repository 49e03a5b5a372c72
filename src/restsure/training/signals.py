"""Ctrl-C and SIGTERM: they end a run between two records, never within one."""

import signal
import threading
from types import FrameType
from typing import Any


class Stop(KeyboardInterrupt):
    """The process was asked to end (SIGTERM)."""


class Signals:
    """While it is open, Ctrl-C and SIGTERM raise where the run can be left; held, they wait.

    What they raise may be lost: in a learner that catches everything, or where Python lets nothing through (finalisers,
    callbacks of weak references). It is raised again at the next place where signals were held, until somebody says that it
    was :meth:`taken`.

    Handlers belong to the main thread, and to whoever has set others than Python's own: elsewhere nothing is changed. Those of
    Ray count as Python's own: they end the process at once, in the middle of a record.
    """

    def __init__(self) -> None:
        self._held, self._waiting = 0, list[int]()  # signals that nobody has taken
        self._before = dict[int, Any]()
        self._guard = Held(self)

    def __enter__(self) -> "Signals":
        if threading.current_thread() is threading.main_thread():
            for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
                handler = signal.getsignal(number)
                if handler is usual or getattr(handler, "__module__", "").startswith("ray."):
                    self._before[number] = signal.signal(number, self._came)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _came(self, number: int, frame: FrameType | None) -> None:
        self._waiting.append(number)
        if not self._held:
            self._raise()

    def _raise(self) -> None:
        raise Stop("SIGTERM") if self._waiting[-1] == signal.SIGTERM else KeyboardInterrupt

    def taken(self) -> None:
        """The run is being left: what has come so far is done with."""
        self._waiting.clear()

    def held(self) -> "Held":
        """What is done here is done to its end."""
        return self._guard

    def hold(self, by: int) -> None:
        """Hold them once more, or once less."""
        self._held += by

    def let_through(self) -> None:
        """Raise what has come meanwhile, if they are not held any more."""
        if self._waiting and not self._held:
            self._raise()


class Held:
    """Signals, held; a class, since a run passes here at every step and a generator takes twice as long."""

    def __init__(self, signals: Signals):
        self.signals = signals

    def __enter__(self) -> None:
        self.signals.hold(1)

    def __exit__(self, kind: object, *error: object) -> None:
        self.signals.hold(-1)
        if kind is None:
            self.signals.let_through()

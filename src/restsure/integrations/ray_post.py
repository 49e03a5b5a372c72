"""An actor with one learner, as the process that started it sees it."""

import math
import re
import time
from contextlib import suppress
from typing import Any

import ray
from ray.exceptions import (
    NodeDiedError,
    ObjectLostError,
    OutOfMemoryError,
    RayActorError,
    RayTaskError,
    WorkerCrashedError,
)

from restsure.integrations.ray_place import Luggage
from restsure.training.adapters import Judge
from restsure.training.executors.base import one_line
from restsure.training.executors.parcel import loads
from restsure.training.executors.worker import Reply

_GONE = (RayActorError, ObjectLostError, OutOfMemoryError, NodeDiedError, WorkerCrashedError)


class Post:
    """One request at a time: ``ask``, then ``look`` when what it ``waits_for`` is there or the deadline has come.

    The clock of a request begins when the actor has been set up: starting it, and waiting until the cluster has room for it,
    do not count. An actor that is gone, or was stopped, answers everything by saying so; ``lost``: it went by itself.
    """

    def __init__(self, actor: Any, arm: int, judge: Judge | None, luggage: Luggage):
        self.judge, self._arm, self._luggage = judge, arm, luggage
        self.up, self.at_work, self.dead, self.lost = False, False, "", False
        self.reply, self.began, self.seconds, self.deadline = Reply(), math.inf, 0.0, math.inf
        self.payload: Any = None
        self._request: tuple[Any, ...] = ()
        self._limit, self._what = math.inf, ""
        self._set_up(actor)

    def ask(self, verb: str, *arguments: Any, limit_s: float, what: str) -> None:
        """Send a request that may take ``limit_s`` seconds; ``what`` says it in words."""
        self._request, self._limit, self._what, self.at_work = (verb, *arguments), limit_s, what, True
        if self.dead:
            self._end(Reply(error=self.dead))
        elif self.up:
            self._begin()

    def take_over(self, actor: Any) -> None:
        """Be set up in an actor that another learner has left, instead of waiting for one of one's own."""
        self.stop()
        self._set_up(actor)

    def look(self) -> None:
        """Take in what has come; what is gone says so, and what is over its time is ended and says so."""
        while self.at_work and ray.wait([self.waits_for], timeout=0)[0]:
            self._hear()
        elapsed = time.monotonic() - self.began
        if self.at_work and time.monotonic() >= self.deadline:
            self._bury(f"was stopped after {elapsed:.3g} s: {self._what}")

    def stop(self) -> None:
        """End the actor at once."""
        with suppress(Exception):  # it is gone, or the cluster is
            ray.kill(self.actor, no_restart=True)

    def _hear(self) -> None:
        try:
            reply: Reply = loads(ray.get(self.waits_for), self.judge)
        except (*_GONE, RayTaskError) as error:
            cause = error.cause if isinstance(error, RayTaskError) else error
            if isinstance(cause, _GONE):  # or what it was to be set up from
                self._bury(f"died{'' if self.up else ' while starting'}: {_how(cause)}", lost=True)
                return
            reply = Reply(error=one_line(cause or error))
        if self.up:
            self._end(reply)
        elif reply.error is None:
            self.up = True
            self._begin()
        else:
            self.stop()
            self.dead = f"could not be set up in its actor ({reply.error})"
            self._end(Reply(None, self.dead, reply.traceback))

    def _set_up(self, actor: Any) -> None:
        luggage = self._luggage
        self.actor, self.since = actor, time.monotonic()
        self.waits_for = actor.set_up.remote(self._arm, luggage.body, luggage.judge, luggage.fixed, *luggage.buffers)

    def _begin(self) -> None:
        verb, *arguments = self._request
        if verb == "pack":
            self.waits_for, self.payload = self.actor.pack.options(num_returns=2).remote()
        else:
            self.waits_for = getattr(self.actor, verb).remote(*arguments)
        self.began = time.monotonic()
        self.deadline = self.began + self._limit

    def _bury(self, how: str, *, lost: bool = False) -> None:
        self.stop()
        self.dead, self.lost = f"the actor of this candidate {how}", lost
        self._end(Reply(error=self.dead))

    def _end(self, reply: Reply) -> None:
        self.reply, self.at_work = reply, False
        self.seconds = time.monotonic() - self.began if self.up else 0.0


def _how(error: Exception) -> str:
    """Why an actor is gone, in few words of the many that Ray has."""
    text = " ".join(str(error).split())
    found = re.search(r"The actor (?:is dead|died) because (.+?)(?:\.(?: |$)|$)", text)
    return (found[1] if found else one_line(error))[:200]

"""The learners of a run in actors of a Ray cluster."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ray

from restsure.errors import LearnerFailed, LearnerLost, OutOfTurn
from restsure.integrations.ray_place import Place, Shelf, loaded, read_files, write_files
from restsure.integrations.ray_post import Post
from restsure.training.adapters import Learner
from restsure.training.executors.away import CrewAway
from restsure.training.executors.parcel import judge_of, loads
from restsure.training.meter import Meter

if TYPE_CHECKING:
    from restsure.integrations.ray_executor import RayExecutor

_ACTOR = ray.remote(Place)
_STATE_LIMIT_S = 600.0  # for a learner to be saved, loaded, moved or brought back
_CROWDED_S = 15.0  # that an actor waits for room before another one, at rest, makes room for it
_LOOK_S = 5.0  # after which whoever waits looks around


class RayCrew(CrewAway):
    """Learners in actors, each started when it is first used."""

    def __init__(self, executor: "RayExecutor", learners: Sequence[Learner], meter: Meter, began: bool):
        super().__init__(learners, meter, executor.pull_timeout_s)
        self.executor = executor
        self._shelf: Shelf | None = Shelf(learners)
        self._posts = dict[int, Post]()  # the one that was used last comes last
        self._moved = dict[int, Any]()  # learners that have left their actors, in the object store
        self._stays = set[int]()  # learners that cannot leave their actors
        self._began = began

    def submit(self, arm: int, times: int) -> None:
        limit_s, what = self._limit(arm, times)
        post = self._post(arm)
        post.ask("train", times, limit_s=limit_s, what=what)
        self._out.add(arm)
        self._take(arm, post)
        self._make_room()

    def save(self, arm: int, directory: Path) -> None:
        write_files(directory, self._ask(arm, "save", what="saving"))

    def load(self, arm: int, directory: Path) -> None:
        self._ask(arm, "load", read_files(directory), what="loading")

    def renew(self, arm: int) -> bool:
        post = self._posts.pop(arm, None)
        if post is not None:
            post.stop()
        self._moved.pop(arm, None)
        self._stays.discard(arm)
        self._forget(arm)
        return True

    def learner(self, arm: int) -> Learner:
        if arm in self._posts:
            try:
                self._ask(arm, "pack", what="bringing it back")
                return self._arrived(arm, self._posts[arm].payload)
            except LearnerLost:
                raise
            except LearnerFailed:
                if self._posts[arm].dead or not self.can_save(arm):
                    raise
                loaded(self.learners[arm], self._ask(arm, "save", what="saving"))
        elif arm in self._moved:
            return self._arrived(arm, self._moved[arm])
        return self.learners[arm]  # as it was given, or loaded just now

    def close(self) -> None:
        for post in self._posts.values():
            post.stop()
        self._posts.clear()
        self._moved.clear()
        self._shelf = None
        if self._began:
            self._began = False
            ray.shutdown()

    def _arrived(self, arm: int, payload: Any) -> Learner:
        try:
            found: Learner = loads(ray.get(payload), judge_of(self.learners[arm]))
        except ray.exceptions.RayError as error:
            raise LearnerLost(f"the state of this candidate is gone: {type(error).__name__}") from error
        return found

    def _post(self, arm: int) -> Post:
        """The actor of an arm, started now if there is none."""
        if self._shelf is None:
            raise OutOfTurn("the crew is closed")
        post = self._posts.pop(arm, None)
        if post is None:
            moved = self._moved.pop(arm, None)
            luggage = self._shelf.luggage[arm] if moved is None else self._shelf.moved(arm, moved)
            full = self._alive >= max(self.executor.workers, self.executor.room())
            actor = self._vacated() if full else None
            if actor is None:
                actor = _ACTOR.options(**self.executor.options).remote(self.meter)
            post = Post(actor, arm, judge_of(self.learners[arm]), luggage)
        self._posts[arm] = post
        return post

    def _ask(self, arm: int, verb: str, *arguments: Any, what: str) -> Any:
        """What the actor of an arm answers; raises what went wrong there."""
        post = self._post(arm)
        while post.at_work:
            self._wait()
        post.ask(verb, *arguments, limit_s=_STATE_LIMIT_S, what=f"{what} may take {_STATE_LIMIT_S:g} s")
        while post.at_work:
            self._wait()
        if post.reply.os_error is not None:
            raise OSError(*post.reply.os_error)
        if post.reply.error is not None:
            raise (LearnerLost if post.lost else LearnerFailed)(post.reply.error)
        return post.reply.value

    def _wait(self) -> None:
        """Until one of the actors at work says something or dies, or its time is over, or it is time to look around."""
        self._make_room()
        at_work = {arm: post for arm, post in self._posts.items() if post.at_work}
        if not at_work:
            return
        left = min(post.deadline for post in at_work.values()) - time.monotonic()
        ray.wait([post.waits_for for post in at_work.values()], timeout=min(max(left, 0), _LOOK_S))
        for arm, post in at_work.items():
            post.look()
            self._take(arm, post)

    def _take(self, arm: int, post: Post) -> None:
        """Keep the outcome of a pull that has ended."""
        if post.at_work or arm not in self._out:
            return
        self._out.remove(arm)
        self._ended[arm] = self._outcome(arm, post.reply, post.seconds, lost=post.lost)

    @property
    def _alive(self) -> int:
        return sum(not post.dead for post in self._posts.values())

    def _make_room(self) -> None:
        """Where actors wait for resources that others hold at rest, they take those over.

        That is seen by how much the cluster has in all; or by how long it takes, since not only ours may use it.
        """
        for post in list(self._posts.values()):
            if not post.at_work or post.up:
                continue
            if self._alive <= self.executor.room() and time.monotonic() - post.since < _CROWDED_S:
                continue
            if (actor := self._vacated()) is None:
                return
            post.take_over(actor)

    def _vacated(self) -> Any:
        """The actor of the learner that has been at rest for longest, which is now kept in the object store; None if none is.

        A learner that cannot be sent stays where it is.
        """
        for arm, post in self._posts.items():
            if not post.up or post.at_work or post.dead or arm in self._stays:
                continue
            post.ask("pack", limit_s=_STATE_LIMIT_S, what=f"moving may take {_STATE_LIMIT_S:g} s")
            while post.at_work:
                ray.wait([post.waits_for], timeout=_LOOK_S)
                post.look()
            if post.reply.error is None:
                self._moved[arm] = post.payload
                del self._posts[arm]
                return post.actor
            self._stays.add(arm)
        return None

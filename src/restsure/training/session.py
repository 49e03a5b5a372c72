"""A run: ask the game, have the pulls made, tell the game, record, let others watch; until the budget is spent."""

import errno
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from restsure.errors import InvalidLoss, LearnerLost, RunError, WriteFailed
from restsure.journal import Journal, Record
from restsure.policies import Game
from restsure.training.adapters import Learner
from restsure.training.checkpoints import Keeper
from restsure.training.executors import Crew, Executor, Outcome, one_line
from restsure.training.replay import Progress
from restsure.training.result import Block
from restsure.training.signals import Signals, Stop

_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EFBIG}  # not the fault of the learner that met it
_PIECE_S = 10.0  # of training after which a record is made, within one block: that much is lost at the most


@dataclass(frozen=True, slots=True)
class Moment:
    """What callbacks are shown after every block of pulls and at the end: look, do not touch."""

    names: tuple[str, ...]
    game: Game
    history: Sequence[Block]
    over: bool


Callback = Callable[[Moment], None]


class Session:
    """One run in progress, from wherever ``progress`` stands; with a journal, every step of it is recorded."""

    def __init__(
        self,
        progress: Progress,
        crew: Crew,
        executor: Executor,
        *,
        journal: Journal | None = None,
        keeper: Keeper | None = None,
        retries: int = 0,
        watchers: Sequence[Callback] = (),
        remark: Callable[[int], str | None] = lambda arm: None,
    ):
        """``remark``: what there is to say of an arm if it is the one to return."""
        self.progress, self.crew, self.executor = progress, crew, executor
        self.journal, self.keeper, self.retries, self.watchers = journal, keeper, retries, watchers
        self.remark = remark
        self.behind = {arm for arm, pulls in enumerate(progress.game.pulls) if pulls}  # learners yet to be brought back
        self.asked = list[tuple[int, int] | None]()  # since the last record; None where the rule wanted nothing
        self.told = len(progress.game.log)  # decisions that are in the journal
        self.pieces = [2**31] * progress.game.n_arms  # how many pulls of each arm are made between two records
        self.touched = set[int]()  # learners that are not as they were given any more
        self.cannot_save = set[int]()
        self.signals = Signals()
        self.interrupted = False

    def run(self) -> None:
        """To the end of the budget, or until somebody stops it."""
        progress = self.progress
        with self.signals as signals:
            try:
                self._begin()
                while self._fill():
                    outcome = self.crew.collect(next(iter(progress.out)) if self.executor.deterministic else None)
                    with signals.held():
                        self._take(outcome)
                    self._show(over=False)
                self._end()
            except KeyboardInterrupt as error:
                signals.taken()
                if not any(progress.game.pulls):
                    raise
                self.interrupted = True
                with signals.held():
                    self._stop("SIGTERM" if isinstance(error, Stop) else "Ctrl-C")
                self._winner()  # it may be still as it was given, if the run was resumed
            finally:
                self._show(over=True)

    def _begin(self) -> None:
        """What was under way when the run was stopped goes on; where there may be retries, all begin with a saved state."""
        for arm, pull in list(self.progress.out.items()):
            self._submit(arm, pull.times)
        for arm in range(self.progress.game.n_arms):
            if self.retries and not self.progress.game.pulls[arm]:
                self._save(arm)

    def _fill(self) -> bool:
        """Hand out pulls while there are workers and the rule wants any; whether some are out."""
        progress, pull = self.progress, None
        while len(progress.out) < self.executor.workers:
            pull = progress.ask(self.pieces)
            self.asked.append(None if pull is None else (pull.arm, pull.times))
            if pull is None:
                break
            self._submit(pull.arm, pull.times)
        return bool(progress.out)

    def _submit(self, arm: int, times: int) -> None:
        if arm not in self.behind or self._bring_back(arm):
            self.touched.add(arm)
            self.crew.submit(arm, times)

    def _take(self, outcome: Outcome) -> None:
        """Tell the game what came of a pull, and record it; whatever went wrong fails that candidate only."""
        arm, progress = outcome.arm, self.progress
        if outcome.error is None:
            try:
                losses = progress.tell(arm, outcome.losses, outcome.cost, outcome.seconds)
            except InvalidLoss as error:
                outcome = outcome._replace(error=one_line(error).removeprefix("InvalidLoss: "))
            else:
                self.pieces[arm] = max(1, int(min(2**31, _PIECE_S * len(losses) / max(outcome.seconds, 1e-9))))
                self._record("block", arm=arm, losses=losses, cost=outcome.cost, seconds=outcome.seconds)
                if self.keeper is not None:
                    if self.keeper.trained(arm, outcome.seconds):
                        self._save(arm)
                    self._drop(progress.game.given_up)
                return
        if self._renew(outcome):
            self._submit(arm, progress.out[arm].times)
        else:
            self._fail(outcome)

    def _fail(self, outcome: Outcome) -> None:
        arm, reason = outcome.arm, outcome.error or "failed"
        self.progress.fail(arm, reason, outcome.cost)
        self._record("fail", arm=arm, reason=reason, traceback=outcome.traceback, cost=outcome.cost)

    def _renew(self, outcome: Outcome) -> bool:
        """Whether a learner may go back to its last saved state, or to the start; it is brought back when next it is used.

        One whose place is lost is given others as often as the executor says, and is then treated like one that failed.
        """
        arm, progress = outcome.arm, self.progress
        restart = outcome.lost and progress.restarts.get(arm, 0) < self.executor.max_restarts
        most, counts = (self.executor.max_restarts, progress.restarts) if restart else (self.retries, progress.retries)
        tries = counts.get(arm, 0)
        if tries >= most or not (self.crew.renew(arm) or arm in progress.states):
            return False
        counts[arm] = tries + 1
        again = f"restart {tries + 1} of {most}" if restart else f"try {tries + 2} of {most + 1}"
        told: dict[str, Any] = {"restarted" if restart else "retried": arm, "traceback": outcome.traceback}
        self._note(f"{progress.names[arm]}: {outcome.error}; {again}", **told)
        self.behind.add(arm)
        return True

    def _lost(self, arm: int, error: LearnerLost) -> bool:
        """The place of a learner is gone: it is brought back in another one when next it is used, or fails."""
        outcome = Outcome(arm, None, None, 0.0, str(error), lost=True)
        if self._renew(outcome):
            return True
        self._fail(outcome)
        return False

    def _bring_back(self, arm: int) -> bool:
        """Load the last saved state of a learner and make the pulls after it again; whether that went well.

        What is recorded stands: where the learner now gives other losses, that is said, and the game is not told.
        """
        progress = self.progress
        try:
            had, pulls = self._load(arm), progress.game.pulls[arm]
        except LearnerLost as error:
            return self._lost(arm, error) and self._bring_back(arm)
        self.behind.discard(arm)
        if had is None:
            self._fail(Outcome(arm, None, None, 0.0, "its checkpoint was refused, and it cannot begin again"))
            return False
        if had == pulls:
            return True
        self.crew.submit(arm, pulls - had)
        again = self.crew.collect(arm)
        if again.lost and self._renew(again):
            return self._bring_back(arm)
        recorded = progress.losses(arm)[had:]
        if again.error is None and len(again.losses) != len(recorded):
            again = again._replace(error=f"{len(again.losses)} losses for {len(recorded)} training steps")
        if again.error is not None:
            self._fail(again._replace(error=f"could not be brought back: {again.error}", cost=None))
            return False
        for k, (was, now) in enumerate(zip(recorded, again.losses, strict=True), start=had + 1):
            if was != now:
                self._note(
                    f"{progress.names[arm]}: training step {k}, made again, has loss {now:g}, and {was:g} in the journal, "
                    f"which stands: this candidate is not deterministic, or not what it was"
                )
                break
        return True

    def _load(self, arm: int) -> int | None:
        """The pulls that a learner has after its last saved state was loaded: none, where it begins again instead."""
        if arm not in self.progress.states or self.keeper is None:
            return 0
        state, pulls = self.progress.states[arm]
        try:
            self.crew.load(arm, self.keeper.states.find(state))
        except LearnerLost:
            raise
        except Exception as error:
            name, why = self.progress.names[arm], one_line(error)
            self._note(f"{name}: its checkpoint was refused ({why}); its {pulls} training steps are made again")
            return 0 if self.crew.renew(arm) or arm not in self.touched else None
        return pulls

    def _save(self, arm: int) -> None:
        """Save a learner's state, then record it; a learner that cannot be saved goes on without."""
        if self.keeper is None or self.journal is None or arm in self.cannot_save or arm in self.behind:
            return
        name, pulls, state = self.progress.names[arm], self.progress.game.pulls[arm], None
        able, why = self.crew.can_save(arm), "it has no save and load"
        if able:
            try:
                state = self.keeper.save(arm, pulls, lambda directory: self.crew.save(arm, directory))
                why = "all states together would exceed max_bytes"
            except RunError:
                raise
            except LearnerLost as error:
                self._lost(arm, error)
                return
            except Exception as error:
                if isinstance(error, OSError) and error.errno in _DISK:
                    raise WriteFailed(f"{self.journal.directory}: {name}: {error.strerror}; resume later") from None
                why = one_line(error)
        if state is None:
            self.cannot_save.add(arm)
            self._note(f"{name}: cannot be saved ({why}); whoever resumes makes its training steps again", warn=able)
            return
        self._record("checkpoint", arm=arm, pulls=pulls, **state.to_dict())
        self.keeper.keep(arm, pulls, state)

    def _drop(self, arms: Iterable[int]) -> None:
        """States of candidates that were given up go; those of candidates that failed stay, to look at."""
        if self.keeper is None:
            return
        gone = self.keeper.superfluous(arm for arm in arms if arm not in self.progress.game.failures)
        if gone:
            self._record("drop", arms=gone)
            self.keeper.drop(gone)

    def _end(self) -> None:
        """The winner, as it is in the journal, is saved, and its rivals' states go."""
        game = self.progress.game
        best = self._winner()
        if self.progress.ended:
            return
        while best is not None and self.progress.states.get(best, (None, -1))[1] != game.pulls[best]:
            self._save(best)
            if best not in self.behind and best not in game.failures:
                break
            best = self._winner()
        if best is not None:
            self._drop(arm for arm in range(game.n_arms) if arm != best)
            if (remark := self.remark(best)) and remark not in self.progress.notes:
                self._note(remark, warn=False)
        self._record("end", arm=best)

    def _winner(self) -> int | None:
        """The arm to return, its learner as far as its pulls; None if all have failed."""
        game = self.progress.game
        while len(game.failures) < game.n_arms:
            best = game.recommend().arm
            if best not in self.behind or self._bring_back(best):
                return best
        return None

    def learner(self, arm: int) -> Learner:
        """The learner itself, trained as far as it is; brought back, where its place was lost after the last record."""
        while True:
            try:
                return self.crew.learner(arm)
            except LearnerLost as error:
                lost = Outcome(arm, None, None, 0.0, str(error), lost=True)
                if not (self._renew(lost) and self._bring_back(arm)):
                    raise

    def _stop(self, why: str) -> None:
        """Save what would be lost, except for what was in the middle of a pull."""
        for arm, seconds in sorted(self.keeper.at_risk.items() if self.keeper is not None else ()):
            if seconds and arm not in self.progress.out and arm not in self.progress.game.failures:
                self._save(arm)
        self._record("stop", why=why)

    def _note(self, text: str, *, warn: bool = True, **more: Any) -> None:
        self.progress.notes.append(text)
        if warn:
            warnings.warn(text, RuntimeWarning, stacklevel=2)
        self._record("note", text=text, **more)

    def _record(self, kind: str, **body: Any) -> None:
        """Whatever is asked for or decided since the last record goes with this one; it stays in memory too."""
        records, log = self.progress.records, self.progress.game.log
        asked, self.asked = self.asked, []
        fresh, self.told = log[self.told :], len(log)
        if asked:
            body["asked"] = asked
        if fresh:
            body["decisions"] = [decision.text(self.progress.game.unit) for decision in fresh]
        with self.signals.held():
            if self.journal is not None:
                self.journal.append(kind, body)
            records.append(Record(len(records) + 1, 0, kind, time.time(), body))

    def _show(self, *, over: bool) -> None:
        for watch in self.watchers:
            watch(Moment(self.progress.names, self.progress.game, self.progress.history, over))

"""MLflow: a run for the selection, and a nested run for every candidate, sent from a thread of its own."""

import queue
import threading
import time
from collections.abc import Iterable, Iterator, Sequence

from restsure import checks
from restsure.errors import MissingExtra
from restsure.integrations.watching import End, News, Watcher
from restsure.problem import amount
from restsure.training.session import Moment

try:
    import mlflow
    from mlflow import MlflowClient
    from mlflow.entities import Metric, Param, RunTag
except ImportError:
    raise MissingExtra("restsure.integrations.mlflow needs mlflow: pip install 'restsure[mlflow]'") from None

__all__ = ["MLflowCallback"]

_EVERY_S = 1.0  # requests are made no more often: what comes in between goes together
_AT_ONCE = 1_000  # metrics in one request, the most that MLflow takes
_TEXT = 4_900  # characters of a tag that every version keeps


class MLflowCallback(Watcher):
    """A callback of ``select`` that writes to an MLflow tracking server or store.

    The selection is a run of the ``experiment``: its parameters, ``spent``, and decisions and result as its description. Every
    candidate is a nested run with its name: ``loss`` by its own training steps; ``predicted``, ``predicted_low`` and
    ``predicted_high``, the loss it is predicted to end with, by the steps of all together. The winner is the tag
    ``restsure.winner``; a candidate that failed is a failed run with the reason as ``restsure.failure``.

    ``tracking_uri``: MLflow's own setting if None; then a run that is active is the parent of this one. Requests are made by a
    thread, so that training never waits for them; at the end it does, for ``timeout_s`` at the most, until all is sent. After a
    run, ``run_id`` is that of the selection.
    """

    def __init__(
        self,
        tracking_uri: str | None = None,
        *,
        experiment: str = "restsure",
        run_name: str | None = None,
        timeout_s: float = 30.0,
    ):
        super().__init__()
        checks.instance("experiment", experiment, str)
        self.tracking_uri, self.experiment, self.run_name = tracking_uri, experiment, run_name
        self.timeout_s = checks.real("timeout_s", timeout_s, above=0)
        self._sender: _Sender | None = None

    def __repr__(self) -> str:
        return f"MLflowCallback({self.tracking_uri or mlflow.get_tracking_uri()!r})"

    @property
    def run_id(self) -> str | None:
        """Of the selection; None before it is known to the server."""
        return None if self._sender is None else self._sender.run_id

    def begin(self, moment: Moment) -> None:
        active = mlflow.active_run() if self.tracking_uri is None else None
        game = moment.game
        self._sender = _Sender(
            self.tracking_uri,
            self.experiment,
            self.run_name or f"{type(game.policy).__name__} of {game.n_arms} candidates",
            None if active is None else active.info.run_id,
            moment.names,
            {
                "policy": str(game.policy),
                "budget": f"{amount(game.horizon)} {game.unit}",
                "candidates": str(game.n_arms),
            },
        )
        self._sender.start()

    def write(self, news: News) -> None:
        sender = self._sender
        assert sender is not None
        sender.news.put(news)
        if news.end is not None:
            sender.join(self.timeout_s)
            if sender.is_alive():
                raise TimeoutError(f"not everything could be sent within {self.timeout_s:g} s")
        if sender.error is not None:
            raise sender.error


class _Sender(threading.Thread):
    """Makes the requests of one run, in order; ``error`` is what ended it early."""

    def __init__(
        self,
        uri: str | None,
        experiment: str,
        run_name: str,
        parent: str | None,
        names: Sequence[str],
        parameters: dict[str, str],
    ):
        super().__init__(name="restsure-mlflow", daemon=True)
        self.news = queue.SimpleQueue[News]()
        self.error: Exception | None = None
        self.run_id: str | None = None
        self._uri, self._experiment, self._run_name, self._parent = uri, experiment, run_name, parent
        self._names, self._parameters = names, parameters
        self._children = dict[int, str]()
        self._decisions = list[str]()

    def run(self) -> None:
        """Until the end of the run, or an error."""
        try:
            self._open()
            while not self._send(list(self._gathered())):
                pass
        except Exception as error:
            self.error = error

    def _gathered(self) -> Iterator[News]:
        """All news of the next second, fewer if the run ends within it."""
        until = None
        while True:
            try:
                news = self.news.get(timeout=None if until is None else max(until - time.monotonic(), 0.0))
            except queue.Empty:
                return
            until = time.monotonic() + _EVERY_S if until is None else until
            yield news
            if news.end is not None:
                return

    def _open(self) -> None:
        self._client = MlflowClient(tracking_uri=self._uri)
        self._experiment_id = self._find_experiment()
        self.run_id = self._create(self._run_name, self._parent)
        self._client.log_batch(self.run_id, params=[Param(key, value) for key, value in self._parameters.items()])

    def _find_experiment(self) -> str:
        found = self._client.get_experiment_by_name(self._experiment)
        if found is None:
            try:
                return self._client.create_experiment(self._experiment)
            except Exception:  # somebody else may have made it meanwhile
                found = self._client.get_experiment_by_name(self._experiment)
                if found is None:
                    raise
        return str(found.experiment_id)

    def _create(self, name: str, parent: str | None) -> str:
        tags = {} if parent is None else {"mlflow.parentRunId": parent}
        return str(self._client.create_run(self._experiment_id, run_name=name, tags=tags).info.run_id)

    def _child(self, arm: int) -> str:
        if arm not in self._children:
            self._children[arm] = self._create(self._names[arm], self.run_id)
        return self._children[arm]

    def _send(self, several: Sequence[News]) -> bool:
        """What they say, in as few requests as can be; whether the run is over."""
        metrics, tags = dict[str, list[Metric]](), list[RunTag]()
        for news in several:
            for run, metric in self._metrics(news):
                metrics.setdefault(run, []).append(metric)
            self._decisions += news.decisions
        end = several[-1].end
        if end is not None or any(news.decisions for news in several):
            tags.append(RunTag("mlflow.note.content", self._note(end)))
        for run, many in metrics.items():
            for first in range(0, len(many), _AT_ONCE):
                self._client.log_batch(run, metrics=many[first : first + _AT_ONCE])
        assert self.run_id is not None
        if tags:
            self._client.log_batch(self.run_id, tags=tags)
        if end is not None:
            self._finish(self.run_id, end)
        return end is not None

    def _metrics(self, news: News) -> Iterable[tuple[str, Metric]]:
        at = int(1_000 * news.at)
        for arm, first, losses in news.curves:
            for step, loss in enumerate(losses, start=first):
                yield self._child(arm), Metric("loss", loss, at, step)
        for arm, predicted in news.outlook.items():
            for key, value in zip(("predicted", "predicted_low", "predicted_high"), predicted, strict=True):
                yield self._child(arm), Metric(key, value, at, news.steps)
        assert self.run_id is not None
        yield self.run_id, Metric("spent", news.spent, at, news.steps)

    def _note(self, end: End | None) -> str:
        """Shown as the description of the run."""
        return ("\n\n".join(self._decisions) if end is None else end.text.replace("\n", "\n\n"))[:_TEXT]

    def _finish(self, run_id: str, end: End) -> None:
        for arm, reason in end.failures.items():
            self._client.log_batch(self._child(arm), tags=[RunTag("restsure.failure", reason[:_TEXT])])
        for arm, child in self._children.items():
            self._client.set_terminated(child, "FAILED" if arm in end.failures else "FINISHED")
        if end.winner is not None:
            name = self._names[end.winner]
            tags = [RunTag("restsure.winner", name[:_TEXT]), RunTag("restsure.winner_run", self._child(end.winner))]
            self._client.log_batch(run_id, metrics=[Metric("loss", end.loss, int(1_000 * time.time()), 0)], tags=tags)
        status = "KILLED" if end.interrupted else "FAILED" if end.winner is None else "FINISHED"
        self._client.set_terminated(run_id, status)

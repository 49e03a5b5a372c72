"""The main job: train the candidates under one budget, and give back the best one, trained."""

import json
import numbers
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from restsure import checks
from restsure.errors import DamagedRun, InvalidParameter, WrongType
from restsure.journal import Journal, Record, States, encoded
from restsure.policies import HorizonLCB, Policy
from restsure.training.adapters import BatchLearner, Judge, Learner, LoopLearner, as_learner
from restsure.training.checkpoints import Checkpoints, Keeper
from restsure.training.estimator_learners import takes_nan
from restsure.training.executors import Executor, InProcess
from restsure.training.identity import check_same, told, versions
from restsure.training.losses import OF_NUMBERS, loss_named
from restsure.training.meter import Meter, read_budget
from restsure.training.progress import show_progress
from restsure.training.replay import Progress, replay
from restsure.training.result import Result, result_of
from restsure.training.session import Callback, Session
from restsure.training.stream import ArrayStream, Stream, checked_pair, is_pair, is_text, open_stream, split_rows

_SMALLEST_BATCH = 16  # samples in a pull, unless said otherwise: fewer make losses all noise
_STEPS = 256  # in which the data are used up once, where the budget says nothing about steps


def select(
    candidates: Mapping[str, Any],
    data: Any = None,
    *,
    budget: int | str,
    batch_size: int | None = None,
    loss: str | Callable[[Any, Any], float] | None = None,
    validation: tuple[Any, Any] | float | None = None,
    classes: Sequence[Any] | None = None,
    policy: Policy | None = None,
    run_dir: Path | str | None = None,
    checkpoints: Checkpoints | None = None,
    executor: Executor | None = None,
    retries: int = 0,
    callbacks: Sequence[Callback] = (),
    progress: bool = True,
    random_state: int | None = None,
    _source: Mapping[str, Any] | None = None,
) -> Result:
    """Train ``candidates`` under one total ``budget``, and return the best one, trained.

    ``budget``: training steps (pulls) in total over all candidates; or text: a duration such as "10min" of training, in which
    a slow candidate must be worth its time, or a number such as "60000 samples".

    ``candidates``: by name, scikit-learn estimators with ``partial_fit`` or ``warm_start``, boosters of LightGBM, XGBoost and
    CatBoost, pipelines that end in one of these, river models, functions that make a step and return its loss, generators of
    losses, or any :class:`Learner`. Estimators and river models are cloned, as scikit-learn does; what trains itself is
    trained in place.

    ``data``: a pair (X, y) of arrays, data frames or sparse matrices; an iterable of batches (X, y), or of single samples as
    river's streams have them; or None when the candidates own their data. Pull s of any candidate is trained on the same s-th
    batch of ``batch_size`` samples (as many as use up the data once in the whole budget of steps, 16 at least, if None);
    passes are reshuffled by ``random_state``.

    ``loss``: "zero_one" (default for classifiers), "balanced", "log", "squared" (default for regressors), "absolute", or a
    function of (y_true, y_pred). It is taken on the batch that comes next, before it is learnt, or on ``validation``, part by
    part. The errors of a regression are compared in logarithms where they exceed those of the best constant
    (``HorizonLCB(reference=...)``), and reported as they are.

    NaN in X is refused unless a candidate takes it, as boosters and pipelines with an imputer do; the others are out then.

    ``validation``: a pair (X, y), or a share of the rows (.1, say), which is drawn by ``random_state`` and held back: for data
    that are passed over more than once, since the batch that comes next was then learnt before.

    ``classes``: all targets, for classifiers on a stream whose first batch does not have each of them.

    ``run_dir``: a directory for the journal of the run and the states of its learners, saved as ``checkpoints`` says. The
    same call with the same directory goes on where the run stood, whatever ended it, exactly as if it had not ended; of a
    run that is over, it gives the result again.

    ``executor``: where training happens: in this process, or, by ``ProcessExecutor(workers=...)``, each candidate in one of
    its own, several side by side.

    A candidate that raises, or whose loss is no finite number, is out, and its share goes to the others; with ``retries``, it
    is first brought back to its last saved state, so many times. Ctrl-C returns the best so far.

    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import Perceptron, SGDClassifier
    >>> from sklearn.naive_bayes import MultinomialNB
    >>> models = {"bayes": MultinomialNB(), "perceptron": Perceptron(), "svm": SGDClassifier(random_state=0)}
    >>> result = select(models, load_digits(return_X_y=True), budget=60, random_state=0)
    >>> sum(result.pulls.values()), result.name in models
    (60, True)
    """
    names = _checked_names(candidates)
    meter = read_budget(budget)
    seed = 0 if random_state is None else checks.whole("random_state", random_state, at_least=0)
    retries = checks.whole("retries", retries, at_least=0)
    policy = HorizonLCB() if policy is None else policy
    checks.instance("policy", policy, Policy)
    executor = InProcess() if executor is None else executor
    checks.instance("executor", executor, Executor)
    rule = Checkpoints() if checkpoints is None else checkpoints
    checks.instance("checkpoints", rule, Checkpoints)
    nan = any(takes_nan(candidate) for candidate in candidates.values())  # whoever does not is out where there is any
    if isinstance(validation, numbers.Real) and data is not None:
        data, validation, classes = _hold_back(data, validation, classes, seed, nan)
    stream = open_stream(data, batch_size=_batch_size(batch_size, data, meter), seed=seed, nan=nan)
    judge = _judge(stream, loss, validation, classes)
    learners = [as_learner(name, candidates[name], judge) for name in names]
    _check_apart(names, learners)
    _check_losses(names, learners)
    if stream is not None and not any(isinstance(learner, BatchLearner) for learner in learners):
        raise InvalidParameter("data: must be None, since no candidate would learn from it: all own their data")
    for number, learner in enumerate(learners):
        if isinstance(learner, BatchLearner):
            learner.seeded(seed, number)
            learner.pickled = rule.pickle
    policy = _with_reference(policy, judge, learners)
    costs = meter.costs(policy, names, learners)
    watchers = [*callbacks, *([show_progress()] if progress else [])]
    game = meter.start(policy, len(names), costs, seed)  # what it refuses is refused before a journal is begun
    with ExitStack() as stack:
        journal = keeper = None
        if run_dir is None:
            begin = told(names, candidates, None, meter=meter, costs=costs, policy=policy, seed=seed)
            run = Progress(names, meter, game, records=[_record(1, "begin", begin)])
            run.records.append(_record(2, "open", _opened(executor)))
        else:
            begin = told(names, candidates, judge, meter=meter, costs=costs, policy=policy, seed=seed)
            journal = stack.enter_context(Journal(run_dir))
            run, keeper = _recorded(journal, begin, _source, rule, executor)
        crew = stack.enter_context(closing(executor.open(learners, meter)))
        session = Session(
            run,
            crew,
            executor,
            journal=journal,
            keeper=keeper,
            retries=retries,
            watchers=watchers,
            remark=lambda arm: _seen_before(names[arm], learners[arm], run.game.pulls[arm]),
        )
        session.run()

        def model(arm: int) -> Any:
            learner = session.learner(arm)
            return getattr(learner, "model", learner)

        return result_of(
            names,
            run.game,
            run.history,
            model=model,
            interrupted=session.interrupted,
            notes=run.notes,
            records=run.records,
        )


def _recorded(
    journal: Journal, begin: dict[str, Any], source: Mapping[str, Any] | None, rule: Checkpoints, executor: Executor
) -> tuple[Progress, Keeper]:
    """What the journal says of the run so far, which must be this one; a new run, where it says nothing.

    ``source``: from what the command line has read these arguments.
    """
    if journal.records:
        check_same(journal.directory, journal.records[0].body, json.loads(encoded(begin)))
    else:
        journal.begin({**begin, "source": source})
    try:
        run = replay(journal.records)
    except DamagedRun as error:
        raise DamagedRun(f"{journal.directory}: {error}") from None
    keeper = Keeper(rule, States(journal.directory, journal.files), run.states)
    if not run.ended:
        keeper.tidy()  # what a crash left behind
        journal.append("open", _opened(executor))
        run.records.append(_record(len(run.records) + 1, "open", _opened(executor)))
    return run, keeper


def _opened(executor: Executor) -> dict[str, Any]:
    return {**versions(), "process": os.getpid(), "workers": executor.workers}


def _record(number: int, kind: str, body: dict[str, Any]) -> Record:
    return Record(number, 0, kind, time.time(), body)


def _checked_names(candidates: Any) -> tuple[str, ...]:
    if not isinstance(candidates, Mapping):
        raise WrongType(f"candidates: must be a dictionary of learners by name, not {type(candidates).__name__}")
    if not candidates:
        raise InvalidParameter("candidates: must not be empty")
    for name in candidates:
        if not isinstance(name, str) or not name.strip():
            raise InvalidParameter(f"candidates: names must be text that is not empty, but one is {name!r}")
    return tuple(map(str, candidates))


def _with_reference(policy: Policy, judge: Judge | None, learners: Sequence[Learner]) -> Policy:
    """Errors of a regression have any size: what someone makes who always says the same is told to the default policy."""
    losses = {learner.loss for learner in learners if isinstance(learner, BatchLearner)}
    if judge is None or not isinstance(policy, HorizonLCB) or policy.reference is not None or policy.certified:
        return policy
    if len(losses) != 1 or not losses <= OF_NUMBERS.keys():
        return policy
    [loss], (_, y) = losses, judge.stream.batch(0)
    reference = loss(y, np.full(len(y), OF_NUMBERS[loss](y)))
    return replace(policy, reference=reference) if reference > policy.floor else policy


def _check_apart(names: Sequence[str], learners: Sequence[Learner]) -> None:
    """What trains itself is trained in place, and cannot be two candidates at once; a function may be called by two."""
    first = dict[int, str]()
    for name, learner in zip(names, learners, strict=True):
        trained = getattr(learner, "model", learner)
        other = first.setdefault(id(trained), name)
        if other != name and (not isinstance(learner, LoopLearner) or isinstance(trained, Iterator)):
            raise InvalidParameter(f"candidates: {other!r} and {name!r} must not be the same object, which trains once")


def _check_losses(names: Sequence[str], learners: Sequence[Learner]) -> None:
    """One for all, that the targets have.

    Without ``loss``, classifiers have one of their own and regressors another: they cannot be told apart by these.
    """
    losses = dict[str, str]()
    for name, learner in zip(names, learners, strict=True):
        if isinstance(learner, BatchLearner):
            losses.setdefault(learner.loss.name, name)
            if learner.loss in OF_NUMBERS and is_text(learner.judge.labels):
                raise InvalidParameter(
                    f"loss={learner.loss.name!r}: must be one of labels for {name!r}, since the targets are no numbers"
                )
    if len(losses) > 1:
        (one, first), (other, second), *_ = losses.items()
        raise InvalidParameter(
            f"candidates: {first!r} has the loss {one!r} and {second!r} the loss {other!r}, and they cannot be compared: "
            f"name one for all by loss="
        )


def _seen_before(name: str, learner: Learner, pulls: int) -> str | None:
    """What must be known of the losses of a candidate that was trained for longer than the data last."""
    step = learner.judge.known_from(pulls) if isinstance(learner, BatchLearner) else None
    if step is None:
        return None
    return (
        f"{name}: the data last for {step:,} training steps; losses after that are of samples that it has learnt from, "
        f"lower than those of new ones would be: validation=0.1 holds a tenth back to judge by"
    )


def _batch_size(value: int | None, data: Any, meter: Meter) -> int:
    if value is not None:
        return checks.whole("batch_size", value, at_least=1)
    rows = getattr(data[0], "shape", None) if isinstance(data, tuple) and len(data) == 2 else None
    count = rows[0] if rows else len(data[0]) if isinstance(data, tuple) and hasattr(data[0], "__len__") else 0
    return max(_SMALLEST_BATCH, -(-count // (_STEPS if meter.measures else int(meter.total))))


def _hold_back(data: Any, share: Any, classes: Any, seed: int, nan: bool) -> tuple[Any, tuple[Any, Any], Any]:
    """What is left of the data, the share of it that candidates are judged by, and the classes, should one be in that only."""
    share = checks.real("validation", share, above=0, below=1)
    if not is_pair(data):
        raise InvalidParameter(f"validation={share:g}: must be (X, y), since only of arrays a share can be held back")
    data = checked_pair("data", *data, nan=nan)
    left, held = split_rows(data, share, seed)
    return left, held, np.unique(data[1]) if classes is None else classes


def _judge(stream: Stream | None, loss: Any, validation: Any, classes: Any) -> Judge | None:
    if stream is None:
        for name, value in (("loss", loss), ("validation", validation), ("classes", classes)):
            if value is not None:
                raise InvalidParameter(f"{name}: must be None when data is None, since candidates judge themselves")
        return None
    held_out = None
    if validation is not None:
        if not isinstance(validation, tuple) or len(validation) != 2:
            raise WrongType(
                f"validation: must be a pair (X, y) or a share of the rows, not {type(validation).__name__}"
            )
        held_out = checked_pair("validation", *validation, nan=stream.nan)
    part = stream.size if isinstance(stream, ArrayStream) else len(stream.batch(0)[1])
    labels = stream.classes() if classes is None else np.unique(np.asarray(classes))
    return Judge(stream, loss_named(loss), labels, held_out, part)

"""The main job: train the candidates under one budget, and give back the best one, trained."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from restsure import checks
from restsure.errors import InvalidLoss, InvalidParameter, NoArmLeft, WrongType
from restsure.policies import Game, HorizonLCB, Policy
from restsure.problem import Pull
from restsure.training.adapters import BatchLearner, Judge, Learner, LoopLearner, as_learner
from restsure.training.losses import LOSSES, loss_named
from restsure.training.meter import Meter, read_budget
from restsure.training.progress import show_progress
from restsure.training.result import Block, History, Result, certificate_of
from restsure.training.stream import ArrayStream, Stream, checked_pair, open_stream

_SMALLEST_BATCH = 16  # samples in a pull, unless said otherwise: fewer make losses all noise
_STEPS = 256  # in which the data are used up once, where the budget says nothing about steps


@dataclass(frozen=True, slots=True)
class Moment:
    """What callbacks are shown after every block of pulls and at the end: look, do not touch."""

    names: tuple[str, ...]
    game: Game
    history: Sequence[Block]
    over: bool


Callback = Callable[[Moment], None]


def select(
    candidates: Mapping[str, Any],
    data: Any = None,
    *,
    budget: int | str,
    batch_size: int | None = None,
    loss: str | Callable[[Any, Any], float] | None = None,
    validation: tuple[Any, Any] | None = None,
    classes: Sequence[Any] | None = None,
    policy: Policy | None = None,
    callbacks: Sequence[Callback] = (),
    progress: bool = True,
    random_state: int | None = None,
) -> Result:
    """Train ``candidates`` under one total ``budget``, and return the best one, trained.

    ``budget``: training steps (pulls) in total over all candidates; or text: a duration such as "10min" of training, in which
    a slow candidate must be worth its time, or a number such as "60000 samples".

    ``candidates``: by name, scikit-learn estimators with ``partial_fit`` (or pipelines that end in one) or ``warm_start``,
    river models, functions that make a step and return its loss, generators of losses, or any :class:`Learner`. Estimators
    and river models are cloned, as scikit-learn does; what trains itself is trained in place.

    ``data``: a pair (X, y) of arrays, data frames or sparse matrices; an iterable of batches (X, y); or None when the
    candidates own their data. Pull s of any candidate is trained on the same s-th batch of ``batch_size`` samples (as many as
    use up the data once in the whole budget of steps, 16 at least, if None); passes are reshuffled by ``random_state``.

    ``loss``: "zero_one" (default for classifiers), "balanced", "log", "squared" (default for regressors), "absolute", or a
    function of (y_true, y_pred). It is taken on the batch that comes next, before it is learnt, or on ``validation``, part by
    part. The errors of a regression are compared in logarithms where they exceed those of the best constant
    (``HorizonLCB(reference=...)``), and reported as they are.

    ``classes``: all targets, for classifiers on a stream whose first batch does not have each of them.

    A candidate that raises, or whose loss is no finite number, is out, and its share goes to the others. Ctrl-C returns the
    best so far.

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
    policy = HorizonLCB() if policy is None else policy
    checks.instance("policy", policy, Policy)
    stream = open_stream(data, batch_size=_batch_size(batch_size, data, meter), seed=seed)
    judge = _judge(stream, loss, validation, classes)
    learners = [as_learner(name, candidates[name], judge) for name in names]
    _check_apart(names, learners)
    game = meter.start(_with_reference(policy, judge, learners), names, learners, seed)
    watchers = [*callbacks, *([show_progress()] if progress else [])]
    history, interrupted = list[Block](), False
    try:
        while (pull := game.ask()) is not None:
            spent = game.spent
            losses = _train(game, meter, learners[pull.arm], pull)
            if losses is not None:
                history.append(Block(spent, names[pull.arm], game.pulls[pull.arm], losses, game.spent - spent))
            for watch in watchers:
                watch(Moment(names, game, history, over=False))
    except KeyboardInterrupt:
        if not history:
            raise
        interrupted = True
    finally:
        for watch in watchers:
            watch(Moment(names, game, history, over=True))
    return _result(names, learners, game, history, interrupted)


def _checked_names(candidates: Any) -> tuple[str, ...]:
    if not isinstance(candidates, Mapping):
        raise WrongType(f"candidates: must be a dictionary of learners by name, not {type(candidates).__name__}")
    if not candidates:
        raise InvalidParameter("candidates: must not be empty")
    for name in candidates:
        if not isinstance(name, str) or not name.strip():
            raise InvalidParameter(f"candidates: names must be text that is not empty, but one is {name!r}")
    return tuple(candidates)


def _with_reference(policy: Policy, judge: Judge | None, learners: Sequence[Learner]) -> Policy:
    """Errors of a regression have any size: what someone makes who always says the same is told to the default policy."""
    losses = {learner.loss.name for learner in learners if isinstance(learner, BatchLearner)}
    if judge is None or not isinstance(policy, HorizonLCB) or policy.reference is not None or policy.certified:
        return policy
    constant: dict[str, Callable[[Any], Any]] = {"squared": np.mean, "absolute": np.median}
    if len(losses) != 1 or not losses <= constant.keys():
        return policy
    [name], (_, y) = losses, judge.stream.batch(0)
    reference = LOSSES[name](y, np.full(len(y), constant[name](y)))
    return replace(policy, reference=reference) if reference > policy.floor else policy


def _check_apart(names: Sequence[str], learners: Sequence[Learner]) -> None:
    """What trains itself is trained in place, and cannot be two candidates at once; a function may be called by two."""
    first = dict[int, str]()
    for name, learner in zip(names, learners, strict=True):
        trained = getattr(learner, "model", learner)
        other = first.setdefault(id(trained), name)
        if other != name and (not isinstance(learner, LoopLearner) or isinstance(trained, Iterator)):
            raise InvalidParameter(f"candidates: {other!r} and {name!r} must not be the same object, which trains once")


def _batch_size(value: int | None, data: Any, meter: Meter) -> int:
    if value is not None:
        return checks.whole("batch_size", value, at_least=1)
    rows = getattr(data[0], "shape", None) if isinstance(data, tuple) and len(data) == 2 else None
    count = rows[0] if rows else len(data[0]) if isinstance(data, tuple) and hasattr(data[0], "__len__") else 0
    return max(_SMALLEST_BATCH, -(-count // (_STEPS if meter.measures else int(meter.total))))


def _judge(stream: Stream | None, loss: Any, validation: Any, classes: Any) -> Judge | None:
    if stream is None:
        for name, value in (("loss", loss), ("validation", validation), ("classes", classes)):
            if value is not None:
                raise InvalidParameter(f"{name}: must be None when data is None, since candidates judge themselves")
        return None
    held_out = None
    if validation is not None:
        if not isinstance(validation, tuple) or len(validation) != 2:
            raise WrongType("validation: must be a pair (X, y)")
        held_out = checked_pair("validation", *validation)
    part = stream.size if isinstance(stream, ArrayStream) else len(stream.batch(0)[1])
    labels = stream.classes() if classes is None else np.unique(np.asarray(classes))
    return Judge(stream, loss_named(loss), labels, held_out, part)


def _train(game: Game, meter: Meter, learner: Learner, pull: Pull) -> tuple[float, ...] | None:
    """Make the pulls and tell their losses; whatever goes wrong fails that candidate only."""
    before = meter.read(learner)
    try:
        losses = learner.train(pull.times)
    except Exception as error:
        game.fail(pull.arm, f"{type(error).__name__}: {error}", cost=_since(before, meter, learner))
        return None
    cost = _since(before, meter, learner)
    try:
        game.tell(pull.arm, losses, cost=cost)
    except InvalidLoss as error:
        game.fail(pull.arm, str(error), cost=cost)
        return None
    return tuple(float(loss) for loss in losses)


def _since(before: float, meter: Meter, learner: Learner) -> float | None:
    return meter.read(learner) - before if meter.measures else None


def _result(
    names: tuple[str, ...], learners: Sequence[Learner], game: Game, history: Sequence[Block], interrupted: bool
) -> Result:
    failures = {names[arm]: reason for arm, reason in game.failures.items()}
    if len(failures) == len(names):
        reasons = "; ".join(f"{name}: {reason}" for name, reason in failures.items())
        raise NoArmLeft(f"all {len(names)} candidates have failed: {reasons}")
    best = game.recommend()
    learner = learners[best.arm]
    return Result(
        name=names[best.arm],
        model=getattr(learner, "model", learner),
        pulls=dict(zip(names, game.pulls, strict=True)),
        loss=best.loss,
        interval=(best.low, best.high),
        certificate=certificate_of(game, best, names),
        history=History(history),
        failures=failures,
        budget=game.horizon,
        spent=game.spent if game.costs != (1.0,) * len(names) else int(game.spent),
        unit=game.unit,
        costs=dict(zip(names, game.costs, strict=True)),
        misfits={names[arm]: how for arm, how in game.misfits.items()},
        interrupted=interrupted,
        names=names,
        _game=game,
    )

"""numpy's global random numbers, from which estimators draw that have no seed, as each learner sees them."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np

from restsure.errors import InvalidParameter


class Chance:
    """One learner's own: they go on where its last pull left them, whatever is trained in between.

    They begin by ``seed``. There are none (``state`` is None) for a model that does not draw from them.
    """

    def __init__(self, model: Any, seed: Any = 0) -> None:
        self.state: Any = () if _has_no_seed(model) else None
        self.begin(seed)

    def begin(self, seed: Any) -> None:
        """Begin again, by that seed."""
        if self.state is not None:
            self.state = np.random.RandomState(seed).get_state()

    def own(self) -> AbstractContextManager[None]:
        """Within, numpy's global generator is at this learner's place; afterwards it is where it was before."""
        return _NOTHING if self.state is None else self._in_place()

    @contextmanager
    def _in_place(self) -> Iterator[None]:
        outside = np.random.get_state()  # noqa: NPY002
        np.random.set_state(self.state)  # noqa: NPY002
        try:
            yield
        finally:
            self.state = np.random.get_state()  # noqa: NPY002
            np.random.set_state(outside)  # noqa: NPY002

    def plain(self) -> list[Any] | None:
        """As JSON."""
        if self.state is None:
            return None
        _, words, place, has_gauss, gauss = self.state
        return [words.tolist(), int(place), int(has_gauss), float(gauss)]

    @classmethod
    def from_plain(cls, plain: Any, model: Any) -> "Chance":
        """The other way round, for that model; anything else is refused."""
        made = cls(model)
        if made.state is None and plain is None:
            return made
        match plain:
            case [list(words), int(place), 0 | 1 as has_gauss, float(gauss)] if len(words) == 624 and 0 <= place <= 624:
                if all(type(word) is int and 0 <= word < 2**32 for word in words):
                    made.state = ("MT19937", np.array(words, np.uint32), place, has_gauss, gauss)
                    return made
        raise InvalidParameter("chance: must be 624 words, a place in them, and a number kept")


def _has_no_seed(model: Any) -> bool:
    """Whether an estimator, or a part of it, has a ``random_state`` that was not set."""
    return any(vars(part).get("random_state", 0) is None for part in _estimators_in(model))


Place = tuple[Any, str]  # an object, and the name of an attribute of it


def generators_in(model: Any) -> list[Place]:
    """Where an estimator and its parts hold random generators, in an order that depends on the model's structure only."""
    return [
        (part, name)
        for part in _estimators_in(model)
        for name, value in vars(part).items()
        if isinstance(value, np.random.RandomState)
    ]


def _estimators_in(model: Any) -> Iterator[Any]:
    """The estimator and its parts, each once; a parameter of an estimator is an attribute by the same name."""
    seen, parts = set[int](), [model]
    while parts:
        part = parts.pop()
        if isinstance(part, (list, tuple)) or (isinstance(part, np.ndarray) and part.dtype == object):
            parts += list(part)
        elif hasattr(type(part), "get_params") and id(part) not in seen:
            seen.add(id(part))
            yield part
            parts += vars(part).values()


def is_global(place: Place) -> bool:
    """Whether what is held there is numpy's global generator itself."""
    return getattr(*place) is _GLOBAL


def make_global(place: Place) -> None:
    """Hold numpy's global generator there: copies of it would go their own way."""
    part, name = place
    part.__dict__[name] = _GLOBAL


_GLOBAL = np.random.mtrand._rand
_NOTHING = nullcontext()

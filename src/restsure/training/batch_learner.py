"""Models that learn batch by batch from a stream: how they are trained and judged, saved and loaded."""

import hashlib
import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from restsure import checks
from restsure.errors import InvalidParameter
from restsure.training.chance import Chance, generators_in, is_global, make_global
from restsure.training.losses import LOSSES, Loss
from restsure.training.saving.checkpoint import read_checkpoint, write_checkpoint
from restsure.training.saving.model_file import model_bytes, model_from
from restsure.training.saving.tree import name_of
from restsure.training.saving.trust import settings
from restsure.training.stream import Batch, Stream, take


@dataclass(frozen=True)
class Judge:
    """How a model is judged after a pull: on the batch it is trained on next, or on the next part of a validation set.

    Progressive validation wastes no data: every batch is predicted before it is learnt. A validation set is read in
    parts of a batch's size, one after the other and round again, so that judging stays cheap.
    """

    stream: Stream
    loss: Loss | None
    labels: NDArray[Any]
    validation: tuple[Any, NDArray[Any]] | None = None
    part: int = 0

    def batch(self, pulls: int) -> tuple[Any, NDArray[Any]]:
        """What a model is judged on after ``pulls`` pulls."""
        if self.validation is None:
            return self.stream.batch(pulls)
        x, y = self.validation
        part = min(self.part, len(y))
        rows = (np.arange(part) + (pulls - 1) * part) % len(y)
        return take(x, rows), y[rows]

    def known_from(self, pulls: int) -> int | None:
        """The first of so many pulls that was judged on samples of batches learnt before, in another pass; None without any."""
        if self.validation is not None:
            return None
        return next((s for s in range(1, pulls + 1) if not self.stream.is_new(s)), None)


class BatchLearner(ABC):
    """A model that learns batch by batch from a stream, at a position of its own; ``model`` is trained, ``candidate`` is not.

    ``pickled``, which only the user may set, says that models are saved by pickle, and that pickled ones are loaded: they can
    hold anything, and run any code.
    """

    pickled = False

    def __init__(self, candidate: Any, model: Any, judge: Judge):
        self.candidate, self.model, self.judge = candidate, model, judge
        self.pulls, self.samples, self.chance = 0, 0, Chance(candidate)
        self.ahead: Batch | None = None  # what it was judged on is what it learns next, and is drawn once
        self.loss = judge.loss or LOSSES["zero_one" if self.classifies() else "squared"]

    def seeded(self, *seed: int) -> None:
        """Where to draw from, if the candidate was given no seed of its own; before its first pull."""
        self.chance.begin(seed)

    @abstractmethod
    def classifies(self) -> bool:
        """Whether it predicts classes."""

    @abstractmethod
    def learn(self, x: Any, y: Any) -> None:
        """One more batch."""

    @abstractmethod
    def predict(self, x: Any) -> Any:
        """A prediction a row."""

    @abstractmethod
    def probabilities(self, x: Any) -> tuple[Any, Any]:
        """Probabilities of the classes a row, and the classes."""

    def train(self, times: int) -> list[float]:
        losses: list[float] = []
        with self.chance.own():
            for _ in range(times):
                x, y = self.ahead or self.judge.stream.batch(self.pulls)
                self.learn(x, y)
                self.pulls += 1
                self.samples += len(y)
                losses.append(self._judged())
        return losses

    def _judged(self) -> float:
        x, y = self.judge.batch(self.pulls)
        if self.judge.validation is None:
            self.ahead = x, y
        return self.loss(y, *self.probabilities(x)) if self.loss.probabilities else self.loss(y, self.predict(x))

    def save(self, directory: Path | str) -> None:
        """Everything that :meth:`load` needs to go on from here, but the stream: a model and ``learner.json``.

        A model that cannot be saved to the bit is refused, and what was saved before stays.
        """
        with self.chance.own():
            model = model_bytes(self.model, like=self.like(self.pulls), pickled=self.pickled)
        facts = {
            **self._make(),
            "pulls": self.pulls,
            "samples": self.samples,
            "chance": self.chance.plain(),
            "unseeded": [is_global(place) for place in generators_in(self.model)],
        }
        write_checkpoint(Path(directory), facts, model)

    def load(self, directory: Path | str) -> None:
        """Go on from where a learner of the same candidate and stream was saved, to the bit.

        A file of another candidate or a damaged one is refused, and the learner is then as it was.
        """
        facts, data, path = read_checkpoint(Path(directory))
        here = self._make()
        if other := [name for name in here if facts.get(name) != here[name]]:
            saved, mine = facts.get(other[0]), here[other[0]]
            raise InvalidParameter(f"{directory}: is of another learner, of {other[0]} {saved!r}, not {mine!r}")
        try:
            pulls, samples = (checks.whole(name, facts.get(name), at_least=0) for name in ("pulls", "samples"))
            chance = Chance.from_plain(facts.get("chance"), self.candidate)
        except InvalidParameter as error:
            raise InvalidParameter(f"{directory}: is not of a learner ({error})") from None
        model = model_from(data, path, self.like(pulls), pickled=self.pickled)
        places = generators_in(model)
        if not isinstance(unseeded := facts.get("unseeded"), list) or len(unseeded) != len(places):
            raise InvalidParameter(f"{directory}: is not of a learner (unseeded={unseeded!r} is not for {len(places)})")
        for place, shared in zip(places, unseeded, strict=True):
            if shared:
                make_global(place)
        self.go_on(model, pulls)
        self.pulls, self.samples, self.chance, self.ahead = pulls, samples, chance, None

    def like(self, pulls: int) -> Any:
        """A model as the candidate's is, after so many pulls, in its parameters; it has learnt nothing."""
        return self.candidate

    def go_on(self, model: Any, pulls: int) -> None:
        """Take over a model that has had so many pulls; whatever can go wrong goes wrong before anything changes."""
        self.model = model

    def _make(self) -> dict[str, Any]:
        """What must be the same for one learner to go on as another."""
        made = json.dumps(settings(self.candidate)).encode()
        return {
            "kind": type(self).__name__,
            "model": name_of(type(self.candidate)),
            "parameters": hashlib.sha256(made).hexdigest(),
        }

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_unseeded": [place for place in generators_in(self.model) if is_global(place)]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for place in state.pop("_unseeded"):
            make_global(place)  # or else it would be a copy, of whatever others have drawn from
        vars(self).update(state)

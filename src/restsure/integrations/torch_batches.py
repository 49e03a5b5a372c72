"""Where a learner is in its batches and in its random numbers, to be kept and found again."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from restsure import checks
from restsure.errors import InvalidParameter

_END = object()


class Chance:
    """The random numbers of a learner: generators are set to where it left them while it trains, and put back then."""

    def __init__(self, generators: dict[str, torch.Generator]):
        self.generators = generators
        self.state = self.get()

    def get(self) -> dict[str, torch.Tensor]:
        """Where the generators are now, whoever uses them."""
        return {name: generator.get_state() for name, generator in self.generators.items()}

    def set(self, state: dict[str, torch.Tensor]) -> None:
        """Put them there."""
        if not isinstance(state, dict) or state.keys() != self.generators.keys():
            raise InvalidParameter(f"random numbers: must be those of {', '.join(self.generators)}")
        for name, generator in self.generators.items():
            generator.set_state(state[name])

    @contextmanager
    def own(self) -> Iterator[None]:
        """Within, they go on from where they were last left within."""
        others = self.get()
        try:
            self.set(self.state)
            yield
        finally:
            self.state = self.get()
            self.set(others)


class Reader:
    """The next batch of a loader, pass after pass, at a place that can be kept and found again."""

    def __init__(self, name: str, loader: Iterable[Any], chance: Chance):
        self.name, self.loader, self.total = name, loader, 0
        self._chance, self._drawn = chance, 0
        self._pass: Iterator[Any] = iter(())
        self._start: dict[str, torch.Tensor] | None = None  # the random state in which the pass began

    def draw(self) -> Any:
        """The next batch."""
        batch = next(self._pass, _END)
        if batch is _END:
            self._begin()
            batch = next(self._pass, _END)
        if batch is _END:
            what = f"ended after {self.total} batches and cannot be read again" if self.total else "has no batches"
            raise InvalidParameter(f"{self.name}: {what}; must be re-iterable, such as a DataLoader")
        self._drawn += 1
        self.total += 1
        return batch

    def place(self) -> dict[str, Any]:
        """What :meth:`seek` needs to come back here."""
        return {"total": self.total, "drawn": self._drawn, "start": self._start}

    def seek(self, place: dict[str, Any]) -> None:
        """Begin the pass again as it once began, and skip what had been drawn."""
        self.total = checks.whole("total", place["total"], at_least=0)
        drawn = checks.whole("drawn", place["drawn"], at_least=0, at_most=self.total)
        if drawn:
            self._chance.set(place["start"])
            self._begin()
            self._drawn = sum(1 for _ in zip(range(drawn), self._pass, strict=False))
        if self._drawn < drawn:
            raise InvalidParameter(f"{self.name}: must have {drawn} batches a pass at least, but has {self._drawn}")

    def _begin(self) -> None:
        self._start, self._drawn, self._pass = self._chance.get(), 0, iter(self.loader)


def generators_of(model: torch.nn.Module, *loaders: Any) -> dict[str, torch.Generator]:
    """Torch's own, for the devices of the model, and those by which DataLoaders and their samplers shuffle."""
    devices = {parameter.device.index or 0 for parameter in model.parameters() if parameter.is_cuda}
    found = {"cpu": torch.default_generator}
    found |= {f"cuda {k}": torch.cuda.default_generators[index] for k, index in enumerate(sorted(devices))}
    holders = list(loaders)
    for holder in holders:  # a loader has a sampler of batches, which has a sampler of rows, which has the generator
        generator = getattr(holder, "generator", None)
        if isinstance(generator, torch.Generator) and all(generator is not other for other in found.values()):
            found[f"loader {len(found)}"] = generator
        inside = (getattr(holder, name, None) for name in ("batch_sampler", "sampler"))
        holders += [thing for thing in inside if thing is not None and all(thing is not other for other in holders)]
    return found

"""PyTorch networks as candidates: a network with its optimiser and its batches is a learner that ``select`` can train."""

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from numbers import Real
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary, ref

from restsure import checks
from restsure.errors import InvalidLoss, InvalidParameter, MissingExtra, WrongType

try:
    import torch
except ImportError:
    raise MissingExtra("TorchLearner needs PyTorch: pip install 'restsure[torch]'") from None

from restsure.integrations.tensor_file import read_tensors, write_tensors
from restsure.integrations.torch_batches import Chance, Reader, generators_of

__all__ = ["TorchLearner", "zero_one"]

_FILE = "learner.safetensors"
_TAKEN = ("model", "optimizer", "steps", "batches")  # names that a file uses itself


def zero_one(outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """The share of wrong classes, where outputs have a number for each class in dimension 1; NaN where outputs are.

    >>> zero_one(torch.tensor([[2.0, 1.0], [0.0, 3.0]]), torch.tensor([0, 0])).item()
    0.5
    """
    top, classes = outputs.max(dim=1)
    if classes.shape != targets.shape:
        raise InvalidLoss(f"zero_one: targets must be of shape {tuple(classes.shape)}, not {tuple(targets.shape)}")
    return torch.where(top.isnan(), top, (classes != targets).to(top.dtype)).float().mean()


class TorchLearner:
    """A network, its optimiser and its batches; a pull is ``steps`` optimiser steps on the next batches.

    ``loader``: a DataLoader, or anything that can be read again and again and gives batches ``(inputs, targets)``; when it
    ends, the next pass begins. ``loss(outputs, targets)`` is trained. ``score(outputs, targets)``, the loss itself if None, is
    what the network is judged by, smaller when better: :func:`zero_one`, say.

    It is judged on every batch before it is learnt, by the outputs that the training step computes anyway, in training mode
    (dropout is on, batch norm sees the batch); the loss of a pull is the mean over its steps. With ``validation``, batches
    again, it is judged after each pull on the next one of these instead, in evaluation mode.

    ``step(model, optimizer, inputs, targets)`` replaces the whole optimiser step: mixed precision, clipping, schedulers,
    accumulation. It returns the loss of that step, taken before the parameters change, or a pair of loss and score.

    ``device``: model and batches are moved there; losses come back once a call of :meth:`train`, so a GPU need not wait.

    ``also``: schedulers, gradient scalers and whatever else has ``state_dict`` and ``load_state_dict``, by name, to be saved
    and loaded too.

    Torch's random numbers, and those of the loader's generator, are the learner's own: they go on where its last pull left
    them, whatever is trained in between, and the generators are put back after each call. So learners can share a loader
    (unless its workers are persistent) and then see the same batches; a module must be trained by one learner only.

    >>> _ = torch.manual_seed(0)
    >>> x = torch.randn(64, 3)
    >>> batches = list(zip(x.split(16), (x @ torch.tensor([[1.0], [-2.0], [3.0]])).split(16)))
    >>> model = torch.nn.Linear(3, 1)
    >>> sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    >>> losses = TorchLearner(model, sgd, torch.nn.MSELoss(), batches).train(40)
    >>> len(losses), losses[0] > 1, losses[-1] < 0.01
    (40, True, True)
    """

    def __init__(
        self,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        loss: Callable[[Any, Any], torch.Tensor],
        loader: Iterable[Any],
        *,
        steps: int = 1,
        step: Callable[[torch.nn.Module, torch.optim.Optimizer, Any, Any], Any] | None = None,
        validation: Iterable[Any] | None = None,
        score: Callable[[Any, Any], Any] | None = None,
        device: str | torch.device | None = None,
        also: Mapping[str, Any] | None = None,
    ):
        checks.instance("model", model, torch.nn.Module)
        checks.instance("optimizer", optimizer, torch.optim.Optimizer)
        for name, function in (("loss", loss), ("step", step), ("score", score)):
            if not callable(function) and (name == "loss" or function is not None):
                raise WrongType(f"{name}={function!r}: must be a function")
        if step is not None and score is not None and validation is None:
            raise InvalidParameter("score: must be None with step, which returns loss and score itself")
        for name, batches in (("loader", loader), ("validation", validation)):
            if not isinstance(batches, Iterable) and (name == "loader" or batches is not None):
                raise WrongType(f"{name}={batches!r}: must give batches (inputs, targets)")
        self.model, self.optimizer, self.also = model, optimizer, _checked_also(also)
        self.loss, self.score, self.step = loss, loss if score is None else score, step
        self.steps, self.pulls = checks.whole("steps", steps, at_least=1), 0
        self.device = None if device is None else _device(device)
        if self.device is not None:
            model.to(self.device)
        _check_parameters(model, optimizer)  # after the move: it makes new parameters on some devices
        self._chance = Chance(generators_of(model, loader, validation))
        self._readers = {"loader": Reader("loader", loader, self._chance)}
        if validation is not None:
            self._readers["validation"] = Reader("validation", validation, self._chance)

    @property
    def batches(self) -> int:
        """How many batches have been learnt."""
        return self._readers["loader"].total

    def train(self, times: int) -> list[float]:
        """Make ``times`` pulls; the loss of each."""
        times = checks.whole("times", times, at_least=1)
        self._claim()
        self.model.train()
        losses = list[torch.Tensor]()
        with self._chance.own():
            for _ in range(times):
                scores = [self._step(*self._batch("loader")) for _ in range(self.steps)]
                losses.append(self._judge() if "validation" in self._readers else torch.stack(scores).mean())
                self.pulls += 1
        found: list[float] = torch.stack(losses).tolist()
        return found

    def save(self, directory: Path | str) -> None:
        """Everything that :meth:`load` needs to go on from here, as one safetensors file in ``directory``."""
        state = {
            "make": self._make(),
            "pulls": self.pulls,
            "parts": {name: part.state_dict() for name, part in self._parts().items()},
            "batches": {name: reader.place() for name, reader in self._readers.items()},
            "random": self._chance.state,
        }
        write_tensors(Path(directory) / _FILE, state)

    def load(self, directory: Path | str) -> None:
        """Go on from where a learner of the same make was saved: on a CPU, to the bit.

        The batches of the pass that was under way are drawn again and skipped, in the order of torch's generators; a loader
        that is random by other means must give the same batches again by itself. A file of another make or a damaged one is
        refused, and the learner is then as it was.
        """
        path = Path(directory) / _FILE
        self._claim()
        state = read_tensors(path)
        parts, chance = self._parts(), self._chance.state
        before = {name: deepcopy(part.state_dict()) for name, part in parts.items()}
        readers = {name: Reader(name, reader.loader, self._chance) for name, reader in self._readers.items()}
        try:
            if state["make"] != self._make():
                raise InvalidParameter(f"{state['make']}: must be {self._make()}")
            pulls = checks.whole("pulls", state["pulls"], at_least=0)
            with self._chance.own():
                for name, reader in readers.items():
                    reader.seek(state["batches"][name])
                self._chance.set(state["random"])
            for name, part in parts.items():
                part.load_state_dict(state["parts"][name])
        except Exception as error:
            self._chance.state = chance
            for name, part in parts.items():
                part.load_state_dict(before[name])
            what = " ".join(f"{type(error).__name__}: {error}".split())
            raise InvalidParameter(f"{path}: is not of a learner of this make ({what})") from error
        self.pulls, self._readers = pulls, readers

    def _make(self) -> dict[str, Any]:
        """What must be the same for one learner to go on as another."""
        kinds = {name: type(part).__name__ for name, part in self._parts().items()}
        return {**kinds, "steps": self.steps, "batches": list(self._readers)}

    def _parts(self) -> dict[str, Any]:
        return {"model": self.model, "optimizer": self.optimizer, **self.also}

    def _mine(self) -> dict[str, Any]:
        """What no other learner may use: two readers of a loader share its workers, if these are persistent."""
        loader = self._readers["loader"].loader
        alone = getattr(loader, "persistent_workers", False)
        return {"model": self.model} | ({"loader with persistent workers": loader} if alone else {})

    def _claim(self) -> None:
        """What a learner has used is its own for as long as it lives."""
        for name, thing in self._mine().items():
            owner = _OWNERS[thing]() if thing in _OWNERS else None
            if owner is not None and owner is not self:
                raise InvalidParameter(f"{name}: is used by another learner; each must have its own")
            _OWNERS[thing] = ref(self)

    def _batch(self, name: str) -> tuple[Any, Any]:
        batch = self._readers[name].draw()
        if not isinstance(batch, (tuple, list)) or len(batch) != 2:
            raise WrongType(f"{name}: batches must be pairs (inputs, targets), not {type(batch).__name__}")
        inputs, targets = batch if self.device is None else (_moved(part, self.device) for part in batch)
        return inputs, targets

    def _step(self, inputs: Any, targets: Any) -> torch.Tensor:
        """One optimiser step; what the network is judged by on this batch."""
        if self.step is not None:
            made = self.step(self.model, self.optimizer, inputs, targets)
            score = made[1] if isinstance(made, tuple) and len(made) == 2 else made
            return self._number("step", score).clone()  # a step may use one tensor for all its losses
        self.optimizer.zero_grad()
        outputs = self.model(inputs)
        loss = self.loss(outputs, targets)
        with torch.no_grad():
            score = loss if self.score is self.loss else self.score(outputs, targets)
        torch.autograd.backward(loss)
        self.optimizer.step()
        return self._number("score", score)

    def _judge(self) -> torch.Tensor:
        inputs, targets = self._batch("validation")
        self.model.eval()
        try:
            with torch.inference_mode():
                return self._number("score", self.score(self.model(inputs), targets))
        finally:
            self.model.train()

    def _number(self, name: str, value: Any) -> torch.Tensor:
        """A loss as a tensor that stays where the model is."""
        if isinstance(value, torch.Tensor):
            if value.numel() != 1:
                raise InvalidLoss(f"{name}: must be one number, but is a tensor of shape {tuple(value.shape)}")
            value = value.detach().reshape(())
        elif not isinstance(value, Real):
            raise InvalidLoss(f"{name}: must be a number, but is {type(value).__name__}")
        return torch.as_tensor(value, dtype=torch.float32, device=next(self.model.parameters()).device)


_OWNERS: "WeakKeyDictionary[Any, ref[TorchLearner]]" = WeakKeyDictionary()


def _check_parameters(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
    known = {id(parameter) for parameter in model.parameters()}
    trained = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    strange = sum(id(parameter) not in known for parameter in trained)
    if strange:
        raise InvalidParameter(
            f"optimizer={type(optimizer).__name__}: must train parameters of the model only, but {strange} of its "
            f"{len(trained)} are not the model's"
        )


def _checked_also(also: Any) -> dict[str, Any]:
    if also is not None and not isinstance(also, Mapping):
        raise WrongType(f"also={also!r}: must be a dictionary of things with state_dict and load_state_dict by name")
    parts = dict(also or {})
    for name, part in parts.items():
        if not isinstance(name, str) or name in _TAKEN:
            raise InvalidParameter(f"also: names must be text other than {', '.join(_TAKEN)}, but one is {name!r}")
        if not hasattr(part, "state_dict") or not hasattr(part, "load_state_dict"):
            raise WrongType(f"also[{name!r}]={part!r}: must have state_dict and load_state_dict")
    return parts


def _device(device: Any) -> torch.device:
    try:
        return torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise InvalidParameter(f"device={device!r}: must name a device of torch ({error})") from None


def _moved(value: Any, device: torch.device) -> Any:
    """Tensors, and what has them inside, on the device."""
    if hasattr(value, "to"):
        return value.to(device, non_blocking=True)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_moved(part, device) for part in value))
    if isinstance(value, (tuple, list)):
        return type(value)(_moved(part, device) for part in value)
    if isinstance(value, dict):
        return {name: _moved(part, device) for name, part in value.items()}
    return value

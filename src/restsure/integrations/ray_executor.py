"""Pulls run on a Ray cluster, or a laptop: each candidate is an actor with resources of its own."""

import logging
import math
import signal
import threading
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ray

from restsure import checks
from restsure.errors import InvalidParameter, WrongType
from restsure.integrations.ray_crew import RayCrew
from restsure.training.adapters import Learner
from restsure.training.executors.base import Executor
from restsure.training.meter import Meter


@dataclass(frozen=True)
class RayExecutor(Executor):
    """Train each candidate in a Ray actor, ``workers`` of them at the same time.

    An actor asks for ``num_cpus``, ``num_gpus`` and ``resources`` (by name) of the cluster, and keeps them while it lives.
    It is started when its candidate is first trained. Where the cluster has no room for all, the learner that has been at
    rest for longest leaves its actor to the next one, waits in the object store, and goes on in another actor when it is its
    turn again: ``workers`` actors are enough for any number of candidates.

    ``address``: of a running cluster, "auto" for the one this machine belongs to; None starts Ray on this machine, unless
    the environment has RAY_ADDRESS. If Ray is initialised already, it is used as it is. What was started here is shut down
    in the end, and nothing else.

    Data that candidates share, and arrays and tensors that several of them refer to, go through the object store once.
    States travel as bytes, so that the machines need no file system in common; each needs the same versions of Python, Ray,
    restsure and whatever the learners are made of.

    An actor that dies, or whose machine does, is started again from the last saved state of its learner (``run_dir``), or
    from the start, ``max_restarts`` times; then the candidate fails. ``pull_timeout_s``: what a pull may take at the most,
    n pulls in a row n times that, not counting the wait for resources; a candidate over its time fails.
    ``deterministic``: outcomes are taken in the order in which the pulls were asked for.

    Losses are the same as in this process, to the bit, for learners that draw from random generators of their own and
    numerical libraries with as many threads: Ray gives an actor ``num_cpus`` of them (OMP_NUM_THREADS).

    >>> RayExecutor(workers=8, num_cpus=4, num_gpus=1).needs
    {'CPU': 4, 'GPU': 1}
    """

    workers: int = 2
    num_cpus: float = 1
    num_gpus: float = 0
    address: str | None = None
    max_restarts: int = 2
    pull_timeout_s: float | None = None
    deterministic: bool = True
    resources: Mapping[str, float] | None = field(default=None, hash=False)

    def __post_init__(self) -> None:
        checks.whole("workers", self.workers, at_least=1)
        checks.real("num_cpus", self.num_cpus, at_least=0)
        checks.real("num_gpus", self.num_gpus, at_least=0)
        checks.whole("max_restarts", self.max_restarts, at_least=0)
        checks.instance("deterministic", self.deterministic, bool)
        if self.address is not None:
            checks.instance("address", self.address, str)
        if self.pull_timeout_s is not None:
            checks.real("pull_timeout_s", self.pull_timeout_s, above=0)
        if not isinstance(self.resources, Mapping | None):
            raise WrongType(f"resources={self.resources!r}: must be a dictionary of numbers by name")
        for name, amount in (self.resources or {}).items():
            checks.real(f"resources[{name!r}]", amount, at_least=0)

    @property
    def needs(self) -> dict[str, float]:
        """What an actor asks of the cluster, by Ray's names."""
        return {"CPU": self.num_cpus, **({"GPU": self.num_gpus} if self.num_gpus else {}), **(self.resources or {})}

    @property
    def options(self) -> dict[str, Any]:
        """The same, as an actor is told; it is started again by us, and not by Ray, which knows no saved states."""
        others = {name: amount for name, amount in (self.resources or {}).items() if amount}
        return dict(num_cpus=self.num_cpus, num_gpus=self.num_gpus, resources=others, max_restarts=0)

    def open(self, learners: Sequence[Learner], meter: Meter) -> RayCrew:
        began = not ray.is_initialized()
        if began:
            _connect(self.address)
        try:
            if not self.room():
                rule = f"{self.needs}: must fit on a machine of the cluster, but none has so much"
                if began and self.address is None and len(ray.nodes()) == 1:
                    raise InvalidParameter(rule)
                warnings.warn(f"{rule}; waiting until one has", RuntimeWarning, stacklevel=2)
            return RayCrew(self, learners, meter, began)
        except BaseException:
            if began:
                ray.shutdown()
            raise

    def room(self) -> float:
        """How many actors the cluster, as it is now, could hold if it had nothing else to do."""
        needs = {name: amount for name, amount in self.needs.items() if amount}
        machines = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        if not needs:
            return math.inf
        return sum(min(int(has.get(name, 0) / amount) for name, amount in needs.items()) for has in machines)


def _connect(address: str | None) -> None:
    """Initialise Ray quietly; what it does to SIGTERM is undone, since a run has its own way to end."""
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM) if main else None
    options: dict[str, Any] = {} if address is not None else {"include_dashboard": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **options)
    if main:
        signal.signal(signal.SIGTERM, before)

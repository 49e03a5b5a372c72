"""What is added to the mean of a loss. Every noise keeps the mean exact."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from restsure import checks
from restsure.description import Description, settle
from restsure.errors import InvalidParameter


class Noise(Description, ABC):
    """A family of loss distributions indexed by the mean."""

    @abstractmethod
    def sample(self, streams: Sequence[Generator], means: NDArray[np.float64]) -> NDArray[np.float64]:
        """One loss for each entry of ``means`` (rows, pulls); row ``k`` is drawn from ``streams[k]``, in order.

        A row's losses do not depend on how its pulls are split over calls, nor on the other rows.
        """


@dataclass(frozen=True)
class Gaussian(Noise):
    """Normal with standard deviation ``sigma``; losses may leave any range."""

    sigma: float = 0.1

    def __post_init__(self) -> None:
        settle(self, sigma=checks.real("sigma", self.sigma, at_least=0))

    def sample(self, streams: Sequence[Generator], means: NDArray[np.float64]) -> NDArray[np.float64]:
        losses = np.empty(means.shape)
        for stream, row in zip(streams, losses, strict=True):
            stream.standard_normal(out=row)
        losses *= self.sigma
        losses += means
        return losses


@dataclass(frozen=True)
class Bernoulli(Noise):
    """A loss of 0 or 1. For a mean above one: its whole part, plus 0 or 1 for the rest, so that the mean stays exact."""

    def sample(self, streams: Sequence[Generator], means: NDArray[np.float64]) -> NDArray[np.float64]:
        draws = np.empty(means.shape)
        for stream, row in zip(streams, draws, strict=True):
            stream.random(out=row)
        floor = np.floor(means)
        return floor + (draws < means - floor)


@dataclass(frozen=True)
class BetaNoise(Noise):
    """Loss ~ Beta(shape, shape (1 - mean) / mean), within (0, 1).

    In terms of the reward 1 - loss with mean ``m`` this is Beta(shape m / (1 - m), shape), the noise of the rising-bandit
    setting SRB-15 (with ``shape = 2``). A mean of 0 or 1 gives that loss itself.
    """

    shape: float = 2.0

    def __post_init__(self) -> None:
        settle(self, shape=checks.real("shape", self.shape, above=0))

    def sample(self, streams: Sequence[Generator], means: NDArray[np.float64]) -> NDArray[np.float64]:
        if not ((means >= 0) & (means <= 1)).all():
            worst = means.flat[np.argmax(np.abs(means - 0.5))]
            raise InvalidParameter(f"mean={worst:g}: must be in [0, 1] with BetaNoise")
        inside = np.clip(means, 1e-12, 1 - 1e-12)
        losses = np.stack(
            [stream.beta(self.shape, self.shape * (1 - row) / row) for stream, row in zip(streams, inside, strict=True)]
        )
        return np.where((means > 0) & (means < 1), losses, means)


@dataclass(frozen=True)
class RoundNoise(Noise):
    """Gaussian noise that belongs to the round and not to the arm: run r takes the t-th of ``RandomState(r).normal(0, sigma)``.

    The seed protocol of the rising-bandit papers' public code, where it is added to the reward, so it is taken from the
    loss. The order in which arms are pulled matters; kept to reproduce published tables, not to be preferred.
    """

    sigma: float = 0.1

    def __post_init__(self) -> None:
        settle(self, sigma=checks.real("sigma", self.sigma, at_least=0))

    def rounds(self, run: int, horizon: int) -> NDArray[np.float64]:
        """The noise of every round of one run."""
        return -np.random.RandomState(run).normal(0, self.sigma, horizon)

    def sample(self, streams: Sequence[Generator], means: NDArray[np.float64]) -> NDArray[np.float64]:
        raise InvalidParameter("noise=RoundNoise: belongs to rounds, so it can be drawn by simulate() alone")

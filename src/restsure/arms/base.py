"""What is pulled in a simulation."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from restsure.arms.noise import Noise


class Arms(ABC):
    """``n_arms`` curves of mean losses, and the noise on them.

    ``instances`` is the number of distinct instances, one a run, or None when every run plays the same instance.
    ``longest`` is the most pulls an arm can have, or None when a curve never ends.
    """

    n_arms: int
    instances: int | None
    noise: Noise | None
    longest: int | None = None

    @abstractmethod
    def mean(self, run: ArrayLike, arm: ArrayLike, pull: ArrayLike) -> NDArray[np.float64]:
        """``mu_arm(pull)`` in run ``run``, pulls counted from 1; the three broadcast together."""

    def observed(self, run: ArrayLike, arm: ArrayLike, pull: ArrayLike) -> NDArray[np.float64]:
        """What the policy is shown there, before noise; the true mean unless a subclass says otherwise."""
        return self.mean(run, arm, pull)

    def means(self, runs: NDArray[np.intp], pull: int) -> NDArray[np.float64]:
        """The mean of every arm (last axis) at one pull count, for each of ``runs``."""
        means = self.mean(runs[:, None], np.arange(self.n_arms)[None, :], pull)
        return np.broadcast_to(means, (len(runs), self.n_arms))

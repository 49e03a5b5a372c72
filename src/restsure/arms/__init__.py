"""What is pulled in a simulation: curves of mean losses, and the noise on them."""

from restsure.arms.base import Arms
from restsure.arms.noise import Bernoulli, BetaNoise, Gaussian, Noise
from restsure.arms.power_law import PowerLawArms

__all__ = ["Arms", "Bernoulli", "BetaNoise", "Gaussian", "Noise", "PowerLawArms"]

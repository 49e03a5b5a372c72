"""What is pulled in a simulation: curves of mean losses, and the noise on them."""

from restsure.arms.base import Arms
from restsure.arms.function import FunctionArms
from restsure.arms.noise import Bernoulli, BetaNoise, Gaussian, Noise, RoundNoise
from restsure.arms.power_law import PowerLawArms
from restsure.arms.table import TableArms

__all__ = [
    "Arms",
    "Bernoulli",
    "BetaNoise",
    "FunctionArms",
    "Gaussian",
    "Noise",
    "PowerLawArms",
    "RoundNoise",
    "TableArms",
]

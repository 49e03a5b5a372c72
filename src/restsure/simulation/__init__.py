"""Many games at once."""

from restsure.simulation.engine import Simulation, simulate
from restsure.simulation.workers import simulate_workers

__all__ = ["Simulation", "simulate", "simulate_workers"]

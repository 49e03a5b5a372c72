"""Many games at once."""

from restsure.simulation.engine import Simulation, simulate

__all__ = ["Simulation", "simulate"]

"""Many games at once."""

from restsure.simulation.simulate import Simulation, simulate

__all__ = ["Simulation", "simulate"]

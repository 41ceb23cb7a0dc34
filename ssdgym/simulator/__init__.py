"""The plain-Python face of the engine."""

from ssdgym.simulator.build import Recording
from ssdgym.simulator.simulator import Simulator

__all__ = ["Recording", "Simulator"]

"""Simulated devices from plain Python: building, running, preconditioning and measuring them."""

from ssdgym.simulator.build import Recording
from ssdgym.simulator.simulator import Simulator

__all__ = ["Recording", "Simulator"]

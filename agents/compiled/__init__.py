"""Agents that run inside the engine: `agent:NAME` is a rule like any other.

A rule reads which features to compute, and the weights of its network, from one record; so one compile serves
all agents of a kind of decision. Importing this needs no PyTorch.
"""

from ssdgym.agents.compiled.loading import rule_named

__all__ = ["rule_named"]

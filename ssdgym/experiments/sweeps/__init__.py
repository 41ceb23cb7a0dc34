"""Searches for the best settings of agents, policies and rules."""

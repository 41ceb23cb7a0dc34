"""Searches for the best settings of an agent."""

"""Agents in evaluations: their interface, simple baselines, and how to load agents.

Only loading agents from files needs the extra `agents`.
"""

"""Agents in evaluations: their interface, simple baselines, and how agents are loaded.

Only loading agents from files needs the extra `agents`.
"""

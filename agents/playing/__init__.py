"""Agents in evaluations: their interface, baselines, and sources.

Nothing here needs the extra `agents`, except to read files that its packages have written.
"""

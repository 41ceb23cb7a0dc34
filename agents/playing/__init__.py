"""Agents as evaluations play them: what an agent is, baselines among them, and where one comes from.

Nothing here needs the extra `agents`, except to read files that its packages have written.
"""

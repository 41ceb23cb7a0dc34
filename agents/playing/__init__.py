"""Agents as evaluations play them: what an agent is, baselines among them, and where one comes from.

Nothing here needs the extra `agents`, but for the files that its packages have written.
"""

"""Leaderboards: scores of the policies, learned agents and bounds of a suite of tasks."""

"""Leaderboards: every policy, learned agent and bound of a suite on one scale, losses first."""

"""Learned policies: the candidate scorer, its training with PPO, and the agents that come of it.

Needs the extra `agents` (torch, stable-baselines3, sb3-contrib).
"""

"""Learned policies: networks, training and agents.

The package needs the extra `agents` (torch, stable-baselines3, sb3-contrib).
"""

"""Learned policies: networks, training and agents.

Needs the extra `agents` (torch, stable-baselines3, sb3-contrib).
"""

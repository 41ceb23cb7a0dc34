"""Learned policies: networks, their training, and saved agents.

Networks, training and reading weights need the extra `agents` (torch, stable-baselines3, safetensors, ...).
"""

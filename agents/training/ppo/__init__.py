"""Masked PPO in plain PyTorch on the native vector environments, for agents that score candidates."""

"""The networks of agents, modules of PyTorch."""

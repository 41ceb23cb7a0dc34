"""The networks of agents: their shapes, which need no PyTorch, and the modules."""

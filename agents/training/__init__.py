"""Training of agents: algorithms, stages, checkpoints, and what is measured meanwhile."""

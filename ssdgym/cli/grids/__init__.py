"""The commands that run grids of policies and agents."""

"""Commands for agents: train them, and take them elsewhere."""

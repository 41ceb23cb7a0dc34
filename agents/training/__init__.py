"""Training of agents: algorithms, stages, checkpoints and validations."""

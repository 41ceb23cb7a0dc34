"""Parts of a training run: what learned how much, the rewards it sees, and what it says meanwhile."""

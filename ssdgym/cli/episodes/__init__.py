"""Commands that play episodes of environments."""

"""Runs: their specification, where they run, and the store of finished ones."""

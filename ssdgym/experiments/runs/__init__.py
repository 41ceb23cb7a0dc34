"""Runs: what is run on what, where it runs, and the store of finished runs."""

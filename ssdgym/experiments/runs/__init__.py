"""Runs: their specification, their execution, and the store of finished runs."""

"""Suites: tasks with splits, and a score between a fixed policy and a bound."""

"""Experiments: grids of runs, statistics, reports, leaderboards, sweeps, and figures of papers."""

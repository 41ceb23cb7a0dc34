"""Grids of device x workload x policy x seed: results, statistics, tables and figures."""

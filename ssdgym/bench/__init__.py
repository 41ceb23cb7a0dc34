"""Benchmarks of the simulator itself: what a machine does in a second."""

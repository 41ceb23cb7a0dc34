"""Bounds: placements that are given the future of a run, and victim rules that use their records."""

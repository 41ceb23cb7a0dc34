"""Bounds: placements with the future of a run, and victim rules that go with them."""

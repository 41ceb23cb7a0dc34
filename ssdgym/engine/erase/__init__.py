"""The ERASE decision: legal erase sets, candidates and their features, and functions for victim rules."""

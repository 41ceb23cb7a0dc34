"""The ERASE decision: legal erase sets, candidates and their features, and helpers of victim rules."""

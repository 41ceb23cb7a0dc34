"""Trace files: they are found, unpacked, parsed once, and stored as memory-mapped arrays."""

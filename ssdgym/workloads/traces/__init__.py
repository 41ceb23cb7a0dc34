"""Trace files: found, unpacked, parsed once, and kept as memory-mapped arrays."""

"""What the engine adds to numba: a cache, the linking of entries, checked rules, reasons in plain words."""

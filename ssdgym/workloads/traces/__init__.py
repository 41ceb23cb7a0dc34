"""Find, unpack and parse trace files; a parsed trace is stored once and then read as a mapped array."""

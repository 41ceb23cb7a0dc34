"""Ground floor of the engine: numba, records, status codes, bits, random numbers, families."""

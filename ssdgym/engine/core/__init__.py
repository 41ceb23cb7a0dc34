"""What all rooms of the engine use: numba, records, status codes, bits, random numbers, families."""

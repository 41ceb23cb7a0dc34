"""Read trace files as records: unpack files, split lines into columns, convert texts to values."""

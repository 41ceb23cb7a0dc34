"""Read trace files as records: unpack containers, split lines into columns, convert values."""

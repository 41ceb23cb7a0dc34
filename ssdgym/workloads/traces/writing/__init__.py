"""Trace files written: records in the units of a format, packed, and read back before they are kept."""

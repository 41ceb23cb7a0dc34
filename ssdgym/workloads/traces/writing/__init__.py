"""Writing of trace files: records in the units of a format, packed, and read back before they are kept."""

"""The regions: passes over their blocks, and the collection of blocks."""

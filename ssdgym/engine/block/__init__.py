"""The block family: FTLs that map logical blocks, or bundles of them, and merge bundles to free blocks."""

"""The block family: FTLs that map blocks, or bundles of them, and merge blocks to free some."""

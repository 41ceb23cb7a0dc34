"""Records of the blocks: pool, age list, buckets by invalid pages, open blocks of streams."""

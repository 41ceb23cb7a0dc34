"""Blocks of planes: pool, age list, buckets by invalid pages, open blocks of streams, erases."""

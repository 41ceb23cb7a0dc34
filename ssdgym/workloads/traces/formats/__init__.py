"""Trace formats: what the bytes of each mean, one file per format."""

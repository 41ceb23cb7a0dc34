"""Recorded traces: one reader per file format, and the way from bytes to logical pages."""

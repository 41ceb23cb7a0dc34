"""Victim rules: what GC erases next, one small file each."""

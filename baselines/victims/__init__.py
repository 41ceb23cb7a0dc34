"""Victim rules: they choose what GC erases next, one small file each."""

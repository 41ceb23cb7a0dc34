"""Victim rules: they choose the blocks or sub-blocks that GC erases next."""

"""Environments of wear: which free block is opened, which block is emptied to level it."""

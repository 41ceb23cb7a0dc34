"""Wear levelling: which free block is opened, which block is emptied, one small file each."""

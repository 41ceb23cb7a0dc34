"""Wear levelling: which free block is opened, one small file each."""

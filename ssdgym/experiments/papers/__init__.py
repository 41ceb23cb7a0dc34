"""Reproduce figures of papers, and check what the papers claim about them."""

"""Figures of papers, reproduced and held against the claims of the papers."""

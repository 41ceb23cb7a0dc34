"""Figures of papers: reproduce them and check the claims of the papers."""

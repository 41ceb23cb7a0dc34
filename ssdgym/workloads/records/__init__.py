"""Requests by byte and volume, as traces and synthetic traces have them, and the way to logical pages."""

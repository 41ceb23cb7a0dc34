"""Requests by byte and volume, as traces and stand-ins have them, and the way to logical pages."""

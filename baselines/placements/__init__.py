"""Placements: rules that choose the stream or sub-block of a page."""

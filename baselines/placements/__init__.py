"""Placements: where pages are written, one small file each."""

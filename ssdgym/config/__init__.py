"""Typed models of everything under `configs/`, and how they are read."""

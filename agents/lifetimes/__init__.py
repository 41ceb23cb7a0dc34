"""Predict how long data lives: what a placement sees of pages, when they die, and a network fitted to it."""

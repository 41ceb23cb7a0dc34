"""MiDAS and its hot filter: placements, and what is computed between two steps of the engine."""

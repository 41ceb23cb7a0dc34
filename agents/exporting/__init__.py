"""Agents as code that runs without Python."""

"""Decisions of one device: who takes them, what is chosen, and why the engine refuses or gives up."""

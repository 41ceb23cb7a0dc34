"""A log simulator in C that shares no code with ssdgym, and what the same policies do in both."""

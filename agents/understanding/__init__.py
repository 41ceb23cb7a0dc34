"""What an agent has learned: which features it needs, whom it agrees with, and how simply it can be said.

Everything here works for any agent (`ssdgym.agents.playing.protocol.Agent`) and for any environment that
describes candidates.
"""

"""Kinds of decisions beside that of what to erase: where pages go, and several kinds in one episode."""

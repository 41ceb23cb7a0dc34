"""MiDAS and its hot filter; docs/policies.md defines groups, epochs, model and search, step by step."""

"""How devices are stepped to their decisions: batches of one FTL family, and several of them together."""

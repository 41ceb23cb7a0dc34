"""How the blocks of a bundle are merged: what each way costs, and its steps."""

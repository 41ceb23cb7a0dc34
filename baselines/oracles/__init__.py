"""Rules that are given the future of a run or the limits of blocks, as bounds for rules that are not."""

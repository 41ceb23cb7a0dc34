"""Merge, always: what an FTL does whose flash erases whole blocks."""

from ssdgym.policy import merge_policy


@merge_policy(
    "merge",
    source="NFTL, and the superblock FTL of Kang et al., EMSOFT 2006, as compared with in Liu et al., PEN,"
    " FAST 2018",
)
def merge(plans, case, parameters):
    """Copy the valid pages elsewhere and erase whole blocks, whatever it costs."""
    return 0

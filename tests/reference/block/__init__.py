"""A slow, plain-Python simulator of the block FTLs of docs/block.md: NFTL and superblock FTL, with M-Merge.

What no mapping decides (requests, the clock, dies and channels) it shares with the page family's
reference; with the engine it shares no code.
"""

from .config import NFTL, SUPERBLOCK, BlockConfig
from .device import BlockDevice
from .figures import FULL, POOL, Case, Figures
from .jobs import IllegalCandidate
from .simulator import BlockReference, merge, mmerge

__all__ = [
    "FULL",
    "NFTL",
    "POOL",
    "SUPERBLOCK",
    "BlockConfig",
    "BlockDevice",
    "BlockReference",
    "Case",
    "Figures",
    "IllegalCandidate",
    "merge",
    "mmerge",
]

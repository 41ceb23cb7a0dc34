"""A slow, plain-Python simulator of the sub-page FTLs of docs/subpage.md: cgm, fgm, sector log and subFTL.

What no mapping decides (pools, index, need for garbage collection, the clock) it shares with the page
family's reference; with the engine it shares no code.
"""

from .config import CGM, FGM, SECTOR_LOG, SUBFTL, SubpageConfig
from .device import SubpageDevice
from .flash import OutOfOrder
from .simulator import SubpageReference

__all__ = [
    "CGM",
    "FGM",
    "SECTOR_LOG",
    "SUBFTL",
    "OutOfOrder",
    "SubpageConfig",
    "SubpageDevice",
    "SubpageReference",
]

"""The placements: where an FTL puts pages. A policy's name may end in one, as in `greedy+sep_gc`."""

from __future__ import annotations

from typing import Literal, get_args

Placement = Literal[
    "single",  # every page in one write stream of its plane
    "sep_gc",  # relocated pages in a stream of their own
    "hot_cold",  # hot pages in a stream of their own (the clustering that the block-size study closes with)
    "hot_to_victims",  # hot host pages in the sub-blocks that would be erased next (SpeedupGC's GSM+)
    "hotness_groups",  # hot pages in blocks of the group of their hotness, others anywhere (SpeedupGC)
]
PLACEMENTS: tuple[str, ...] = get_args(Placement)
#: Write streams of a plane, for those that put pages in streams; the others scatter them.
STREAMS = {"single": 1, "sep_gc": 2, "hot_cold": 2}
#: These ask which sub-blocks would be erased next, and have an answer only where sub-blocks are erased.
SUB_BLOCK_PLACEMENTS = ("hot_to_victims", "hotness_groups")

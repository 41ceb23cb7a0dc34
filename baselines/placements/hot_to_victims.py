"""Hot pages of the host go to the sub-blocks that would be erased next, all others to stream 0.

Hotness is that of `hot_cold` (E22 to E25).

* **E27** `hot_to_victims`: a hot host page goes to the block in the pool with the best set (E43) of highest
  benefit (ties as for the best set of a plane), of those whose best set has unwritten pages, else of all;
  there to the lowest sub-block of the best set with unwritten pages, else of the block. If no block in the
  pool has a best set: stream 0.
"""

from ssdgym.policy import built_in_placement

built_in_placement("hot_to_victims", source="Gong, Shen and Shu, SpeedupGC, section II-B (GSM+)")

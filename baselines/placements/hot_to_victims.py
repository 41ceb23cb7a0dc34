"""Hot pages of the host go to the sub-blocks that would be erased next, all others to stream 0."""

from ssdgym.policy import built_in_placement

built_in_placement("hot_to_victims", source="Gong, Shen and Shu, SpeedupGC, section II-B (GSM+)")

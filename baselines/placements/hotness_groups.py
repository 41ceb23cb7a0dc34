"""Hot pages go to blocks of the group of their hotness, others to any sub-block at random."""

from ssdgym.policy import built_in_placement

built_in_placement("hotness_groups", source="Gong, Shen and Shu, SpeedupGC, sections III-C and III-D")

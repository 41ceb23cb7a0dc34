"""Pages of the host go to stream 0, relocated pages to stream 1."""

from ssdgym.policy import built_in_placement

built_in_placement("sep_gc", source="As compared with in SepBIT, Wang et al., FAST 2022 (SepGC)")

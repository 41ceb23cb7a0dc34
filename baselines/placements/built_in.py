"""Placements that the engine has itself."""

from ssdgym.policy import built_in_placement


def single(view, plane, lpn, source, parameters):
    """Name the one stream."""
    return 0


built_in_placement("single", source="The log of Rosenblum and Ousterhout, ACM TOCS 1992", equivalent=single)


def sep_gc(view, plane, lpn, source, parameters):
    """Separate pages of the host from relocated ones."""
    return 0 if source < 0 else 1


built_in_placement(
    "sep_gc", source="As compared with in SepBIT, Wang et al., FAST 2022 (SepGC)", equivalent=sep_gc
)


built_in_placement(
    "hot_cold", source="As Shin, Electronics Letters 2018, closes with; hot as in SpeedupGC, III-B"
)


built_in_placement("hotness_groups", source="Gong, Shen and Shu, SpeedupGC, sections III-C and III-D")


built_in_placement("hot_to_victims", source="Gong, Shen and Shu, SpeedupGC, section II-B (GSM+)")

"""Names for the compositions of SpeedupGC, and for those that the paper compares it with."""

from ssdgym.policy import policy_alias

_PAPER = "Gong, Shen and Shu, SpeedupGC"

# The baseline erases whole blocks, even if the device offers a smaller unit.
policy_alias("baseline", "greedy+single", source=f"{_PAPER}, section IV-A", erase_unit="block")
policy_alias("gsm_plus", "gsm+hot_to_victims", source=f"{_PAPER}, section II-B")
policy_alias("speedupgc", "gsm+hotness_groups", source=f"{_PAPER}, section III")
policy_alias("speedupgc_pb", "pb+hotness_groups", source=f"{_PAPER}, section III-E")

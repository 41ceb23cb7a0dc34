"""SpeedupGC and what it is compared with: erase sub-blocks, guide hot pages to the next victims."""

from ssdgym.policy import named_policy

_PAPER = "Gong, Shen and Shu, SpeedupGC"

# It erases whole blocks, whatever smaller unit the device it is compared on may offer.
named_policy(
    "baseline", "greedy+single", source=f"{_PAPER}, section IV-A", erase_unit="block", isolation="none"
)
named_policy("gsm_plus", "gsm+hot_to_victims", source=f"{_PAPER}, section II-B")
named_policy("speedupgc", "gsm+hotness_groups", source=f"{_PAPER}, section III")
named_policy("speedupgc_pb", "pb+hotness_groups", source=f"{_PAPER}, section III-E")

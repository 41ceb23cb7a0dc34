"""Hot pages go to stream 1, all others to stream 0, both host pages and relocated pages.

* **E22** The device has a table of `hashes` rows of `counters` 4-bit counters, zero at the start. Row `r`
  counts page `lpn` in counter `below(counters)` of `mix(mix(GOLDEN * (lpn + 1)) + GOLDEN * (r + 1))` mod
  2**64 (E86). If `hotness.pages_per_counter` is `K`, a row has a counter for every `K` logical pages,
  rounded up.
* **E23** Each host page programmed is an update: before the page is placed, its counter in each row rises by
  1, up to 15. With every `decay_period`-th update, also before the page is placed, all counters are then
  halved, rounded down.
* **E24** The *degree* of a page is the smallest of its counters. With thresholds `t_1 < ... < t_g` a page
  is *hot* iff its degree is at least `t_1`; its *hotness group* is the largest `i` with `t_i <= degree`.
  `hot_pages_written` counts host pages that are hot when placed.
* **E25** If `hotness.counts` is `updates`, a host page that is unmapped just before its program is neither
  counted nor hot. Under `hotness_groups` it is placed by E33.
* **E26** Under `hot_cold` the order of E23 is reversed: a host page is placed before its write is counted.
"""

from ssdgym.baselines.placements import hotness
from ssdgym.policy import placement_policy


@placement_policy(
    "hot_cold",
    source="Proposed at the end of Shin, Electronics Letters 2018; hotness as in SpeedupGC, section III-B",
    streams=2,
    relocation_streams=1,  # 2 would need a third free block (docs/engine.md, E21)
    memory=hotness.MEMORY,
    table=hotness.table_words,
    controller_bytes=hotness.table_bytes,
    counted=["hot_pages_written"],
)
def hot_cold(view, plane, lpn, source, parameters):
    """Put a hot page into stream 1, any other page into stream 0."""
    if hotness.is_first_write(view, lpn):
        return 0
    return 1 if hotness.hotness_group(view, 0, lpn) > 0 else 0


@hot_cold.on("written")
def written(view, plane, lpn, old_page, page, parameters):
    """Count the write in the hotness table."""
    hotness.note_write(view, 0, lpn, old_page, page, True)


@hot_cold.on("attached")
def attached(view, plane, block, parameters):
    """Do nothing: the counters begin at 0, even if the device has data."""

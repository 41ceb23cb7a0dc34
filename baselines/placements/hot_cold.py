"""Hot pages go to stream 1, others to stream 0, whether of the host or relocated (E22 to E26)."""

from ssdgym.baselines.placements import hotness
from ssdgym.policy import placement_policy


@placement_policy(
    "hot_cold",
    source="As Shin, Electronics Letters 2018, closes with; hot as in SpeedupGC, III-B",
    streams=2,
    relocation_streams=1,
    memory=hotness.MEMORY,
    table=hotness.table_words,
    controller_bytes=hotness.table_bytes,
    counted=["hot_pages_written"],
)
def hot_cold(view, plane, lpn, source, parameters):
    """Put a hot page into stream 1, any other into stream 0."""
    if hotness.is_first_write(view, lpn):
        return 0
    return 1 if hotness.hotness_group(view, 0, lpn) > 0 else 0


@hot_cold.on("written")
def written(view, plane, lpn, old_page, page, parameters):
    """Count the write."""
    group = 0 if hotness.was_first_write(view, lpn, old_page, page) else hotness.count_update(view, 0, lpn)[0]
    hotness.count_hot(view, 1 if group > 0 else 0)


@hot_cold.on("attached")
def attached(view, plane, block, parameters):
    """Begin on whatever the device holds: nothing is known of it."""

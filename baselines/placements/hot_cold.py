"""Hot pages go to stream 1, others to stream 0, whether of the host or relocated."""

from ssdgym.policy import built_in_placement

built_in_placement(
    "hot_cold", source="As Shin, Electronics Letters 2018, closes with; hot as in SpeedupGC, III-B"
)

"""A bound for host placement: pages of the host by when they die, relocated ones as SepBIT places them."""

from ssdgym.baselines.oracles.lives import death_of, stream_of_life
from ssdgym.baselines.oracles.oracle_gc import MEMORY, PAGE, period, written
from ssdgym.baselines.placements.sepbit import SEPBIT_BLOCK, collected, opened, relocated_stream
from ssdgym.policy import placement_policy

#: Streams for pages of the host; those for relocated pages follow.
_HOST_STREAMS = 4


@placement_policy(
    "oracle_host",
    source="A bound: host streams by the future before SepBIT's streams of relocated pages",
    streams=_HOST_STREAMS + 4,
    relocation_streams=4,
    parameters={"nc": 16, "first": 0.02, "ratio": 3.0},
    minimum={"nc": 1, "first": 1e-6, "ratio": 1.01},
    page=PAGE,
    block=SEPBIT_BLOCK,
    memory=MEMORY,
    oracle=True,
)
def oracle_host(view, plane, lpn, source, parameters):
    """Put a page of the host into one of four streams by how long its data will live on.

    The bounds are `first * ratio**i` of the logical pages. A relocated page goes to one of four further
    streams as `sepbit` chooses, whose stream 0 is the one of the shortest lives here.
    """
    if source >= 0:
        return relocated_stream(view, lpn, source) - 2 + _HOST_STREAMS
    life = death_of(view, lpn, source) - view.control[0].clock
    return stream_of_life(view, life, parameters.first, parameters.ratio, _HOST_STREAMS)


oracle_host.on("period")(period)
oracle_host.on("written")(written)
oracle_host.on("opened")(opened)
oracle_host.on("collected")(collected)

"""Bounds for the host or relocation alone: their pages by when they die, others as SepBIT places them."""

from typing import Any

from ssdgym.baselines.oracles import lives
from ssdgym.baselines.placements import sepbit
from ssdgym.policy import placement_policy

_DECLARED: dict[str, Any] = {
    "parameters": {"nc": (16, 1), "first": (0.02, 1e-6), "ratio": (3.0, 1.01)},
    "page": [*lives.PAGE_FIELDS, *sepbit.SEPBIT_PAGE],
    "block": sepbit.SEPBIT_BLOCK,
    "memory": [*lives.MEMORY_FIELDS, *sepbit.SEPBIT_MEMORY],
    "oracle": True,
}


@placement_policy(
    "oracle_host",
    source="A bound: host streams by the future before SepBIT's streams of relocated pages",
    streams=8,
    relocation_streams=4,
    **_DECLARED,
)
def oracle_host(view, plane, lpn, source, parameters):
    """Put a page of the host into one of four streams by how long its data will live on.

    The bounds are `first * ratio**i` of the logical pages. A relocated page goes to one of four further
    streams as `sepbit` chooses, whose stream 0 is the one of the shortest lives here.
    """
    if source >= 0:
        return sepbit.relocated_stream(view, lpn, source) + 2  # SepBIT has two streams for the host, not four
    life = lives.death_of(view, lpn, source) - view.control[0].clock
    return lives.stream_of_life(view, life, parameters.first, parameters.ratio, 4)


@placement_policy(
    "oracle_gc",
    source="A bound: SepBIT's host streams before streams of relocated pages placed by their future",
    streams=8,
    relocation_streams=6,
    **_DECLARED,
)
def oracle_gc(view, plane, lpn, source, parameters):
    """Put a relocated page into one of six streams by how long its data will live on.

    The bounds are `first * ratio**i` of the logical pages. A page of the host goes to stream 0 or 1 as
    `sepbit` chooses.
    """
    if source < 0:
        return sepbit.host_stream(view, lpn)
    life = lives.death_of(view, lpn, source) - view.control[0].clock
    return 2 + lives.stream_of_life(view, life, parameters.first, parameters.ratio, 6)


@oracle_host.on("period")
@oracle_gc.on("period")
def period(view, parameters, future):
    """Note when pages die."""
    lives.note_future(view, future)
    return lives.WINDOW


@oracle_host.on("written")
@oracle_gc.on("written")
def written(view, plane, lpn, old_page, page, parameters):
    """Note when the page was written, and when it dies."""
    view.page_memory[lpn].written = view.control[0].clock
    lives.note_death(view, lpn)


for _rule in (oracle_host, oracle_gc):
    _rule.on("opened")(sepbit.opened)
    _rule.on("collected")(sepbit.collected)

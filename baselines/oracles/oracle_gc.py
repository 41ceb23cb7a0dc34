"""A bound for relocation: relocated pages by when they die, those of the host as SepBIT places them."""

from ssdgym.baselines.oracles import lives
from ssdgym.baselines.placements import sepbit
from ssdgym.policy import placement_policy

#: What it keeps of each page, and once.
PAGE = [*lives.PAGE_FIELDS, *sepbit.SEPBIT_PAGE]
MEMORY = [*lives.MEMORY_FIELDS, *sepbit.SEPBIT_MEMORY]
_HOST_STREAMS, _RELOCATION_STREAMS = 2, 6


@placement_policy(
    "oracle_gc",
    source="A bound: SepBIT's host streams before streams of relocated pages placed by their future",
    streams=_HOST_STREAMS + _RELOCATION_STREAMS,
    relocation_streams=_RELOCATION_STREAMS,
    parameters={"nc": 16, "first": 0.02, "ratio": 3.0},
    minimum={"nc": 1, "first": 1e-6, "ratio": 1.01},
    page=PAGE,
    block=sepbit.SEPBIT_BLOCK,
    memory=MEMORY,
    oracle=True,
)
def oracle_gc(view, plane, lpn, source, parameters):
    """Put a relocated page into one of six streams by how long its data will live on.

    The bounds are `first * ratio**i` of the logical pages. A page of the host goes to stream 0 or 1 as
    `sepbit` chooses.
    """
    if source < 0:
        return sepbit.host_stream(view, lpn)
    life = lives.death_of(view, lpn, source) - view.control[0].clock
    return _HOST_STREAMS + lives.stream_of_life(
        view, life, parameters.first, parameters.ratio, _RELOCATION_STREAMS
    )


@oracle_gc.on("period")
def period(view, parameters, future):
    """Note when pages die."""
    lives.note_future(view, future)
    return lives.WINDOW


@oracle_gc.on("written")
def written(view, plane, lpn, old_page, page, parameters):
    """Note when the page was written, and when it dies."""
    view.page_memory[lpn].written = view.control[0].clock
    lives.note_death(view, lpn)


oracle_gc.on("opened")(sepbit.opened)
oracle_gc.on("collected")(sepbit.collected)

"""MiDA behind the hot filter of MiDAS: pages that are overwritten soon, again and again, have a stream."""

from ssdgym.baselines.midas import hot_filter
from ssdgym.baselines.midas.hot_filter import FULL, HOST, HOT
from ssdgym.policy import placement_policy

_LAST = 4


@placement_policy(
    "mida_hot",
    source="Oh et al., MiDAS, FAST 2024: its hot filter, before MiDA (Park et al., APSys 2021)",
    streams=5,
    relocation_streams=4,
    page=hot_filter.PAGE,
    memory=hot_filter.MEMORY,
)
def mida_hot(view, plane, lpn, source, parameters):
    """Put hot pages of the host into stream 0, its others into stream 1, survivors into the next stream.

    Stream 4 is the last one: its pages stay in it. A page is hot while its counter, of 2 bits, is 3; a write
    counts before it is placed. The counter changes with these events:

    * An overwrite of a page in stream 0: +1.
    * An overwrite of a page in stream 1: +1 if its block was closed at most `tau` host pages ago, or has room
      yet, otherwise -1.
    * A relocation: -2 from stream 0, -1 from stream 1.

    As many events as there are logical pages are ignored at first: overwrites, and relocations from streams 0
    and 1. `tau` is the number of logical pages at first. A window ends after `tau` overwrites, and not before
    a block of stream 0 was collected in it. With `m`, the mean of the host pages between closing and
    collecting such blocks, `tau` becomes `1.5 * tau` if `m` is `2 * tau` or more, else the mean of `m` and
    `tau`.
    """
    if source >= 0:
        return min(view.block[source // view.params[0].pages_per_block].stream + 1, _LAST)
    page = view.logical[lpn].ppn
    heat = view.page_memory[lpn].heat
    if page >= 0:
        group = view.block[page // view.params[0].pages_per_block].stream
        heat = hot_filter.heat_after(view, lpn, page, group, view.control[0].clock)
    return HOT if heat == FULL else HOST


@mida_hot.on("written")
def written(view, plane, lpn, old_page, page, parameters):
    """Count the overwrite."""
    if old_page >= 0:
        stream = view.block[old_page // view.params[0].pages_per_block].stream
        hot_filter.note_overwrite(view, lpn, old_page, stream)
        if hot_filter.window_is_over(view):
            hot_filter.begin_window(view)


@mida_hot.on("relocated")
def relocated(view, plane, lpn, old_page, page, parameters):
    """Count the relocation."""
    hot_filter.note_move(view, lpn, view.block[old_page // view.params[0].pages_per_block].stream)


@mida_hot.on("trimmed")
def trimmed(view, plane, lpn, old_page, page, parameters):
    """Forget the page."""
    view.page_memory[lpn].heat = 0


@mida_hot.on("collected")
def collected(view, plane, block, parameters):
    """Count the age of a block of stream 0."""
    if view.block[block].stream == HOT and not hot_filter.is_asleep(view):
        hot_filter.note_victim(view, block)
        if hot_filter.window_is_over(view):
            hot_filter.begin_window(view)

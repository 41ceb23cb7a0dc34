"""MiDA after the hot filter of MiDAS: pages that are overwritten soon, repeatedly, have their own stream."""

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
    """Put hot host pages into stream 0, other host pages into stream 1, relocated pages into the next stream.

    Pages of stream 4, the last one, stay in it. A page is hot while its 2-bit counter is 3. These events
    change the counter within 0 and 3; a write changes it before the page is placed:

    * An overwrite of a page in stream 0: +1.
    * An overwrite of a page in stream 1: +1 if its block was closed at most `tau` host pages ago, or is not
      full yet, otherwise -1.
    * A relocation: -2 from stream 0, -1 from stream 1.

    Overwrites, and relocations from streams 0 and 1, are events; the first `L` events are ignored. `L` is the
    number of logical pages and the first value of `tau`. A window ends after `tau` overwrites, but not before
    a block of stream 0 is collected. Let `m` be the mean number of host pages between closing and collecting
    such blocks in the window. Then `tau` becomes `1.5 * tau` if `m` is at least `2 * tau`, otherwise the mean
    of `m` and `tau`.
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
    """Reset the counter of the page."""
    view.page_memory[lpn].heat = 0


@mida_hot.on("collected")
def collected(view, plane, block, parameters):
    """If the victim is of stream 0, count its age, and end the window if it is over."""
    if view.block[block].stream == HOT and not hot_filter.is_asleep(view):
        hot_filter.note_victim(view, block)
        if hot_filter.window_is_over(view):
            hot_filter.begin_window(view)

"""MiDA behind the hot filter of MiDAS: pages that are overwritten soon, again and again, have a stream."""

from ssdgym.baselines.midas.records import FULL, HOST, HOT, heat_after_move, heat_after_overwrite, next_tau
from ssdgym.policy import kernel, placement_policy

_LAST = 4


@placement_policy(
    "mida_hot",
    source="Oh et al., MiDAS, FAST 2024: its hot filter, before MiDA (Park et al., APSys 2021)",
    streams=5,
    relocation_streams=4,
    page=[("counter", "u1")],
    memory=[("tau", "f8"), ("ignored", "i8"), ("overwrites", "i8"), ("ages", "i8"), ("victims", "i8")],
)
def mida_hot(view, plane, lpn, source, parameters):
    """Put hot pages of the host into stream 0, its others into stream 1, survivors into the next stream.

    Stream 4 is the last one: its pages stay in it. A page is hot while its counter, of 2 bits, is 3; a write
    counts before it is placed. The counter changes with these events:

    * An overwrite of a page in stream 0: +1.
    * An overwrite of a page in stream 1: +1 if its block was closed at most `tau` host pages ago, or has room
      yet, else -1.
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
    return HOT if _counter_after(view, lpn, page, view.control[0].clock) == FULL else HOST


@kernel
def _is_asleep(view):
    """Return whether events are still ignored."""
    return view.memory[0].ignored < view.params[0].logical_pages


@kernel
def _tau(view):
    """Return the age up to which a block counts as young."""
    tau = view.memory[0].tau
    return tau if tau > 0.0 else float(view.params[0].logical_pages)


@kernel
def _counter_after(view, lpn, page, clock):
    """Return a page's counter after the host overwrites it where `page` holds it, -1 for none."""
    counter = int(view.page_memory[lpn].counter)
    if page < 0 or _is_asleep(view):
        return counter
    pages_per_block = view.params[0].pages_per_block
    record = view.block[page // pages_per_block]
    age = clock - record.closed_at if record.written == pages_per_block else 0
    return heat_after_overwrite(counter, record.stream, age, _tau(view))


@kernel
def _end_window(view):
    """Adapt `tau` if the window is over."""
    memory, tau = view.memory[0], _tau(view)
    if memory.overwrites < tau or memory.victims == 0:
        return
    memory.tau = next_tau(tau, memory.ages / memory.victims)
    memory.overwrites = memory.ages = memory.victims = 0


@mida_hot.on("written")
def written(view, plane, lpn, old_page, page, parameters):
    """Count the overwrite."""
    if old_page < 0:
        return
    memory = view.memory[0]
    if _is_asleep(view):
        memory.ignored += 1
        return
    view.page_memory[lpn].counter = _counter_after(view, lpn, old_page, view.control[0].clock - 1)
    memory.overwrites += 1
    _end_window(view)


@mida_hot.on("relocated")
def relocated(view, plane, lpn, old_page, page, parameters):
    """Count the relocation."""
    stream = view.block[old_page // view.params[0].pages_per_block].stream
    if stream > HOST:
        return
    if _is_asleep(view):
        view.memory[0].ignored += 1
        return
    view.page_memory[lpn].counter = heat_after_move(view.page_memory[lpn].counter, stream)


@mida_hot.on("trimmed")
def trimmed(view, plane, lpn, old_page, page, parameters):
    """Forget the page."""
    view.page_memory[lpn].counter = 0


@mida_hot.on("collected")
def collected(view, plane, block, parameters):
    """Count the age of a block of stream 0."""
    record = view.block[block]
    if record.stream == HOT and not _is_asleep(view):
        view.memory[0].ages += view.control[0].clock - record.closed_at
        view.memory[0].victims += 1
        _end_window(view)

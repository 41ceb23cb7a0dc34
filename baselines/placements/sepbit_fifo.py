"""SepBIT with the queue of its authors in place of exact write times."""

from ssdgym.baselines.placements.sepbit import (
    SEPBIT_BLOCK,
    SEPBIT_MEMORY,
    SEPBIT_PAGE,
    collected,
    host_stream,
    mean_life,
    opened,
    relocated_stream,
)
from ssdgym.policy import placement_policy


@placement_policy(
    "sepbit_fifo",
    source="Wang et al., FAST 2022, with the FIFO queue of their trace replay",
    streams=6,
    relocation_streams=4,
    parameters={"nc": 16},
    minimum={"nc": 1},
    page=SEPBIT_PAGE,
    block=SEPBIT_BLOCK,
    memory=[*SEPBIT_MEMORY, ("queued", "i8")],
)
def sepbit_fifo(view, plane, lpn, source, parameters):
    """Put pages of like expected life into one of six streams, as `sepbit` does but for one thing.

    The age of a page of the host is known only while the page is in a queue of the last pages written. It
    goes to stream 0 if its age is below `life` and below the length of the queue. Every page of the host
    joins the queue at its end. If the queue is longer than `life` or the number of logical pages then, its
    head leaves, and if it is still longer than `life`, the next one, too. So this differs from `sepbit` while
    `life` grows, and for pages older than there are logical pages. A trimmed page is as one that was never
    written.
    """
    if source >= 0:
        return relocated_stream(view, lpn, source)
    age = view.control[0].clock - view.page_memory[lpn].written + 1
    return host_stream(view, lpn) if age < view.memory[0].queued else 1


@sepbit_fifo.on("written")
def written(view, plane, lpn, old_page, page, parameters):
    """Note when the page was written, unless it was overtaken, and let it join the queue."""
    memory = view.memory[0]
    if view.logical[lpn].ppn == page:
        view.page_memory[lpn].written = view.control[0].clock
    life = mean_life(view)
    memory.queued += 1
    if memory.queued > min(life, float(view.params[0].logical_pages)):
        memory.queued -= 1
        if memory.queued > life:
            memory.queued -= 1


@sepbit_fifo.on("trimmed")
def trimmed(view, plane, lpn, old_page, page, parameters):
    """Forget the page."""
    view.page_memory[lpn].written = 0


sepbit_fifo.on("opened")(opened)
sepbit_fifo.on("collected")(collected)

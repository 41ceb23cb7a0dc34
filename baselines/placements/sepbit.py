"""SepBIT: pages are separated by when they are expected to be overwritten, inferred from how old they are.

`sepbit` has exact write times, `sepbit_fifo` the queue of its authors in their place.
"""

from ssdgym.policy import kernel, placement_policy

#: What it keeps of each page, of each block, and once.
SEPBIT_PAGE = [("written", "i8")]
SEPBIT_BLOCK = [("opened_at", "i8")]
SEPBIT_MEMORY = [("mean_life", "f8"), ("lives", "i8"), ("collected", "i8")]


@kernel
def mean_life(view):
    """Return the mean life of the last blocks of stream 0, in host pages; infinite before there are any."""
    life = view.memory[0].mean_life
    return life if life > 0.0 else float("inf")


@kernel
def host_stream(view, lpn):
    """Return 0 for a page of the host that has been written before, not longer ago than `life`, else 1."""
    written = view.page_memory[lpn].written
    return 0 if written > 0 and view.control[0].clock - written + 1 < mean_life(view) else 1


@kernel
def relocated_stream(view, lpn, source):
    """Return 2 for a page from a block of stream 0, else 3, 4 or 5 by its age."""
    if view.block[source // view.params[0].pages_per_block].stream == 0:
        return 2
    age = view.control[0].clock - view.page_memory[lpn].written + 1
    life = mean_life(view)
    if age < 4.0 * life:
        return 3
    return 4 if age < 16.0 * life else 5


@placement_policy(
    "sepbit",
    source="Wang et al., FAST 2022, with exact write times in place of their FIFO queue",
    streams=6,
    relocation_streams=4,
    parameters={"nc": (16, 1)},
    page=SEPBIT_PAGE,
    block=SEPBIT_BLOCK,
    memory=SEPBIT_MEMORY,
)
def sepbit(view, plane, lpn, source, parameters):
    """Put pages of like expected life into one of six streams.

    `life` is the mean number of host pages between opening and collecting a block of stream 0, over the last
    `nc` of these blocks; infinite before that. The age of a page is the number of host pages since it was
    last written by the host.

    A page of the host goes to stream 0 if it has been written before and its age is below `life`, else to
    stream 1. A page relocated from a block of stream 0 goes to stream 2; one from any other block to stream
    3, 4 or 5 if its age is below `4 * life`, below `16 * life`, or above.
    """
    return host_stream(view, lpn) if source < 0 else relocated_stream(view, lpn, source)


@sepbit.on("written")
def written(view, plane, lpn, old_page, page, parameters):
    """Note when the page was written: 1 for the first page of the host, 0 for never."""
    view.page_memory[lpn].written = view.control[0].clock


@sepbit.on("opened")
def opened(view, plane, block, parameters):
    """Note when the block was opened."""
    view.block_memory[block].opened_at = view.control[0].clock


@sepbit.on("collected")
def collected(view, plane, block, parameters):
    """Count the life of a block of stream 0, and take the mean of every `nc`."""
    if view.block[block].stream != 0:
        return
    memory = view.memory[0]
    memory.lives += view.control[0].clock - view.block_memory[block].opened_at
    memory.collected += 1
    if memory.collected == parameters.nc:
        memory.mean_life = memory.lives / memory.collected
        memory.lives = memory.collected = 0


@placement_policy(
    "sepbit_fifo",
    source="Wang et al., FAST 2022, with the FIFO queue of their trace replay",
    streams=6,
    relocation_streams=4,
    parameters={"nc": (16, 1)},
    page=SEPBIT_PAGE,
    block=SEPBIT_BLOCK,
    memory=[*SEPBIT_MEMORY, ("queued", "i8")],
)
def sepbit_fifo(view, plane, lpn, source, parameters):
    """Put pages of like expected life into one of six streams, as `sepbit` does, with one difference.

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
def queued(view, plane, lpn, old_page, page, parameters):
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

"""SepBIT: pages are separated by when they are expected to be overwritten, inferred from how old they are."""

from ssdgym.policy import placement_policy


@placement_policy(
    "sepbit",
    source="Wang et al., FAST 2022, with exact write times in place of their FIFO queue",
    streams=6,
    relocation_streams=4,
    parameters={"nc": (16, 1)},
    page=[("written", "i8")],
    block=[("opened_at", "i8")],
    memory=[("mean_life", "f8"), ("lives", "i8"), ("collected", "i8")],
)
def sepbit(view, plane, lpn, source, parameters):
    """Put a page into one of six streams by its expected life.

    `life` is the mean number of host pages between opening and collecting a block of stream 0, over the last
    `nc` of these blocks; infinite before that. The age of a page is the number of host pages since it was
    last written by the host.

    A page of the host goes to stream 0 if it has been written before and its age is below `life`, else to
    stream 1. A page relocated from a block of stream 0 goes to stream 2; a page from any other block to
    stream 3, 4 or 5 if its age is below `4 * life`, below `16 * life`, or above.
    """
    written = view.page_memory[lpn].written
    age = view.control[0].clock - written + 1
    life = view.memory[0].mean_life if view.memory[0].mean_life > 0.0 else float("inf")
    if source < 0:
        return 0 if written > 0 and age < life else 1
    if view.block[source // view.params[0].pages_per_block].stream == 0:
        return 2
    if age < 4.0 * life:
        return 3
    return 4 if age < 16.0 * life else 5


@sepbit.on("written")
def written(view, plane, lpn, old_page, page, parameters):
    """Store the clock after the write of the page: 1 for the first page of the host, 0 for never."""
    view.page_memory[lpn].written = view.control[0].clock


@sepbit.on("opened")
def opened(view, plane, block, parameters):
    """Store the clock at which the block was opened."""
    view.block_memory[block].opened_at = view.control[0].clock


@sepbit.on("collected")
def collected(view, plane, block, parameters):
    """Add the life of a block of stream 0 to the sum; after every `nc` such blocks, update the mean life."""
    if view.block[block].stream != 0:
        return
    memory = view.memory[0]
    memory.lives += view.control[0].clock - view.block_memory[block].opened_at
    memory.collected += 1
    if memory.collected == parameters.nc:
        memory.mean_life = memory.lives / memory.collected
        memory.lives = memory.collected = 0

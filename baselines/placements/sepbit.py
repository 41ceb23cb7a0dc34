"""SepBIT: pages are separated by the expected time until their next write, inferred from their age."""

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

    `life` is the mean number of host pages between opening and collecting a block of stream 0. It is infinite
    at first, and computed anew whenever `nc` such blocks have been collected, from these blocks. The age of a
    page is the number of host pages since the host last wrote it.

    A host page goes to stream 0 if it has been written before and its age is below `life`, otherwise to
    stream 1. A page relocated from a block of stream 0 goes to stream 2. A page relocated from any other
    block goes to stream 3 if its age is below `4 * life`, to 4 if it is below `16 * life`, otherwise to 5.
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
    """Store the clock after the write, which is at least 1; 0 means that the page was never written."""
    view.page_memory[lpn].written = view.control[0].clock


@sepbit.on("opened")
def opened(view, plane, block, parameters):
    """Store the clock at which the block was opened."""
    view.block_memory[block].opened_at = view.control[0].clock


@sepbit.on("collected")
def collected(view, plane, block, parameters):
    """Add the life of a block of stream 0 to a sum; after every `nc` such blocks, update the mean life."""
    if view.block[block].stream != 0:
        return
    memory = view.memory[0]
    memory.lives += view.control[0].clock - view.block_memory[block].opened_at
    memory.collected += 1
    if memory.collected == parameters.nc:
        memory.mean_life = memory.lives / memory.collected
        memory.lives = memory.collected = 0

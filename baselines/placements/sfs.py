"""SFS: blocks are clustered by hotness; a page goes to the cluster whose centre is nearest to its hotness."""

from ssdgym.policy import blocks_of, kernel, placement_policy

_STREAMS = 6
_ROUNDS = 3


@placement_policy(
    "sfs",
    source="Min et al., FAST 2012. The SFS in the program of SepBIT, Wang et al., FAST 2022, differs: it"
    " computes centres at every block collected, from times in microseconds; up to six blocks have one each",
    streams=6,
    relocation_streams=6,
    parameters={"period": (16, 1)},
    page=[("written_at", "i8"), ("writes", "i4")],
    block=[("written_at", "i8"), ("writes", "i8"), ("hotness", "f8")],
    stream=[("centre", "f8"), ("total", "f8"), ("blocks", "i8"), ("victims", "i8")],
)
def sfs(view, plane, lpn, source, parameters):
    """Put a page into the stream whose centre is nearest to its hotness; ties go to the last stream.

    The hotness of a page is the number of its host writes, divided by the host pages since the last of them.
    The present write does not count; a page without an earlier write goes to stream 0, the hottest.

    Every plane has six centres, one for each stream, which are 0 at first. At the first block collected in a
    plane, and at every `period`-th block after it, the centres are computed again from the indexed blocks
    with a valid page, without the victim. Three iterations of k-means begin at the present centres. A block
    equally near to several centres joins the first one; a centre without a block becomes 0. Then the centres
    are sorted, the largest first. The hotness of a block is the sum of the writes of its valid pages, divided
    by the sum of the host pages since the last write of each. (The paper clusters all blocks at every
    collection, as `period=1` does.)
    """
    memory = view.page_memory[lpn]
    if source < 0 and memory.writes == 0:
        return 0
    hotness = memory.writes / (view.control[0].clock - memory.written_at)
    first = plane * _STREAMS
    nearest, least = 0, float("inf")
    for k in range(_STREAMS - 1, -1, -1):
        distance = abs(view.stream_memory[first + k].centre - hotness)
        if distance < least:
            nearest, least = k, distance
    return nearest


@kernel
def _add(view, page, writes, written_at):
    """Add a number of writes and a clock to the sums of the block of a page."""
    block = view.block_memory[page // view.params[0].pages_per_block]
    block.writes += writes
    block.written_at += written_at


@sfs.on("written")
def written(view, plane, lpn, old_page, page, parameters):
    """Count the write, unless a newer write or a trim has overtaken it."""
    if view.logical[lpn].ppn != page:
        return
    memory, now = view.page_memory[lpn], view.control[0].clock - 1
    writes = memory.writes
    if old_page >= 0:
        _add(view, old_page, -writes, -memory.written_at)
    memory.writes = writes + 1
    memory.written_at = now
    _add(view, page, writes + 1, now)


@sfs.on("relocated")
def relocated(view, plane, lpn, old_page, page, parameters):
    """Move the page's writes and write time from the sums of its old block to those of its new block."""
    memory = view.page_memory[lpn]
    writes, written_at = memory.writes, memory.written_at
    _add(view, old_page, -writes, -written_at)
    _add(view, page, writes, written_at)


@sfs.on("trimmed")
def trimmed(view, plane, lpn, old_page, page, parameters):
    """Reset the page's records, and subtract them from the sums of its block."""
    memory = view.page_memory[lpn]
    _add(view, old_page, -memory.writes, -memory.written_at)
    memory.writes = memory.written_at = 0


@sfs.on("collected")
def collected(view, plane, block, parameters):
    """Count the victim; compute the centres again at the first victim and every `period`-th after it."""
    first = view.stream_memory[plane * _STREAMS]
    if first.victims % parameters.period == 0:
        _measure(view, plane)
        for _ in range(_ROUNDS):
            _cluster(view, plane)
        _sort(view, plane * _STREAMS)
    first.victims += 1


@kernel
def _measure(view, plane):
    """Store the hotness of each block of a plane: -1 if it is not indexed or has no valid page."""
    for block in blocks_of(view, plane):
        view.block_memory[block].hotness = -1.0
    clock = view.control[0].clock
    block = view.plane[plane].age_head
    while block >= 0:
        record, memory = view.block[block], view.block_memory[block]
        valid = record.written - record.invalid
        if valid > 0:
            memory.hotness = memory.writes / (valid * clock - memory.written_at)
        block = record.next_age


@kernel
def _cluster(view, plane):
    """Carry out one iteration of k-means over the blocks of a plane."""
    first = plane * _STREAMS
    for k in range(first, first + _STREAMS):
        view.stream_memory[k].total = 0.0
        view.stream_memory[k].blocks = 0
    for block in blocks_of(view, plane):
        hotness = view.block_memory[block].hotness
        if hotness >= 0.0:
            nearest, least = first, float("inf")
            for k in range(first, first + _STREAMS):
                distance = abs(hotness - view.stream_memory[k].centre)
                if distance < least:
                    nearest, least = k, distance
            view.stream_memory[nearest].total += hotness
            view.stream_memory[nearest].blocks += 1
    for k in range(first, first + _STREAMS):
        cluster = view.stream_memory[k]
        cluster.centre = cluster.total / cluster.blocks if cluster.blocks > 0 else 0.0


@kernel
def _sort(view, first):
    """Sort the six centres of a plane, the largest first; `first` is the index of the plane's stream 0."""
    for k in range(first + 1, first + _STREAMS):
        centre = view.stream_memory[k].centre
        while k > first and view.stream_memory[k - 1].centre < centre:
            view.stream_memory[k].centre = view.stream_memory[k - 1].centre
            k -= 1
        view.stream_memory[k].centre = centre

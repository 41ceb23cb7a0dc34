"""Put pages that the host writes often into the block of the pool with most invalid pages."""

from ssdgym.policy import MAX_STREAMS, POOLED, blocks_of, first_writable, placement_policy, whole_mask


@placement_policy(
    "ripest",
    source="an example",
    relocated_to=0,
    targets=True,
    parameters={"writes": (2, 1)},
    page=[("writes", "i4")],
)
def ripest(view, plane, lpn, source, parameters):
    """Put pages written `writes` times into the pool's block with most invalid pages, or into stream 0."""
    best, most = -1, 0
    if view.page_memory[lpn].writes >= parameters.writes:
        for block in blocks_of(view, plane):
            record = view.block[block]
            if record.status & POOLED and record.invalid > most:
                best, most = block, record.invalid
    return 0 if best < 0 else MAX_STREAMS + first_writable(view, best, whole_mask(view))


@ripest.on("written")
def written(view, plane, lpn, old_page, page, parameters):
    """Count the write of the page."""
    view.page_memory[lpn].writes += 1

"""A bound for workloads without memory: pages that are written equally often lie together."""

from ssdgym.baselines.oracles.lives import NEVER, stream_of_life, sums_over_blocks
from ssdgym.policy import placement_policy


@placement_policy(
    "oracle_rate",
    source="A bound; the true rates are those of the whole run",
    streams=6,
    relocation_streams=6,
    parameters={"k": 6, "first": 0.03125, "ratio": 4.0},
    minimum={"k": 2, "first": 1e-6, "ratio": 1.01},
    maximum={"k": 6},
    page=[("writes", "i4")],
    block=[("writes", "i8")],
    memory=[("written", "i8")],
    oracle=True,
)
def oracle_rate(view, plane, lpn, source, parameters):
    """Put a page into one of `k` streams by the mean interval between its writes in the whole run.

    The bounds between the streams are `first * ratio**i` of the logical pages, in host pages.
    """
    writes = view.page_memory[lpn].writes
    if writes == 0:
        return int(parameters.k) - 1
    interval = view.memory[0].written / writes
    return stream_of_life(view, interval, parameters.first, parameters.ratio, parameters.k)


@oracle_rate.on("period")
def period(view, parameters, future):
    """Note how often each page is written as a run begins, and sum it up over the pages of each block."""
    view.page_memory.writes = 0 if future is None else future.writes
    view.memory[0].written = 0 if future is None else len(future.deaths)
    view.block_memory.writes = sums_over_blocks(view, view.page_memory.writes)
    return NEVER


@oracle_rate.on("written")
def written(view, plane, lpn, old_page, page, parameters):
    """Count the page in its new block, and no longer in its old one."""
    pages = view.params[0].pages_per_block
    if old_page >= 0:
        view.block_memory[old_page // pages].writes -= view.page_memory[lpn].writes
    view.block_memory[page // pages].writes += view.page_memory[lpn].writes


oracle_rate.on("relocated")(written)


@oracle_rate.on("trimmed")
def trimmed(view, plane, lpn, old_page, page, parameters):
    """Take the page out of its block."""
    view.block_memory[old_page // view.params[0].pages_per_block].writes -= view.page_memory[lpn].writes

"""A bound for workloads without memory: pages that are written equally often lie together."""

import numpy as np

from ssdgym.policy import placement_policy

_NEVER = 2**40


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
    foresight=True,
)
def oracle_rate(view, plane, lpn, source, parameters):
    """Put a page into one of `k` streams by the mean interval between its writes in the whole run.

    The bounds between the streams are `first * ratio**i` of the logical pages, in host pages.
    """
    writes = view.page_memory[lpn].writes
    if writes == 0:
        return int(parameters.k) - 1
    interval = view.memory[0].written / writes
    bound = parameters.first * view.params[0].logical_pages
    stream = 0
    while stream < parameters.k - 1 and bound <= interval:
        bound *= parameters.ratio
        stream += 1
    return stream


@oracle_rate.on("period")
def period(view, parameters, future):
    """Note how often each page is written as a run begins, and sum it up over the pages of each block."""
    view.page_memory.writes = 0 if future is None else future.writes
    view.memory[0].written = 0 if future is None else len(future.deaths)
    mapped = view.logical.ppn >= 0
    blocks = view.logical.ppn[mapped] // int(view.params[0].pages_per_block)
    view.block_memory.writes = 0
    np.add.at(view.block_memory.writes, blocks, view.page_memory.writes[mapped])
    return _NEVER


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

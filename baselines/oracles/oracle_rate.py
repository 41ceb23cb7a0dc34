"""A bound for workloads without memory: pages that are written equally often are stored together."""

import math

from ssdgym.baselines.oracles.lives import NEVER, keep_sums, stream_of_life, sums_over_blocks
from ssdgym.policy import best_by, choose_block, kernel, placement_policy, victim_policy


@placement_policy(
    "oracle_rate",
    source="A bound; the true rates are those of the whole run",
    streams=6,
    relocation_streams=6,
    parameters={"k": (6, 2, 6), "first": (0.03125, 1e-6), "ratio": (4.0, 1.01)},
    page=[("writes", "i4")],
    block=[("writes", "i8")],
    memory=[("written", "i8")],
    oracle=True,
)
def oracle_rate(view, plane, lpn, source, parameters):
    """Put a page into one of `k` streams by the mean interval between its writes in the whole run.

    The bound between streams i and i + 1 is `first * ratio**i` times the number of logical pages. Pages that
    the run never writes go to the last stream.
    """
    writes = view.page_memory[lpn].writes
    if writes == 0:
        return int(parameters.k) - 1
    interval = view.memory[0].written / writes
    return stream_of_life(view, interval, parameters.first, parameters.ratio, parameters.k)


@oracle_rate.on("period")
def period(view, parameters, future):
    """Store how often the run writes each page, and the sum of this over the valid pages of each block."""
    view.page_memory.writes = 0 if future is None else future.writes
    view.memory[0].written = 0 if future is None else len(future.deaths)
    view.block_memory.writes = sums_over_blocks(view, view.page_memory.writes)
    return NEVER


_, _move = keep_sums(oracle_rate, "writes", "writes")


@oracle_rate.on("written")
def written(view, plane, lpn, old_page, page, parameters):
    """Move the writes of the page from the sum of its old block to that of its new block."""
    _move(view, lpn, old_page, page)


@kernel
def _score(view, block, parameters):
    record = view.block[block]
    valid, writes = record.written - record.invalid, view.block_memory[block].writes
    if valid == 0 or writes == 0:
        return float("inf")
    return record.invalid / valid * math.sqrt(valid / writes)


_best = best_by(_score)


@victim_policy(
    "rate_benefit",
    source="A bound; cost-benefit with the true rates of a block's pages in place of its age",
    shares_memory_with="oracle_rate",
)
def rate_benefit(view, plane, parameters, choice):
    """Choose the eligible block with the largest `invalid / valid * sqrt(valid / writes)`.

    `writes` is the number of host writes, in the whole run, to the logical pages valid in the block. A block
    whose `valid` or `writes` is 0 is chosen first; a tie goes to the block with the lowest number.
    """
    return choose_block(view, choice, _best(view, plane, parameters))

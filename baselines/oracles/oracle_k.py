"""A bound for placements: pages that die at the same time are stored together."""

from ssdgym.baselines.oracles.lives import NEVER, keep_sums, stream_of_life, sums_over_blocks
from ssdgym.policy import best_by, choose_block, kernel, placement_policy, victim_policy

#: A window is this number of host pages; at its start, the times of death of their data are stored.
WINDOW = 4096


@placement_policy(
    "oracle_k",
    source="A bound, after the oracle groups of DOGI, FAST 2026 (NoDaP), with bounds by a ratio",
    streams=8,
    relocation_streams=8,
    parameters={"k": (8, 2, 8), "first": (0.02, 1e-6), "ratio": (3.0, 1.01)},
    page=[("dies_at", "i8")],
    block=[("deaths", "i8")],
    memory=[("deaths", "i8", (WINDOW,)), ("window_start", "i8")],
    oracle=True,
)
def oracle_k(view, plane, lpn, source, parameters):
    """Put a page into one of `k` streams by the number of host pages until its data dies.

    The bound between streams i and i + 1 is `first * ratio**i` times the number of logical pages.
    """
    memory, clock = view.memory[0], view.control[0].clock
    dies_at = view.page_memory[lpn].dies_at if source >= 0 else memory.deaths[clock - memory.window_start]
    return stream_of_life(view, dies_at - clock, parameters.first, parameters.ratio, parameters.k)


@oracle_k.on("period")
def period(view, parameters, future):
    """Store when the data of the next window dies and, when a run begins, when all present data dies.

    If `future` is `None`, as in preconditioning, the data counts as never dying.
    """
    clock, memory = int(view.control[0].clock), view.memory[0]
    memory.window_start = clock
    memory.deaths[:] = NEVER
    if future is not None:
        known = future.deaths[clock - future.start :][:WINDOW]
        memory.deaths[: len(known)] = known
    if future is None or future.start == clock:
        view.page_memory.dies_at = NEVER if future is None else future.first
        view.block_memory.deaths = sums_over_blocks(view, view.page_memory.dies_at)
    return WINDOW


_take_out, _move = keep_sums(oracle_k, "dies_at", "deaths")


@oracle_k.on("written")
def written(view, plane, lpn, old_page, page, parameters):
    """Store the clock at which the page's data dies, and update the sums of its old and its new block."""
    _take_out(view, lpn, old_page)
    memory = view.memory[0]
    view.page_memory[lpn].dies_at = memory.deaths[view.control[0].clock - 1 - memory.window_start]
    _move(view, lpn, -1, page)


@kernel
def _score(view, block, parameters):
    record = view.block[block]
    valid = record.written - record.invalid
    if valid == 0:
        return float("inf")
    life = view.block_memory[block].deaths / valid - view.control[0].clock
    return record.invalid / valid * max(life, 0.0)


_best = best_by(_score)


@victim_policy(
    "future_benefit",
    source="A bound; cost-benefit with the remaining life of a block's pages in place of its age",
    shares_memory_with="oracle_k",
)
def future_benefit(view, plane, parameters, choice):
    """Choose the eligible block with the largest `invalid / valid * life`.

    `life` is the mean number of host pages until the data of its valid pages dies. A block without a valid
    page is chosen first; a tie goes to the block with the lowest number.
    """
    return choose_block(view, choice, _best(view, plane, parameters))

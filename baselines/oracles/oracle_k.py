"""Data that dies together lies together: a bound for placements, by the time when each page dies."""

from ssdgym.baselines.oracles import lives
from ssdgym.policy import best_by, choose_block, kernel, placement_policy, victim_policy


@placement_policy(
    "oracle_k",
    source="A bound, after the oracle groups of DOGI, FAST 2026 (NoDaP), with bounds by a ratio",
    streams=8,
    relocation_streams=8,
    parameters={"k": (8, 2, 8), "first": (0.02, 1e-6), "ratio": (3.0, 1.01)},
    page=lives.PAGE_FIELDS,
    block=[("deaths", "i8")],
    memory=lives.MEMORY_FIELDS,
    oracle=True,
)
def oracle_k(view, plane, lpn, source, parameters):
    """Put a page, of the host or relocated, into one of `k` streams by how long its data will live on.

    The bounds between the streams are `first * ratio**i` of the logical pages, in host pages.
    """
    life = lives.death_of(view, lpn, source) - view.control[0].clock
    return lives.stream_of_life(view, life, parameters.first, parameters.ratio, parameters.k)


@oracle_k.on("period")
def period(view, parameters, future):
    """Note when pages die, and sum it up over the valid pages of each block as a run begins."""
    if lives.note_future(view, future):
        view.block_memory.deaths = lives.sums_over_blocks(view, view.page_memory.dies_at)
    return lives.WINDOW


_take_out, _move = lives.keep_sums(oracle_k, "dies_at", "deaths")


@oracle_k.on("written")
def written(view, plane, lpn, old_page, page, parameters):
    """Note when the page dies, and count it in its block."""
    _take_out(view, lpn, old_page)
    lives.note_death(view, lpn)
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
    source="A bound; cost-benefit with the age to come in place of the past one",
    shares_memory_with="oracle_k",
)
def future_benefit(view, plane, parameters, choice):
    """Choose the eligible block with the largest `invalid / valid * life`.

    `life` is the mean number of host pages that its valid pages still live. A block without a valid page
    comes before all others; of equals, the lowest number.
    """
    return choose_block(view, choice, _best(view, plane, parameters))

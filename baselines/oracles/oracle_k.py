"""Data that dies together lies together: a bound for placements, by the time when each page dies."""

from ssdgym.baselines.oracles import lives
from ssdgym.policy import placement_policy


@placement_policy(
    "oracle_k",
    source="A bound, after the oracle groups of DOGI, FAST 2026 (NoDaP), with bounds by a ratio",
    streams=8,
    relocation_streams=8,
    parameters={"k": 8, "first": 0.02, "ratio": 3.0},
    minimum={"k": 2, "first": 1e-6, "ratio": 1.01},
    maximum={"k": 8},
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


@oracle_k.on("written")
def written(view, plane, lpn, old_page, page, parameters):
    """Note when the page dies, and count it in its block."""
    pages = view.params[0].pages_per_block
    if old_page >= 0:
        view.block_memory[old_page // pages].deaths -= view.page_memory[lpn].dies_at
    lives.note_death(view, lpn)
    view.block_memory[page // pages].deaths += view.page_memory[lpn].dies_at


@oracle_k.on("relocated")
def relocated(view, plane, lpn, old_page, page, parameters):
    """Count the page in its new block."""
    pages = view.params[0].pages_per_block
    view.block_memory[old_page // pages].deaths -= view.page_memory[lpn].dies_at
    view.block_memory[page // pages].deaths += view.page_memory[lpn].dies_at


@oracle_k.on("trimmed")
def trimmed(view, plane, lpn, old_page, page, parameters):
    """Take the page out of its block."""
    view.block_memory[old_page // view.params[0].pages_per_block].deaths -= view.page_memory[lpn].dies_at

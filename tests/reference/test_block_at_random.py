"""Any device of the block family under any input: nothing is lost, and its books agree."""

from __future__ import annotations

import random

import pytest

from .block import NFTL, SUPERBLOCK, BlockConfig, BlockReference, Case, Figures, merge, mmerge
from .block.audit import check
from .helpers import random_requests


def random_config(rng: random.Random) -> BlockConfig:
    """A device that can run full."""
    kind = rng.choice([NFTL, SUPERBLOCK])
    m = 1 if kind == NFTL else 2
    n = 2 if kind == NFTL else rng.choice([3, 4])
    levels, blocks = rng.randint(0, 3), rng.randint(8, 12)
    channels, dies, planes = rng.choice([(1, 1, 1), (1, 1, 2), (2, 1, 1), (1, 2, 1)])
    share = rng.choice([0.08, 2.5 / blocks])
    kept = max(1, int(share * blocks))
    bundles = rng.choice([1, (blocks - kept - 1) // m])
    return BlockConfig(
        kind=kind,
        logical_blocks=m,
        physical_blocks=n,
        striping=rng.choice(["blocks", "pages"]),
        channels=channels,
        dies_per_chip=dies,
        planes_per_die=planes,
        blocks_per_plane=blocks,
        pages_per_block=8,
        sub_blocks_per_block=2**levels,
        logical_pages=channels * dies * planes * bundles * m * 8,
        free_share=share,
        merges=rng.choice(["at_once", "spread"]) if kind == NFTL else "at_once",
        mmerge_limit=rng.choice([1, 3, 100]),
        disturb_tolerance=rng.choice([None, 0, 1, 2]),
        disturb_care=rng.random() < 0.7,
        u_block_search=rng.choice(["timed", "free"]),
        partial_erase_ns=rng.choice([{}, {8: 1000, 4: 700, 2: 400, 1: 300}]),
        timing=rng.choice(["none", "event"]),
        gc_priority=rng.choice(["first", "after_reads"]),
        copyback=rng.random() < 0.3,
        read_ns=50,
        program_ns=200,
        erase_ns=1000,
        transfer_ns=10,
        spare_transfer_ns=2,
        closed_loop=rng.random() < 0.5,
        queue_depth=rng.randint(1, 5),
        window_pages=rng.choice([1, 4, 64]),
    )


def any_rule(seed: int):
    rng = random.Random(seed)

    def rule(plans: list[Figures], case: Case) -> int:
        return rng.choice([k for k, plan in enumerate(plans) if plan.allowed])

    return rule


@pytest.mark.parametrize("seed", range(60))
def test_any_device__loses_nothing_and_stays_consistent(seed: int) -> None:
    rng = random.Random(seed)
    config = random_config(rng)
    reference = BlockReference(config, rng.choice([merge, mmerge, any_rule(seed)]))
    for part in range(2):
        rows = random_requests(config.logical_pages, 150, seed + 1000 * part)
        reference.run(rows, horizon=rng.choice([None, 150]))
        check(reference)
    counters = reference.counters
    assert counters["gc_invocations"] == counters["merges"] + counters["m_merges"]
    assert counters["gc_invocations"] == counters["full_jobs"] + counters["pool_jobs"]
    if config.timing == "none":
        assert counters["gc_time_ns"] == 0

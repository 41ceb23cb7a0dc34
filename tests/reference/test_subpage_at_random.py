"""Any device of the sub-page family under any input: nothing is lost, and its books agree."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from . import FLUSH, READ, TRIM, WRITE
from .helpers import Row
from .policies import Policy, cost_benefit, fifo, greedy
from .subpage import CGM, FGM, SECTOR_LOG, SUBFTL, SubpageConfig, SubpageReference
from .subpage.admission import SYNC
from .subpage.audit import check


def random_config(rng: random.Random) -> SubpageConfig:
    """A device that can run full."""
    kind, n = rng.choice([CGM, FGM, SECTOR_LOG, SUBFTL, SUBFTL]), rng.choice([2, 3, 4])
    region = rng.randint(3, 6) if kind in (SUBFTL, SECTOR_LOG) else 0
    threshold = rng.choice([1, 2, 3])
    config = SubpageConfig(
        kind=kind,
        slots_per_page=n,
        flash_pages_per_block=rng.choice([2, 3, 4]),
        region_blocks=region,
        blocks_per_plane=max(threshold, 2) + rng.randint(2, 4) + region,
        threshold_blocks=threshold,
        logical_pages=1,
        channels=rng.choice([1, 2]),
        dies_per_chip=rng.choice([1, 2]),
        planes_per_die=rng.choice([1, 2]),
        timing=rng.choice(["none", "event"]),
        gc_mode=rng.choice(["barrier", "per_write"]),
        gc_priority=rng.choice(["first", "after_reads"]),
        rule=rng.choice(["fewest_valid", "printed"]),
        collect_blocks=rng.choice([None, 1, 2]),
        advance=rng.choice(["always", "never"]),
        wear_gap=rng.choice([0, 1, 2]),
        buffer_groups=rng.choice([1, 2, 5]),
        read_ns=rng.choice([0, 3, 50]),
        program_ns=rng.choice([0, 10, 200]),
        erase_ns=rng.choice([0, 1000]),
        transfer_ns=rng.choice([0, 8]),
        subpage_transfer_ns=2,
        subpage_program_ns=rng.choice([0, 100]),
        closed_loop=rng.choice([False, True]),
        queue_depth=rng.randint(1, 5),
        window_pages=rng.choice([4 * (n + 1), 64]),
    )
    most = config.planes * (config.max_valid_pages - config.units_per_page + 1) - 1
    return replace(config, logical_pages=most * config.slots_per_unit // n * n)


def random_rows(rng: random.Random, sectors: int, largest: int) -> list[Row]:
    rows, at = [], 0
    for _ in range(100):
        at += rng.choice((0, 0, 5, 100, 1000))
        op = rng.choices([READ, WRITE, TRIM, FLUSH], [6, 20, 2, 1])[0]
        pages = min(rng.randint(1, largest), sectors)
        lpn = rng.randint(0, (sectors - pages) // rng.choice((1, 6, 6)))
        rows.append((at, lpn, 0 if op == FLUSH else pages, op, rng.choice((0, SYNC, SYNC, 1))))
    return rows


@pytest.mark.parametrize("seed", range(40))
def test_any_device__loses_nothing_and_stays_consistent(seed: int) -> None:
    rng = random.Random(seed)
    config = random_config(rng)
    policy: Policy = rng.choice([greedy, greedy, fifo, cost_benefit(1, False)])
    asked = {"to_region": lambda lpn: lpn % 3 > 0, "keeps": lambda lpn: lpn % 2 == 0}
    reference = SubpageReference(config, policy, **(asked if rng.random() < 0.5 else {}))
    for _ in range(2):
        rows = random_rows(rng, config.logical_pages, rng.choice([1, 2 * config.slots_per_page]))
        reference.run(rows, horizon=rng.choice([None, 150]))
        check(reference)
        reference.pass_days(rng.choice([1, 7, 20]))
        check(reference)
    assert reference.counters["uncorrectable_reads"] == 0

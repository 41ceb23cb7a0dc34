"""What must hold of any device of the page family, between any two runs."""

from __future__ import annotations

import itertools

from .. import erase_sets
from .simulator import Reference


def check(reference: Reference) -> None:
    """Raise AssertionError where the state contradicts itself, or data has been lost."""
    device, state = reference.device, reference.export()
    mapped = [ppn for ppn in state["logical_ppn"] if ppn >= 0]
    assert len(set(mapped)) == len(mapped) == sum(state["valid"])
    assert reference.counters["lost_pages"] == 0
    opened = {place.block for place in device.open.values()}
    victims = {block for pairs in device.rounds.values() for block, _ in pairs}
    for block in range(reference.config.planes * reference.config.blocks_per_plane):
        plane = device.plane_of_block(block)
        has_free = device.free_in_block(block) > 0
        is_at_rest = block not in opened | victims
        is_usable = block not in device.life.worn
        assert (block in device.pools[plane]) == (is_at_rest and has_free and is_usable)
        assert device.is_indexed(block) == (is_at_rest and device.written_in_block(block) > 0)
        found_in = [i for i, bucket in enumerate(device.buckets[plane]) if block in bucket]
        assert found_in == ([device.invalid_in_block(block)] if device.is_indexed(block) else [])
    for groups in device.groups:
        ranks = [[groups.standing[block][0] for block in group] for group in groups.groups if group]
        assert all(len(group) <= device.config.group_limit for group in groups.groups)
        assert all(max(lower) <= min(upper) for lower, upper in itertools.pairwise(ranks))
        for block, standing in groups.standing.items():
            assert block in victims or standing[0] == erase_sets.rank(device, block)


def check_accounts(reference: Reference) -> None:
    """Raise AssertionError where counters contradict each other or the state; nothing has been reset."""
    c, state = reference.counters, reference.export()
    assert c["host_pages_written"] == state["clock"]
    programs = c["host_pages_written"] + c["relocated_pages"] + c["padded_pages"]
    erased = c["erased_sub_blocks"] * reference.config.pages_per_sub_block
    assert 0 <= programs - sum(state["written"]) <= erased
    assert sum(state["erases"]) == c["erased_sub_blocks"]
    of_flash = c["host_reads"] - c["queue_hits"] - c["unmapped_reads"]
    assert c["flash_reads"] == of_flash + c["rmw_reads"] + c["relocated_pages"]

"""What worn blocks do to merges, by example, on the reference."""

from __future__ import annotations

from dataclasses import replace

import pytest

from . import BlockConfig, BlockReference, merge
from .audit import check
from .simulator import Rule
from .test_block import ALL, SMALL, SUPER, last_candidate, more, places, writes

# As SMALL: blocks 0 to 2 are the D of bundles 0 to 2, blocks 3 to 6 are free, of which two are kept.
MORTAL = replace(SMALL, endurance=1000, blocks_per_plane=7)
#: Bundle 0 has a full U, block 3, and needs another page.
FULL_U = writes(0, 0, 0, 0, 0)


def filled(rule: Rule, config: BlockConfig = MORTAL) -> BlockReference:
    """A full device."""
    reference = BlockReference(config, rule)
    more(reference, ALL)
    return reference


def lost(reference: BlockReference) -> tuple[list[int], list[int]]:
    """Blocks that are worn and not retired, and those retired."""
    life = reference.device.life
    return sorted(life.worn - life.retired), sorted(life.retired)


def test_erase_in_place__wears_out_d__the_job_goes_on_as_a_merge() -> None:
    reference = filled(last_candidate)
    reference.device.life.limits[0] = 1
    more(reference, FULL_U)
    assert places(reference, 1, 2, 3) == [(4, 1), (4, 2), (4, 3)] and lost(reference) == ([], [0])
    counters = reference.counters
    assert (counters["m_merges"], counters["merges"], counters["partial_erases"]) == (1, 0, 1)
    assert reference.device.since_merge[0] == 0


def test_superblock__worn_block__is_emptied_first_and_without_m_merge() -> None:
    asked = []

    def rule(plans: list[object], case: object) -> int:
        asked.append([plan.allowed for plan in plans])  # type: ignore[attr-defined]
        return 0

    config = replace(SUPER, endurance=1000, blocks_per_plane=SUPER.blocks_per_plane + 1)
    reference = BlockReference(config, rule)
    reference.device.life.worn.add(1)
    more(reference, writes(*range(8), 0, 0, 0, 0, 0))
    assert lost(reference) == ([], [1]) and asked == [[True, False, False, False, False], [True] * 5]
    assert reference.device.lost_now() == 0


@pytest.mark.parametrize("wears", [False, True])
def test_disturbance_wears__the_leaves_beside(wears: bool) -> None:
    reference = filled(merge, replace(MORTAL, disturbance_wears=wears, disturb_tolerance=None))
    device = reference.device
    device.life.limits[0] = 1  # of the first leaf of block 0, beside the one that is erased
    for page in device.pages_of(0, 5):
        device.unmap(device.physical[page][0])
    device.erase_pb(0, 5)
    assert [device.life.age(leaf) for leaf in range(4)] == ([1, 1, 1, 0] if wears else [0, 1, 0, 0])
    assert device.life.worn == ({0} if wears else set())


def test_variant__lost_blocks__the_last_bundles_go_and_their_blocks_first() -> None:
    config = replace(MORTAL, capacity="variant")
    reference = filled(merge, config)
    device = reference.device
    device.life.limits[4 * 3 : 4 * 4] = [1] * 4  # block 3 is the first one that is lost
    more(reference, FULL_U)
    assert lost(reference) == ([], [3]) and device.life.capacity == 12  # still six blocks, two of them kept
    device.life.limits[4 * 4 : 4 * 5] = [1] * 4
    more(reference, writes(*[0] * 16))
    assert lost(reference) == ([], [3, 4]) and device.life.capacity == 8
    assert not any(map(device.is_mapped, range(8, 12))) and device.held(2) == []
    more(reference, writes(9))
    assert device.logical[1].version > 1  # page 9 is page 1 now
    check(reference)

"""What ``ippbe`` erases together where that hangs on one page, and what its names stand for.

`tests/engine/test_against_reference.py` compares it, and ``parallel_gc``, with the rules in plain Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.core.records import INDEXED
from ssdgym.engine.view import view_arrays
from ssdgym.policy import get_policy, new_choice
from ssdgym.simulator import Recording, Simulator
from tests.engine.devices import device

PLANES, BLOCKS, S, PPS = 3, 16, 4, 3
PPB = S * PPS
GEOMETRY = {
    "planes_per_die": PLANES,
    "blocks_per_plane": BLOCKS,
    "pages_per_block": PPB,
    "sub_blocks_per_block": S,
}


def config(**fields: Any) -> DeviceConfig:
    ftl = {"placement": "single", "gc": {"free_blocks": 4}}
    return device(GEOMETRY, ftl, over_provisioning=1.0, **fields)


def full(**fields: Any) -> Simulator:
    """A device whose blocks are all written and in no bucket, with room in every pool."""
    sim = Simulator(config(**fields), policy=None, recording=Recording(1, 1))
    state = sim.arrays
    state.sub_block["written"][0], state.block["written"][0] = PPS, PPB
    state.block["next_bucket"][0] = -1
    state.plane["pool_pages"][0], state.plane["max_invalid"][0] = 16 * PPB, PPB
    return sim


def pick(sim: Simulator, policy: str) -> list[tuple[int, tuple[int, ...]]]:
    """The blocks that a policy chooses for plane 0, each with its sub-blocks."""
    rule, choice = get_policy(policy).victim, new_choice().view(np.recarray)
    count = int(rule.function(view_arrays(sim.state, 0), 0, rule.values, choice))
    pairs = [(int(pair["block"]), int(pair["mask"])) for pair in choice[:count]]
    return [(block, tuple(s for s in range(S) if mask >> s & 1)) for block, mask in pairs]


def test_heavy_unit__ends_the_search__though_a_light_one_follows() -> None:
    """Of sub-blocks that were never full, one with fewer invalid pages can have fewer valid ones."""
    sim = full(erase_unit="sub_block_set")
    state = sim.arrays
    state.block["invalid"][0] = 1  # more than none, so that the blocks are looked at
    state.block["status"][0] = INDEXED
    for block, written, invalid in ((3, 3, 3), (5, 3, 2), (7, 1, 1)):
        state.sub_block[0][block * S]["written"], state.sub_block[0][block * S]["invalid"] = written, invalid
        state.block[0][block]["invalid"] = invalid
    assert pick(sim, "ippbe(limit=3, tau=0.3)") == [(3, (0,))]
    assert pick(sim, "ippbe(limit=3, tau=0.4)") == [(3, (0,)), (5, (0,)), (7, (0,))]


@pytest.mark.parametrize(("together", "blocks"), [(0, [3]), (1, [3, 5])])
def test_heavy_unit__is_admitted_where_all_of_them_together_have_few_valid_pages(
    together: int, blocks: list[int]
) -> None:
    """Blocks with 0, 4 and 12 - 1 valid pages of 12; 4 is a third, and a sixth of the pages of both."""
    sim = full()
    state = sim.arrays
    for block, invalid in ((3, PPB), (5, PPB - 4), (7, 1)):
        left = invalid - PPS * np.arange(S)
        state.sub_block["invalid"][0, block * S : (block + 1) * S] = np.clip(left, 0, PPS)
        state.block[0][block]["status"], state.block[0][block]["invalid"] = INDEXED, invalid
        state.bucket[0][invalid]["head"] = block
    found = pick(sim, f"ippbe(limit=3, tau=0.3, together={together})")
    assert [block for block, _ in found] == blocks


@pytest.mark.parametrize(
    ("name", "rule", "unit", "multi_plane"),
    [
        ("ippbe", "ippbe", None, None),
        ("ippbe_subblock", "ippbe", "sub_block_set", None),
        ("ippbe_multiplane", "ippbe", None, "relaxed"),
        ("ippbe_multiplane_strict", "ippbe", None, "strict"),
        ("ippbe_subblock_multiplane", "ippbe", "sub_block_set", "relaxed"),
        ("parallel_gc", "parallel_gc", None, "strict"),
    ],
)
def test_named__asks_the_device_for_what_it_erases(name: str, rule: str, unit: Any, multi_plane: Any) -> None:
    policy = get_policy(name)
    assert policy.victim.name == rule
    assert policy.victim.parameters == get_policy(rule).victim.parameters
    assert (policy.main.erase_unit, policy.main.multi_plane, policy.beside) == (unit, multi_plane, {})
    plain, of_other_kind = config(), config(erase_unit="sub_block_run", multi_plane="strict")
    assert policy.adapt(plain).erase_unit == (unit or "block")
    assert policy.adapt(plain).multi_plane == (multi_plane or "none")
    assert policy.adapt(of_other_kind).erase_unit == (unit or "sub_block_run")
    assert policy.adapt(of_other_kind).multi_plane == (multi_plane or "strict")

"""Erase sets: what a run of sub-blocks is, which are legal, and which run of a block is best."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssdgym.engine.core.bits import full_mask, is_run
from ssdgym.engine.core.family import State
from ssdgym.engine.core.kernel import helper
from ssdgym.engine.core.records import INDEXED
from ssdgym.engine.core.status import ILLEGAL_BLOCK, ILLEGAL_MASK, NO_ROOM_TO_MOVE, NOTHING_TO_GAIN, OK
from ssdgym.engine.erase.best_set import best_set
from ssdgym.engine.erase.legality import check_erase_set
from ssdgym.engine.view import PolicyView
from ssdgym.policy import new_choice
from ssdgym.simulator.build import Recording, make_state
from tests.engine.devices import device


@helper
def _full_mask(sub_blocks):
    return full_mask(sub_blocks)


@helper
def _is_run(mask):
    return is_run(mask)


@helper
def _check_pairs(dev, plane, pairs, count):
    return check_erase_set(dev, plane, pairs, count)


@helper
def _best_set(dev, block):
    return best_set(dev, block)


def _view_of(state: State) -> PolicyView:
    return PolicyView(*(getattr(state, name)[0] for name in PolicyView._fields))


def _check(dev: PolicyView, plane: int, block: int, mask: int) -> int:
    choice = new_choice()
    choice[0]["block"], choice[0]["mask"] = block, mask
    return int(_check_pairs(dev, plane, choice, 1))


@pytest.mark.parametrize("sub_blocks", [1, 2, 7, 63, 64])
def test_full_mask__has_a_bit_for_each_sub_block(sub_blocks: int) -> None:
    assert int(_full_mask(sub_blocks)) == 2**sub_blocks - 1


@settings(deadline=None)
@given(st.integers(1, 2**64 - 1) | st.integers(1, 255))
def test_is_run__as_its_digits_say(mask: int) -> None:
    assert bool(_is_run(np.uint64(mask))) == ("0" not in bin(mask)[2:].strip("0"))


@settings(deadline=None)
@given(st.integers(0, 63), st.integers(1, 64))
def test_is_run__every_run(start: int, length: int) -> None:
    length = min(length, 64 - start)
    assert _is_run(np.uint64(((1 << length) - 1) << start))


def a_block(per_sub_block: list[tuple[int, int]], times: tuple[int, ...], isolation: str) -> PolicyView:
    """Block 0 of a device whose sub-blocks have these (written, invalid) pages."""
    read_ns, program_ns, erase_ns, transfer_ns = times
    config = device(
        {
            "sub_blocks_per_block": len(per_sub_block),
            "pages_per_block": 4 * len(per_sub_block),
            "channels": 1,
        },
        erase_unit="sub_block_run" if len(per_sub_block) > 1 else "block",
        isolation=isolation,
        timing={
            "read_ns": read_ns,
            "program_ns": program_ns,
            "erase_ns": erase_ns,
            "transfer_ns_per_byte": transfer_ns / 4096,
        },
    )
    state = make_state([config], [0], Recording(1, 1))
    for s, (written, invalid) in enumerate(per_sub_block):
        state.sub_block[0, s]["written"], state.sub_block[0, s]["invalid"] = written, invalid
    state.block[0, 0]["invalid"] = sum(invalid for _, invalid in per_sub_block)
    return _view_of(state)


PAGES = st.lists(
    st.integers(0, 4).flatmap(lambda invalid: st.just((4, invalid)) | st.just((0, 0))), min_size=2, max_size=6
)
TIMES = st.tuples(*[st.sampled_from([0, 3, 50, 600])] * 4)


@pytest.mark.parametrize("isolation", ["none", "software"])
@settings(deadline=None)
@given(PAGES, TIMES)
def test_best_set__of_runs__as_by_trying_every_run(
    isolation: str, sub_blocks: list[tuple[int, int]], times: tuple[int, ...]
) -> None:
    """Most invalid pages per time to reclaim them; of equals the shorter run, then the lower start."""
    read_ns, program_ns, erase_ns, transfer_ns = times
    t_copy, t_erase = read_ns + program_ns + 2 * transfer_ns, max(erase_ns, 1)
    if t_copy == erase_ns == 0:
        t_copy, t_erase = 1, 4
    best, best_mask = Fraction(0), 0
    for length in range(1, len(sub_blocks) + 1):
        for start in range(len(sub_blocks) - length + 1):
            emptied = slice(start, start + length)
            if isolation == "software":
                emptied = slice(max(start - 1, 0), start + length + 1)
            moves = sum(written - invalid for written, invalid in sub_blocks[emptied])
            gain = sum(invalid for _, invalid in sub_blocks[start : start + length])
            if Fraction(gain, moves * t_copy + t_erase) > best:
                best, best_mask = Fraction(gain, moves * t_copy + t_erase), ((1 << length) - 1) << start
    dev = a_block(sub_blocks, times, isolation if len(sub_blocks) > 1 else "none")
    assert int(_best_set(dev, 0)) == best_mask


@pytest.mark.parametrize(
    ("plane", "block", "mask", "status", "unit"),
    [
        pytest.param(0, 3, 0b1111, OK, "sub_block_run", id="a whole block"),
        pytest.param(0, 3, 0b0011, OK, "sub_block_run", id="a run"),
        pytest.param(0, 3, 0b0101, ILLEGAL_MASK, "sub_block_run", id="no run"),
        pytest.param(0, 3, 0b0000, ILLEGAL_MASK, "sub_block_run", id="nothing"),
        pytest.param(0, 3, 0b10000, ILLEGAL_MASK, "sub_block_run", id="a sub-block too many"),
        pytest.param(0, 3, 0b1000, NOTHING_TO_GAIN, "sub_block_run", id="all valid"),
        pytest.param(1, 3, 0b1111, ILLEGAL_BLOCK, "sub_block_run", id="of another plane"),
        pytest.param(0, 4, 0b1111, ILLEGAL_BLOCK, "sub_block_run", id="not closed"),
        pytest.param(0, -1, 0b1111, ILLEGAL_BLOCK, "sub_block_run", id="no block"),
        pytest.param(1, 999, 0b1111, ILLEGAL_BLOCK, "sub_block_run", id="past the last block"),
        pytest.param(0, 3, 0b0011, ILLEGAL_MASK, "block", id="a run where blocks are erased"),
        pytest.param(0, 3, 0b1111, OK, "block", id="a block where blocks are erased"),
    ],
)
def test_check_erase_set(plane: int, block: int, mask: int, status: int, unit: str) -> None:
    config = device({"sub_blocks_per_block": 4}, erase_unit=unit)
    state = make_state([config], [0], Recording(1, 1))
    state.block[0, 3]["status"], state.block[0, 3]["invalid"] = INDEXED, 3
    state.sub_block[0]["written"][12:16] = 2
    state.sub_block[0]["invalid"][12:15] = 1
    dev = _view_of(state)
    assert _check(dev, plane, block, np.uint64(mask)) == status


@pytest.mark.parametrize(("written", "status"), [(8, OK), (4, NO_ROOM_TO_MOVE)])
def test_check_erase_set__a_block_leaves_the_pool__with_its_free_pages(written: int, status: int) -> None:
    """There is room for eight pages: four are moved, and free ones of both blocks may leave the pool."""
    config = device({"sub_blocks_per_block": 4}, erase_unit="sub_block_run")
    state = make_state([config], [0], Recording(1, 1))
    state.plane[0, 0]["pool_pages"] = 8
    pairs = new_choice()
    for pair, block in zip(pairs[:2], (3, 5), strict=True):
        state.block[0, block]["status"], state.block[0, block]["written"] = INDEXED, written
        state.sub_block[0]["written"][4 * block : 4 * block + written // 2] = 2
        state.sub_block[0]["invalid"][4 * block : 4 * block + 2] = 1
        pair["block"], pair["mask"] = block, 0b0011
    assert _check_pairs(_view_of(state), 0, pairs, 2) == status

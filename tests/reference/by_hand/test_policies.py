"""Victim rules of the reference, held to small cases computed by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from .. import Device
from ..helpers import UNTIMED, ran, writes
from ..page.policies import below, cost_benefit, d_choices, draw, fifo, greedy, random_victim, windowed_greedy


def aged(**changes: Any) -> Device:
    """Blocks close in the order 0 1 2 3; invalid pages 1, 2, 0, 2; block 3 reached two before block 1."""
    config = replace(UNTIMED, blocks_per_plane=9, logical_pages=16, **changes)
    order = [*range(12), 12, 13, 14, 15, 12, 13, 4, 5, 0]
    return ran(config, writes(*order)).device


def test_fifo_takes_the_oldest_eligible_block() -> None:
    device = aged()
    assert device.ages[0][:4] == [0, 1, 2, 3]
    assert fifo(device, 0) == [(0, 1)]


def test_greedy_takes_the_first_to_have_come_into_the_fullest_bucket() -> None:
    device = aged()
    assert [device.invalid_in_block(block) for block in range(4)] == [1, 2, 0, 2]
    assert greedy(device, 0) == [(3, 1)]


@pytest.mark.parametrize("window, block", [(1, 0), (2, 1), (3, 1), (4, 1)])
def test_windowed_greedy_looks_at_the_oldest_blocks_only(window: int, block: int) -> None:
    assert windowed_greedy(window)(aged(), 0) == [(block, 1)]


def test_windowed_greedy_falls_back_to_fifo() -> None:
    config = replace(UNTIMED, blocks_per_plane=9, logical_pages=16)
    device = ran(config, writes(*range(8), 4)).device  # block 0 is all valid
    assert windowed_greedy(1)(device, 0) == [(1, 1)]


def test_cost_benefit_weighs_age_against_valid_pages() -> None:
    device = aged()
    assert device.clock == 21
    assert [device.invalidated_at[block] for block in (0, 1, 3)] == [20, 19, 17]
    assert [device.closed_at[block] for block in (0, 1, 3)] == [3, 7, 15]
    # since the last invalidation: 2*1/6, 3*2/4, 5*2/4; since closing: 19*1/6, 15*2/4, 7*2/4
    assert cost_benefit(1, since_close=False)(device, 0) == [(3, 1)]
    assert cost_benefit(1, since_close=True)(device, 0) == [(1, 1)]
    # squared: 361/6 against 225/2; to the fifth the age decides
    assert cost_benefit(2, since_close=True)(device, 0) == [(1, 1)]
    assert cost_benefit(5, since_close=True)(device, 0) == [(0, 1)]


def test_cost_benefit_takes_the_lowest_of_the_blocks_without_valid_pages() -> None:
    config = replace(UNTIMED, blocks_per_plane=9, logical_pages=16)
    device = ran(config, writes(*range(8), 4, 5, 6, 7, 0, 1, 2, 3)).device
    assert cost_benefit(1, since_close=False)(device, 0) == [(0, 1)]


def test_random_tries_its_draws_in_order() -> None:
    device = aged(seed=3)
    assert random_victim(device, 0) == [(first_eligible(device, range(64)), 1)]
    assert d_choices(1)(device, 0) == random_victim(device, 0)


def test_random_scans_upwards_from_its_last_draw_when_none_was_eligible() -> None:
    seed = 8
    config = replace(UNTIMED, pages_per_block=1, blocks_per_plane=400, logical_pages=100, seed=seed)
    device = ran(config, writes(*range(100), 10, 70)).device
    drawn = [below(400, draw(seed, 1, 0, k)) for k in range(65)]
    assert not {10, 70} & set(drawn)
    assert 10 < drawn[64] < 70 and not 10 < drawn[63] < 70
    assert random_victim(device, 0) == [(70, 1)]


def test_d_choices_takes_the_fullest_of_its_draws() -> None:
    device = aged(seed=57)
    assert d_choices(40)(device, 0)[0][0] in (1, 3)
    for d in range(1, 6):
        drawn = [first_eligible(device, range(65 * j, 65 * j + 64)) for j in range(d)]
        assert d_choices(d)(device, 0) == [(max(drawn, key=device.invalid_in_block), 1)]
    assert first_eligible(device, range(64)) == 0 and first_eligible(device, range(65, 65 + 64)) == 3


def first_eligible(device: Device, numbers: range) -> int:
    """The first eligible block among those draws of the first decision."""
    drawn = [below(9, draw(device.config.seed, 1, 0, k)) for k in numbers]
    return next(block for block in drawn if device.is_eligible(block))

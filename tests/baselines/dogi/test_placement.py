"""Worked examples of DOGI: hot pages, what is noted of a page, where it goes when it is moved."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from ssdgym.baselines.dogi.periods import MOVE_MU, period
from tests.baselines.placements.bench import Bench

#: Four blocks of two pages.
UNIT = 8
#: Written over and over while time passes.
OTHERS = [18, 19]


def bench() -> Bench:
    """A device whose hot group takes pages that are less than a unit old; it has no classifier yet."""
    return Bench("dogi", logical_pages=20)


def page(device: Bench, lpn: int) -> Any:
    return device.memory.page_memory[lpn]


def pass_time(device: Bench, pages: int) -> None:
    device.write(*(OTHERS * pages)[:pages])


def classify_as(device: Bench, category: int, group: int, target: int) -> None:
    """Put a classifier in force that says the same of all pages; there are three groups."""
    memory = device.memory.memory[0]
    memory.configured, memory.top = 1, 3
    memory.weights[category - 1 - 10] = 1  # the last ten are the biases of the outputs
    memory.group[category], memory.target[category] = group, target


def test_host_page__hot_if_written_again_soon() -> None:
    device = bench()
    assert device.write(0, 1) == [1, 1], "never written before"
    # The block of pages 0 and 1 was full at 1: they are 8 host pages old from 9 on.
    pass_time(device, 6)
    assert device.clock == 8
    assert device.write(0, 1) == [0, 1]


def test_interval_byte__whole_units_in_each_block() -> None:
    device = bench()
    device.write(0, 1, 2, 3)
    pass_time(device, 2 * UNIT)
    assert page(device, 0).interval == 0, "as long as it is not moved"
    device.trim(1, 3)
    device.collect(0, after_writing=18)
    device.collect(2, after_writing=18)
    assert page(device, 0).interval == 2
    # Moved, pages 0 and 2 fill a block.
    pass_time(device, UNIT)
    device.trim(2)
    device.collect(0, after_writing=18)
    assert page(device, 0).interval == 3
    assert device.write(0) == [1]
    assert page(device, 0).interval == 0
    device.trim(0)
    assert device.write(0) == [1], "as if it had never been written"


def test_windows_byte__a_bit_for_each_window_in_which_the_page_was_written() -> None:
    device = bench()
    seen = []
    for lpn in (0, 0, 5, 0):
        device.write(lpn)
        seen.append(int(page(device, 0).windows))
        pass_time(device, 23)  # windows are of 24 host pages, 1.2 times the logical pages
    assert seen == [0b1000_0000, 0b1100_0000, 0b0110_0000, 0b1011_0000]


def test_relocated_page__frozen_unless_overwritten() -> None:
    device = bench()
    device.write(0, 1)
    pass_time(device, UNIT)
    assert device.write(0, 2) == [1, 1]
    device.trim(2)
    device.collect(1, after_writing=18)
    device.collect(0, after_writing=18)
    assert (device.stream(1), device.stream(0)) == (7, 2)


def test_relocated_page__one_group_on__to_the_coldest() -> None:
    device = Bench("dogi", logical_pages=70)
    pages = list(range(64))
    device.write(*pages)
    device.memory.page_memory.overwritten = 1
    for stream in (2, 3, 4, 5, 6, 6):
        # Every second page goes, and what is left of each block is moved.
        device.trim(*pages[1::2])
        pages = pages[::2]
        for lpn in pages:
            device.collect(lpn, after_writing=69)
        assert [device.stream(lpn) for lpn in pages] == [stream] * len(pages)


def test_relocated_page__the_first_time_to_the_target_of_its_category() -> None:
    device = bench()
    device.write(0, 1, 2, 3)
    pass_time(device, 2 * UNIT)
    classify_as(device, category=4, group=2, target=1)
    assert device.write(0, 1, 2, 3) == [2, 2, 2, 2]
    assert page(device, 0).category == 4
    device.trim(1, 3)
    device.collect(0, after_writing=18)
    device.collect(2, after_writing=18)
    assert device.stream(0) == 1, "a hotter group than its own"
    assert page(device, 0).category == 0
    device.trim(2)
    device.collect(0, after_writing=18)
    assert device.stream(0) == 2, "one group on"


def test_blocks_of_groups_that_are_gone__filled_by_the_coldest_group() -> None:
    device = bench()
    device.write(8, 9)
    classify_as(device, category=4, group=5, target=0)
    device.memory.memory[0].top = 5
    assert device.write(0) == [5]
    classify_as(device, category=4, group=3, target=0)
    assert device.write(1) == [5]
    assert device.write(2) == [3], "the block is full"


def test_sample__what_was_seen_of_a_page__and_how_long_it_lived() -> None:
    device = bench()
    device.write(*range(10), 3, 7)
    memory = device.memory.memory[0]
    memory.sampled_from, memory.sampled_until = 0, 10**6
    pass_time(device, 2 * UNIT)
    start, number = device.clock, int(memory.samples)
    assert device.write(3) == [1]
    windows = 0b1000_0000 >> start // 24
    assert memory.features[number].tolist() == [3, 19, 2, windows, 1, start]
    device.write(4, 5)
    assert memory.lives[number] == 0
    device.write(3)
    assert memory.lives[number] == 3
    assert page(device, 3).sample == 0


def test_mu__grows_by_a_block_while_write_amplification_falls__else_goes_back() -> None:
    device = bench()
    device.write(0)
    memory, found = device.memory.memory[0], []
    for moved in (100, 80, 79, 60, 90, 90):
        memory.amplification = memory.amplification or 0.0
        memory.moved += moved
        memory.window_start = device.clock - 100
        memory.due[MOVE_MU] = device.clock
        period(device.memory, SimpleNamespace())
        found.append(int(memory.mu))
    # 2.0 first, then 1.8, 1.79 (hardly less), 1.6, 1.9 and the same again.
    assert found == [1, 3, 3, 5, 3, 3]


def test_classifier__in_the_engine__as_in_numpy() -> None:
    device = bench()
    device.write(*range(20))
    memory, rng = device.memory.memory[0], np.random.default_rng(4)
    memory.configured, memory.top = 1, 6
    memory.scales[:] = [0.1, 0.1, 0.01, 0.01, 1, 0.05]
    memory.weights[:] = rng.standard_normal(len(memory.weights))
    memory.due[:] = 10**6
    pages = [int(lpn) for lpn in rng.permutation(20)]
    expected, found = [], []
    for lpn in pages:
        page(device, lpn).interval = interval = rng.integers(4, 200)
        page(device, lpn).windows = windows = rng.integers(0, 256)
        age = (device.clock - int(device.memory.block_memory[lpn // 2].sealed_at) + 1) // UNIT
        count = int(windows).bit_count()
        features = [lpn, memory.previous, interval + age, windows, count, device.clock]
        values = np.array(features) * memory.scales
        rest = memory.weights
        for width in (32, 32, 10):
            weights, biases, rest = np.split(rest, [len(values) * width, (len(values) + 1) * width])
            values = values @ weights.reshape(-1, width) + biases
            values = np.maximum(values, 0) if len(rest) else values
        expected.append(int(np.argmax(values)) + 1)
        device.write(lpn)
        found.append(int(page(device, lpn).category))
    assert found == expected
    assert len(set(found)) > 1

"""Bytes of the tables of best sets, block groups and hotness, as a controller would need them."""

from __future__ import annotations

import pytest

from ssdgym.policy import device_for
from ssdgym.simulator import Simulator
from ssdgym.simulator.memory import memory_bytes

#: Of the device of SpeedupGC: 4 planes of 5,748 blocks of 16 sub-blocks and 768 pages.
PLANES, BLOCKS = 4, 5748
#: 7 rows of 65,536 counters of 4 bits.
HOTNESS = 7 * 65536 // 2


def bytes_of(policy: str, device: str = "speedupgc-64l") -> int:
    return memory_bytes(device_for(device, None, policy))[1]


def test_speedupgc__its_tables_on_the_paper_s_device__stay_within_what_the_paper_measures() -> None:
    # The two ends of a run, 4 bits each; two numbers of pages up to 768, 10 bits each; group 3, writable 2.
    best_sets = PLANES * BLOCKS * 5
    # A block of the plane in 13 bits, and a place in a group of 957 in 10.
    heaps = PLANES * BLOCKS * (2 + 2)
    # Two bits for a block, with one over each 64 of them.
    bits = PLANES * 7 * (2 * (BLOCKS + 90) + 4) // 8
    sizes = PLANES * 7 * 2
    assert (best_sets, heaps, bits, HOTNESS) == (114_960, 91_968, 40_880, 229_376)
    assert bytes_of("speedupgc") == best_sets + heaps + bits + sizes + HOTNESS == 477_240
    assert bytes_of("speedupgc") < 510_000


def test_gsm__has_best_sets_and_a_tree__gsm_plus_another_tree_and_hotness() -> None:
    best_sets = PLANES * BLOCKS * 4  # 28 bits; 30 with writable
    tree = PLANES * (BLOCKS - 1) * 2
    assert bytes_of("gsm") == best_sets + tree
    assert bytes_of("gsm_plus") == best_sets + 2 * tree + HOTNESS


def test_sets_of_any_sub_blocks__take_a_bit_for_each() -> None:
    """Hardware isolation leaves 576 pages of a block, numbers of which take 10 bits."""
    assert device_for("speedupgc-64l", None, "pb").usable.pages_per_block == 576
    assert bytes_of("pb") == PLANES * BLOCKS * 5 + PLANES * (BLOCKS - 1) * 2  # 16 + 20 bits


def test_hotness__in_proportion_to_the_device__takes_as_much_less() -> None:
    fixed, scaled = (
        memory_bytes(device_for("speedupgc-64l", ftl, "gsm_plus"))[1]
        for ftl in (None, {"hotness": {"pages_per_counter": 1024}})
    )
    assert fixed - scaled == HOTNESS - 7 * 8_622 // 2  # a counter for 1,024 of 8,828,928 pages


@pytest.mark.parametrize("policy", ["greedy", "greedy+sep_gc"])
def test_devices_without_tables__need_none(policy: str) -> None:
    assert bytes_of(policy, "demo") == 0


def test_metric__of_a_run__stands_beside_the_bytes_of_the_simulator() -> None:
    metrics = Simulator("speedupgc-64l-small", policy="speedupgc").metrics()
    assert metrics["controller_table_bytes"] == bytes_of("speedupgc", "speedupgc-64l-small")
    assert metrics["controller_table_bytes"] < metrics["policy_memory_bytes"]


def test_metric__of_a_rule_with_records_of_its_own__has_these() -> None:
    metrics = Simulator("demo", policy="greedy+sepbit").metrics()
    assert metrics["controller_table_bytes"] == metrics["policy_memory_bytes"] > 0

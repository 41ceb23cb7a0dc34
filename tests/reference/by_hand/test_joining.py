"""Writes that join padded rows, and reads that join, on the reference, held to cases computed by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from .. import Reference
from ..blocks import Stream
from ..helpers import TIMED, plane_of, ran, read, trim, write, writes
from ..page.audit import check

# tR 50, tPROG 200, tBERS 1000, tX 10: a lone read takes 60 ns, a write 210 ns.


# Rows filled up


PLANES = replace(TIMED, planes_per_die=2, multi_plane="relaxed", logical_pages=24)
PADS = replace(PLANES, multi_plane_writes=True, multi_plane_rows="pad", pad_limit=2)
#: Lpn 0 in plane 0, and then the next one there with lpn 1 in plane 1.
UNEVEN = [write(0, 0), write(1, 2), write(1, 1)]


def test_pad__fills_up_to_the_row_of_the_first_page() -> None:
    reference = ran(PADS, UNEVEN)
    state, c = reference.export(), reference.counters
    assert reference.latencies == {0: 210, 1: 429, 2: 429}
    assert (c["padded_pages"], c["joined_writes"], c["host_pages_written"]) == (1, 1, 3)
    assert state["logical_ppn"][1] == 33
    assert state["physical"][32] == (1, -1)
    assert (state["written"][8], state["valid"][8], state["free_pages"][1]) == (2, 1, 30)
    assert state["invalidated_at"][8] == 0
    assert state["clock"] == 3
    check(reference)


@pytest.mark.parametrize(("limit", "joined", "padded"), [(1, 0, 0), (2, 1, 2), (3, 1, 2)])
def test_pad__up_to_a_limit(limit: int, joined: int, padded: int) -> None:
    # lpn 4 goes to row 2 of plane 0, lpn 1 to row 0 of plane 1
    requests = [write(0, 0), write(300, 2), write(301, 4), write(301, 1)]
    c = ran(replace(PADS, pad_limit=limit), requests).counters
    assert (c["joined_writes"], c["padded_pages"]) == (joined, padded)


def test_pad__never_lifts_the_first_page_of_a_command() -> None:
    reference = ran(PADS, [write(0, 0), write(1, 1), write(1, 2)])
    assert reference.latencies == {0: 210, 1: 419, 2: 629}
    assert reference.counters["padded_pages"] == 0


def test_pad__the_next_plane_in_cursor_order_is_padded_though_a_later_one_need_not_be() -> None:
    config = replace(PADS, planes_per_die=4, logical_pages=48, allocation="dynamic")
    # planes 0, 1 and 3 get a page each
    reference = ran(config, writes(0, 1, gap_ns=1000))
    reference.device.plane_cursors[0] = 3
    reference.run([write(3000, 2)])
    reference.run([write(4000, 3), write(4001, 4), write(4001, 5), write(4001, 6)])
    # lpn 3 alone in plane 0; lpn 4 in row 1 of plane 1, 5 with a padded page in plane 2, 6 in plane 3
    assert [plane_of(reference, lpn) for lpn in range(7)] == [0, 1, 3, 0, 1, 2, 3]
    assert (reference.counters["joined_writes"], reference.counters["padded_pages"]) == (2, 1)
    check(reference)


def test_pad__ends_a_run_of_relocated_pages() -> None:
    device = Reference(PADS).device
    device.relocated_last[8] = 1
    device.pad(1, Stream(0), 1, 0)
    assert device.relocated_last[8] == 0


def test_pad__gc_is_needed_after_the_page_of_the_host_at_most_once() -> None:
    config = replace(PADS, threshold_blocks=None, threshold_pages=27, logical_pages=2)
    # five pages of plane 1 are written, and 27 are free; plane 0 has had its round
    reference = ran(config, writes(*[1] * 5, *[0] * 6, gap_ns=2000))
    assert reference.counters["gc_episodes"] == 1
    # lpn 0 goes to row 2, lpn 1 would to row 1
    reference.run([read(30_000, 0), write(30_001, 0), write(30_001, 1)])
    assert reference.counters["padded_pages"] == 1
    assert reference.counters["gc_episodes"] == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"pad_limit": 0},
        {"pad_limit": 4},
        {"multi_plane_rows": "any"},
        {"multi_plane_writes": False},
        {"placement": "hot_cold"},
        {"sub_blocks_per_block": 2},
    ],
)
def test_pad__needs_a_limit_and_writes_to_several_planes(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="multi_plane_rows"):
        replace(PADS, **changes)


# Reads of several planes


READS = replace(PLANES, multi_plane_reads=True)
WRITTEN = writes(0, 1, 2, 3, gap_ns=1000)


def test_reads__of_equal_page_numbers_are_one_command() -> None:
    reference = ran(READS, [*WRITTEN, read(5000, 0, pages=4)])
    assert reference.latencies[4] == 2 * (50 + 20)
    assert (reference.counters["joined_reads"], reference.counters["flash_reads"]) == (2, 4)
    alone = ran(replace(READS, multi_plane_reads=False), [*WRITTEN, read(5000, 0, pages=4)])
    assert alone.latencies[4] == 4 * 60 and alone.counters["joined_reads"] == 0


@pytest.mark.parametrize(
    ("lpns", "latencies"),
    [
        ((2, 3), [5130, 5130]),
        ((2, 0), [5120, 5180]),  # both of plane 0
        ((2, 1, 3), [5120, 5180, 5240]),  # lpn 1 is in another row, and lpn 3 waits behind it
        ((2, 3, 1), [5130, 5130, 5190]),
    ],
)
def test_reads__the_first_that_cannot_join_ends_the_command(
    lpns: tuple[int, ...], latencies: list[int]
) -> None:
    reference = ran(READS, [*WRITTEN, read(5000, 0), *(read(5001, lpn) for lpn in lpns)])
    assert [reference.latencies[5 + k] for k in range(len(lpns))] == [ns - 5001 for ns in latencies]


def test_reads__a_page_trimmed_meanwhile_does_not_join_and_is_dealt_with_later() -> None:
    requests = [*WRITTEN, read(5000, 0), read(5001, 2), read(5001, 3), trim(5002, 3)]
    reference = ran(READS, requests)
    assert [reference.latencies[k] for k in (5, 6)] == [5120 - 5001, 5120 - 5001]
    c = reference.counters
    assert (c["joined_reads"], c["unmapped_reads"], c["flash_reads"]) == (0, 1, 2)


def test_reads__of_partial_writes_join_and_their_writes_follow_in_that_order() -> None:
    requests = [*WRITTEN, read(5000, 0), write(5001, 2, flags=1), write(5001, 3, flags=1)]
    reference = ran(READS, requests)
    # reads 5060-5130, writes -5340 and -5550
    assert [reference.latencies[k] for k in (5, 6)] == [5340 - 5001, 5550 - 5001]
    c = reference.counters
    assert (c["rmw_reads"], c["joined_reads"], c["flash_reads"]) == (2, 1, 3)

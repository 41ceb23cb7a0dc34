"""What latencies consist of, on the reference, by example."""

from __future__ import annotations

from dataclasses import replace

from .. import READ, WRITE, Reference
from ..block.test_block import ran as ran_blocks
from ..block.test_block import writes as block_writes
from ..block.test_block_in_time import FULL_U
from ..block.test_block_in_time import TIMED as MERGING
from ..helpers import TIMED, ran, read, trim, write, writes
from ..page.policies import fifo
from ..subpage import SubpageConfig, SubpageReference

# tR 50, tPROG 200, tBERS 1000, tX 10: a lone read takes 60 ns, a write 210 ns, a move 270 ns.


def parts(reference: Reference, request: int) -> tuple[int, int, int]:
    """Service, waiting for garbage collection, and for all else."""
    [of_request] = [part for (_, serial), part in reference.waits.parts.items() if serial == request]
    rest = reference.latencies[request] - of_request.service_ns - of_request.gc_wait_ns
    return of_request.service_ns, of_request.gc_wait_ns, rest


def test_parts__of_commands_behind_others() -> None:
    reference = ran(TIMED, [write(0, 0), write(0, 1), read(5, 0)])
    assert [parts(reference, k) for k in range(3)] == [(210, 0, 0), (210, 0, 270), (60, 0, 205)]


def test_parts__of_a_request_are_those_of_its_last_page() -> None:
    assert parts(ran(TIMED, [write(0, 0, pages=3)]), 0) == (210, 0, 420)


def test_parts__of_what_needs_no_flash_are_none() -> None:
    reference = ran(TIMED, [write(0, 0), read(0, 1), write(1, 2), read(1, 2), trim(1, 0)])
    assert [parts(reference, k) for k in (1, 3)] == [(0, 0, 0), (0, 0, 0)]
    assert sorted(reference.waits.parts) == [(READ, 1), (READ, 3), (WRITE, 0), (WRITE, 2)]


def test_parts__of_a_read_whose_page_is_trimmed_meanwhile() -> None:
    reference = ran(TIMED, [*writes(0, 1), read(420, 0), read(421, 1), trim(422, 1)])
    assert parts(reference, 3) == (0, 0, 480 - 421)


def test_service__waits_for_the_channel() -> None:
    # the dies share a channel: the transfer of die 1 waits 10 ns
    config = replace(TIMED, chips_per_channel=2)
    assert parts(ran(config, [write(0, 0), write(0, 1)]), 1) == (220, 0, 0)


def test_service__ends_with_the_transfer_where_the_write_does() -> None:
    reference = ran(replace(TIMED, write_completes="transfer"), [write(0, 0), write(0, 1)])
    assert [parts(reference, k) for k in (0, 1)] == [(10, 0, 0), (10, 0, 210)]


def test_service__of_a_partial_write_is_of_its_write_alone() -> None:
    reference = ran(TIMED, [write(0, 0), write(1000, 0, flags=1)])
    assert parts(reference, 1) == (210, 0, 60)


#: Background GC sets in with fewer than 12 of 16 pages free.
BACKGROUND = replace(TIMED, blocks_per_plane=8, pages_per_block=2, logical_pages=2, background_pages=12)


def test_gc_wait__counts_from_the_moment_of_queueing() -> None:
    reference = ran(BACKGROUND, [*writes(0, 0, 0, 0, 0, gap_ns=1000), read(4300, 0)])
    # the erase takes 4210-5210
    assert parts(reference, 5) == (60, 910, 0)
    assert reference.waits.of_op(READ) == [(60, 910)]
    assert reference.waits.of_op(WRITE) == [(210, 0)] * 5


def test_gc_wait__sums_moves_and_erases_but_not_what_is_done_between() -> None:
    requests = [*writes(1, 0, 0, 0, 0, gap_ns=1000), write(4300, 0), read(4310, 1)]
    reference = ran(BACKGROUND, requests, fifo)
    # move 4210-4480, read -4540, erase -5540, write -5750
    assert parts(reference, 6) == (60, 170, 0)
    assert parts(reference, 5) == (210, 180 + 1000, 60)


def test_gc_wait__of_a_partial_write_begins_behind_its_read() -> None:
    requests = [*writes(1, 0, 0, 0, 0, gap_ns=1000), write(4300, 1, flags=1)]
    reference = ran(BACKGROUND, requests, fifo)
    # move 4210-4480, read -4540, erase -5540 while the write waits, write -5750
    assert parts(reference, 5) == (210, 1000, 240)


def test_gc_wait__of_late_binding_is_none() -> None:
    """A write of the common queue is queued to no die."""
    config = replace(BACKGROUND, allocation="late", logical_pages=1)
    reference = ran(config, [*writes(0, 0, 0, 0, 0, gap_ns=1000), write(4300, 0)])
    # erase 4210-5210
    assert parts(reference, 5) == (210, 0, 910)


def test_gc_wait__in_the_block_family_counts_jobs() -> None:
    reference = ran_blocks(MERGING, [*FULL_U, *block_writes(1)])
    job_ns = 8 * 52 + 4 * 270 + 2 * 1000
    assert parts(reference, 5) == (210, job_ns, 8 * 210)


def test_parts__in_the_block_family__of_a_partial_write_overtaken_while_it_reads() -> None:
    """Its read is the only command there is."""
    reference = ran_blocks(MERGING, [*block_writes(0), write(210, 0, flags=1), trim(220, 0)])
    assert parts(reference, 1) == (60, 0, 0)


def test_parts__in_the_sub_page_family_are_of_the_last_transaction() -> None:
    config = SubpageConfig(
        timing="event", read_ns=50, program_ns=200, transfer_ns=10, threshold_blocks=2, kind="cgm"
    )
    reference = SubpageReference(config, fifo)
    # the host waits for the first write (flag bit 2), and the second is buffered; four sectors make a page
    reference.run([write(0, 0, 4, 4), write(0, 4), read(1000, 0), read(1000, 1)])
    expected = [(210, 0, 0), (0, 0, 0), (60, 0, 0), (60, 0, 60)]
    assert [parts(reference, k) for k in range(4)] == expected

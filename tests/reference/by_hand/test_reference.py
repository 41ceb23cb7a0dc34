"""The reference itself, held to small cases computed by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from .. import PARTIAL_HEAD, PARTIAL_TAIL, IllegalEraseSet, Reference, ReferenceConfig
from ..helpers import TIMED, UNTIMED, flush, plane_of, ran, read, trim, write, writes

# Numbering


def test_planes_count_channels_first_and_pages_count_over_the_device() -> None:
    config = replace(UNTIMED, channels=2, chips_per_channel=2, planes_per_die=2, blocks_per_plane=8)
    reference = ran(config, writes(5, 13))  # lpn % 8 planes = 5, twice
    assert reference.device.die_of_plane(5) == 1
    assert reference.device.planes_of_die(1) == [1, 5]
    assert reference.export()["logical_ppn"][5] == 5 * 8 * 4
    assert reference.export()["logical_ppn"][13] == 5 * 8 * 4 + 1


# Lone commands


def test_a_lone_write_takes_transfer_and_program() -> None:
    assert ran(TIMED, [write(5, 0)]).latencies == {0: 210}


def test_a_lone_read_takes_array_read_and_transfer() -> None:
    reference = ran(TIMED, [write(0, 0), read(1000, 0)])
    assert reference.latencies[1] == 60
    assert reference.counters["flash_reads"] == 1


def test_a_read_of_an_unmapped_page_takes_no_time() -> None:
    reference = ran(TIMED, [read(7, 3)])
    assert reference.latencies == {0: 0}
    assert reference.counters["unmapped_reads"] == 1
    assert reference.counters["flash_reads"] == 0


#: Five blocks of two pages, filled so that the seventh write (at 6000 ns) opens block 3, which leaves one
#: block in the pool: the floor. Greedy's victim is block 0, where lpn 1 is still valid.
GC_CONFIG = replace(TIMED, blocks_per_plane=5, pages_per_block=2, logical_pages=4)
GC_WRITES = writes(0, 1, 2, 3, 0, 2, 0, gap_ns=1000)


def test_foreground_gc_is_one_move_and_one_erase_before_the_waiting_read() -> None:
    reference = ran(GC_CONFIG, [*GC_WRITES, read(6300, 3)])
    # write 6000-6210, move -6480, erase -7480, read -7540
    assert reference.latencies[7] == 1240
    assert reference.counters["relocated_pages"] == reference.counters["erases"] == 1
    assert reference.export()["pool"] == [[4, 0]]
    assert reference.export()["logical_ppn"][1] == 3 * 2 + 1


def test_reads_slip_between_the_commands_of_a_round_where_the_device_says_so() -> None:
    reference = ran(replace(GC_CONFIG, gc_priority="after_reads"), [*GC_WRITES, read(6300, 3)])
    # write 6000-6210, move -6480, read -6540; there the run ends, the round waits for its erase
    assert reference.latencies[7] == 240
    assert reference.export()["now"] == 6540
    assert reference.export()["rounds"] == [[(0, 1)]]


def test_a_write_waits_for_the_whole_foreground_episode() -> None:
    reference = ran(replace(GC_CONFIG, gc_priority="after_reads"), [*GC_WRITES, write(6300, 3)])
    assert reference.latencies[7] == 7480 + 210 - 6300


@pytest.mark.parametrize("timing", ["none", "event"])
def test_a_refused_decision_can_be_taken_again(timing: str) -> None:
    config = replace(GC_CONFIG, timing=timing)
    reference = Reference(config)
    requests = [*GC_WRITES, read(6300, 3)]
    steps = reference.decisions(requests)
    assert next(steps) == 0
    before = reference.export()
    with pytest.raises(IllegalEraseSet):
        steps.send([(4, 1)])
    assert reference.export() == before
    steps = reference.decisions([])
    assert next(steps) == 0
    with pytest.raises(StopIteration):
        steps.send([(0, 1)])
    assert reference.export() == ran(config, requests).export()


# Channels


TWO_DIES = replace(TIMED, chips_per_channel=2, logical_pages=32)


def test_dies_of_one_channel_take_turns_on_it() -> None:
    reference = ran(TWO_DIES, [write(0, 0, pages=2), read(1000, 0, pages=2)])
    # write: transfers 0-10 and 10-20, then 200; read: both sensed at 50, transfers -60 and -70
    assert reference.latencies == {0: 220, 1: 70}


def test_dies_of_two_channels_do_not_wait_for_each_other() -> None:
    config = replace(TIMED, channels=2, logical_pages=32)
    assert ran(config, [write(0, 0, pages=2), read(1000, 0, pages=2)]).latencies == {0: 210, 1: 60}


def test_a_channel_is_free_at_the_very_moment_its_transfer_ends() -> None:
    assert ran(TWO_DIES, [write(0, 0), write(10, 1)]).latencies == {0: 210, 1: 210}


def test_a_channel_is_served_in_the_order_of_asking() -> None:
    config = replace(TIMED, chips_per_channel=3, logical_pages=48)
    reference = ran(config, [write(0, 0), write(1, 2), write(2, 1)])
    assert reference.latencies == {0: 210, 1: 20 + 200 - 1, 2: 30 + 200 - 2}


def test_a_move_holds_the_channel_for_two_transfers() -> None:
    config = replace(GC_CONFIG, chips_per_channel=2, logical_pages=8)
    fill = [write(at, 2 * lpn) for at, lpn, *_ in GC_WRITES]  # all on die 0
    # the move of die 0 senses 6210-6260 and transfers -6280; die 1 asks at 6261
    reference = ran(config, [*fill, write(6261, 1)])
    assert reference.latencies[7] == (6280 - 6261) + 210


# Order of work on a die


def test_reads_go_before_writes() -> None:
    reference = ran(TIMED, [write(0, 2), write(1000, 0), write(1001, 1), read(1002, 2)])
    # write -1210, read -1270, write -1480
    assert reference.latencies == {0: 210, 1: 210, 2: 479, 3: 268}


def test_an_arrival_comes_after_the_events_of_its_time() -> None:
    reference = ran(TIMED, [write(0, 0), write(1, 1), read(210, 0)])
    # at 210 the die goes on with the second write, and only then the read arrives
    assert reference.latencies[2] == 420 + 60 - 210


def test_a_read_of_a_page_waiting_to_be_written_is_served_from_the_queue() -> None:
    reference = ran(TIMED, [write(0, 0), write(1, 1), read(2, 1), read(3, 0)])
    # lpn 0 is being programmed already: its read waits for the flash (210-270)
    assert reference.latencies == {0: 210, 1: 479, 2: 0, 3: 267}
    assert reference.counters["queue_hits"] == 1
    assert reference.counters["host_reads"] == 2


def test_a_trim_overtakes_a_queued_write() -> None:
    reference = ran(TIMED, [write(0, 0), write(1, 1), trim(2, 1), read(3, 1)])
    state = reference.export()
    assert reference.latencies == {0: 210, 1: 419, 3: 0}
    assert reference.counters["unmapped_reads"] == reference.counters["host_pages_trimmed"] == 1
    assert (state["logical_ppn"][1], state["logical_version"][1], state["accepted"][1]) == (-1, 2, 2)
    assert state["physical"][1] == (1, 1)  # programmed all the same, and dead
    assert state["valid"][0] == 1


def test_a_read_whose_page_is_trimmed_meanwhile_ends_when_its_die_looks() -> None:
    reference = ran(TIMED, [write(0, 0), write(1000, 1), read(1001, 0), trim(1002, 0)])
    assert reference.latencies[2] == 1210 - 1001
    assert reference.counters["flash_reads"] == 0
    assert reference.counters["unmapped_reads"] == 1


def test_flush_holds_back_what_follows_until_no_write_is_outstanding() -> None:
    reference = ran(TIMED, [write(0, 0), flush(1), read(2, 3), flush(300), read(301, 3)])
    assert reference.latencies == {0: 210, 2: 208, 4: 0}


def test_the_window_holds_back_admission() -> None:
    config = replace(TIMED, window_pages=1)
    reference = ran(config, [write(0, 0, pages=2), read(1, 3)])
    # the second page is admitted at 210; the unmapped read needs a place too, free at 420
    assert reference.latencies == {0: 420, 1: 419}


# Partial writes


def test_a_partial_write_of_a_mapped_page_reads_it_first() -> None:
    reference = ran(TIMED, [write(0, 0), write(1000, 0, flags=PARTIAL_HEAD)])
    assert reference.latencies[1] == 60 + 210
    assert reference.counters["rmw_reads"] == reference.counters["flash_reads"] == 1


@pytest.mark.parametrize("flags, reads", [(0, 0), (PARTIAL_HEAD, 1), (PARTIAL_TAIL, 1), (3, 2)])
@pytest.mark.parametrize("config", [TIMED, UNTIMED])
def test_only_the_first_and_last_page_can_be_partial(config: ReferenceConfig, flags: int, reads: int) -> None:
    reference = ran(config, [write(0, 0, pages=3), write(1000, 0, pages=3, flags=flags)])
    assert reference.counters["rmw_reads"] == reads


def test_a_partial_write_with_nothing_to_read_is_a_write() -> None:
    reference = ran(TIMED, [write(0, 0, flags=PARTIAL_TAIL)])
    assert reference.latencies == {0: 210}


def test_a_partial_write_merges_with_a_version_that_waits() -> None:
    reference = ran(TIMED, [write(0, 1), write(300, 0), write(301, 1), write(302, 1, flags=PARTIAL_HEAD)])
    assert reference.counters["rmw_reads"] == 0
    assert reference.latencies[3] == 300 + 3 * 210 - 302


def test_a_full_write_overtakes_a_partial_one_that_reads() -> None:
    reference = ran(TIMED, [write(0, 0), write(1000, 0, flags=PARTIAL_HEAD), write(1001, 0)])
    state = reference.export()
    # read -1060, the full write (version 3) -1270, then the partial one (version 2), dead at once
    assert reference.latencies == {0: 210, 1: 480, 2: 269}
    assert state["physical"][:3] == [(0, 1), (0, 3), (0, 2)]
    assert (state["logical_ppn"][0], state["logical_version"][0]) == (1, 3)


# Closed loop, horizon, end of a run


@pytest.mark.parametrize(
    "depth, latencies", [(1, [210, 210, 210]), (2, [210, 420, 420]), (9, [210, 420, 630])]
)
def test_closed_loop_admits_by_queue_depth_and_ignores_timestamps(depth: int, latencies: list[int]) -> None:
    reference = ran(replace(TIMED, closed_loop=True, queue_depth=depth), writes(0, 1, 2, gap_ns=10**6))
    assert list(reference.latencies.values()) == latencies
    assert reference.export()["now"] == 630


@pytest.mark.parametrize("config", [TIMED, UNTIMED])
def test_the_horizon_cuts_a_request_short(config: ReferenceConfig) -> None:
    reference = ran(config, [write(0, 0), write(0, 1, pages=3), write(0, 9)], horizon=3)
    assert reference.counters["host_pages_written"] == 3
    assert [lpn for lpn in range(16) if reference.device.is_mapped(lpn)] == [0, 1, 2]
    assert 1 not in reference.latencies
    reference.run([write(5000, 9)])
    assert reference.device.is_mapped(9) and not reference.device.is_mapped(3)


def test_untimed_runs_take_no_time_and_record_no_latency() -> None:
    reference = ran(UNTIMED, [write(5, 0), read(9, 0), read(9, 1), flush(10), trim(11, 0)])
    assert reference.latencies == {}
    assert reference.export()["now"] == 0
    assert reference.counters["flash_reads"] == reference.counters["unmapped_reads"] == 1
    assert reference.export()["clock"] == 1


# Allocation


DYNAMIC = replace(TIMED, channels=2, allocation="dynamic", logical_pages=32)


def test_static_allocation_is_by_page_number() -> None:
    reference = ran(replace(DYNAMIC, allocation="static"), writes(3, 1, 2, 3))
    assert [plane_of(reference, lpn) for lpn in (1, 2, 3)] == [1, 0, 1]


@pytest.mark.parametrize("timing", ["none", "event"])
def test_dynamic_allocation_takes_idle_dies_in_turn(timing: str) -> None:
    reference = ran(replace(DYNAMIC, timing=timing), writes(7, 8, 9, 10, gap_ns=1000))
    assert [plane_of(reference, lpn) for lpn in (7, 8, 9, 10)] == [0, 1, 0, 1]


def test_dynamic_allocation_takes_the_planes_of_a_die_in_turn() -> None:
    reference = ran(replace(DYNAMIC, channels=1, planes_per_die=2), writes(7, 8, 9))
    assert [plane_of(reference, lpn) for lpn in (7, 8, 9)] == [0, 1, 0]


def test_dynamic_allocation_avoids_the_die_that_is_estimated_busy() -> None:
    reference = ran(DYNAMIC, [write(0, 0), write(1000, 1), read(2000, 0), write(2000, 2)])
    # the cursor points to die 0 again, but that reads until 2060
    assert plane_of(reference, 2) == 1
    assert reference.export()["est"] == [2060, 2210]
    assert reference.export()["die_cursor"] == 0


def test_a_read_follows_its_page_to_another_die() -> None:
    requests = [write(0, 0), write(1000, 1), write(2000, 2), read(2001, 0), write(2002, 0)]
    reference = ran(DYNAMIC, requests)
    # lpn 0 is on die 0, which programs lpn 2 until 2210; its new version goes to die 1, 2002-2212
    assert plane_of(reference, 0) == 1
    assert reference.latencies[3] == 2212 + 60 - 2001


#: V_max is (5 - 2 - 1) * 2 = 4. Seven writes leave plane 0 with four valid pages, plane 1 with three, and
#: the eighth, of lpn 1, goes to die 1; the ninth is bound to die 0.
FULL_DIE = replace(DYNAMIC, blocks_per_plane=5, pages_per_block=2, logical_pages=7)


@pytest.mark.parametrize("timing", ["none", "event"])
def test_a_write_to_a_full_die_goes_to_the_emptiest_plane(timing: str) -> None:
    reference = ran(replace(FULL_DIE, timing=timing), writes(0, 1, 2, 3, 4, 5, 6, 1, 0, gap_ns=1000))
    assert plane_of(reference, 0) == 1
    assert [reference.device.valid_in_plane(plane) for plane in (0, 1)] == [3, 4]
    assert reference.export()["die_cursor"] == 1
    assert reference.export()["est"] == ([8210, 8210] if timing == "event" else [0, 0])


@pytest.mark.parametrize("config", [TIMED, UNTIMED])
def test_a_page_that_holds_the_wrong_data_counts_at_every_read_and_in_the_audit(
    config: ReferenceConfig,
) -> None:
    reference = ran(config, [write(0, 0), write(0, 1)])
    reference.device.physical[0] = (0, 0)
    reference.run([read(1000, 0), read(1000, 1)])
    assert reference.counters["lost_pages"] == 2

"""How devices of the sub-page family are built and measured: thresholds in units, constants, metrics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ssdgym.config.device import DeviceConfig, load_device, with_ftl
from ssdgym.enums import SubpageKind
from ssdgym.errors import SsdgymError
from ssdgym.simulator import Recording, Simulator
from ssdgym.simulator.build import fits, make_state
from ssdgym.simulator.families import family_of
from ssdgym.simulator.families.subpage import mapping_table_bytes
from ssdgym.simulator.metrics import metrics_of, reset_metrics
from ssdgym.workloads import page_writes
from tests.engine.devices import device as page_device
from tests.engine.devices import same_as
from tests.simulator.test_steady_states import key_of

RECORDING = Recording(latencies=4, slowest=1)


def tiny(kind: str = "subftl", **ftl: Any) -> DeviceConfig:
    """Two planes of 32 blocks of 16 pages of 4 subpages, with 6 blocks for a region."""
    return with_ftl(load_device("subftl-tiny"), {"kind": kind, **ftl})


@pytest.mark.parametrize(
    ("kind", "fields", "reason"),
    [
        (
            "subftl",
            {"ftl.region_share": 0.25},
            "full it holds 704 pages of flash, and beside the GC threshold",
        ),
        (
            "sector_log",
            {"ftl.region_share": 0.25},
            "a region of 8 blocks in each plane there is room for less th",
        ),
        (
            "subftl",
            {"ftl.region_share": 0.25},
            "lower the threshold (field ftl.gc) or the region (ftl.region_sh",
        ),
        ("cgm", {"capacity.logical_pages": 3712}, "full it holds 928 pages of flash"),
        ("fgm", {"capacity.logical_pages": 3652}, "full it holds 3652 subpages, and beside"),
        ("cgm", {"capacity.logical_pages": 3712}, "lower the threshold (field ftl.gc), or raise over_provis"),
    ],
)
def test_check__a_full_device_has_no_room__says_what_to_change(
    kind: str, fields: dict[str, Any], reason: str
) -> None:
    too_full = load_device({"base": "subftl-tiny", "ftl.kind": kind, **fields})
    with pytest.raises(SsdgymError) as caught:
        family_of(too_full).check(too_full)
    assert reason in str(caught.value)


@pytest.mark.parametrize(("kind", "pages"), [("cgm", 3708), ("fgm", 3648), ("subftl", 2940)])
def test_check__as_full_as_can_be__passes(kind: str, pages: int) -> None:
    full = load_device({"base": "subftl-tiny", "ftl.kind": kind, "capacity.logical_pages": pages})
    family_of(full).check(full)


def test_subftl_tlc__is_a_drive_of_16_gib_of_which_the_host_has_11() -> None:
    config = load_device("subftl-tlc")
    assert config.physical_units * config.host_unit_bytes == 2**34
    assert config.logical_pages * config.host_unit_bytes == 11 * 2**30
    for kind in SubpageKind:
        family_of(config).check(with_ftl(config, {"kind": kind}))


@pytest.mark.parametrize(
    ("kind", "bytes_"),
    [
        ("cgm", 4 * 704),
        ("fgm", 4 * 2816),
        ("subftl", 4 * 704 + 16 * 12 * 16),
        ("sector_log", 4 * 704 + 16 * 12 * 16 * 4),
    ],
)
def test_mapping_table_bytes__pages_or_subpages_and_a_hash_table_for_the_region(
    kind: str, bytes_: int
) -> None:
    assert mapping_table_bytes(tiny(kind)) == bytes_


def test_metrics__are_of_bytes_and_of_small_writes() -> None:
    config = load_device({"base": "subftl-tiny", "energy": {"read_uj": 1, "program_uj": 10, "erase_uj": 100}})
    state = make_state([config], [1], RECORDING)
    state.counters["host_pages_written"], state.counters["flash_reads"] = 40, 7
    state.counters["erased_sub_blocks"] = 2
    state.tally["full_programs"], state.tally["subpage_programs"] = 9, 6
    state.tally["small_write_bytes"], state.tally["small_flash_bytes"] = 4096, 6144
    state.control["now"], state.control["serial"] = 2 * 10**9, 10
    metrics = metrics_of(state, 0, config)
    assert metrics["write_amplification"] == (9 * 4 + 6) / 40 and metrics["request_waf"] == 1.5
    assert metrics["requests_per_s"] == 5.0 and metrics["host_bytes_per_s"] == 20 * 4096
    assert metrics["energy_uj"] == 7 + 150 + 200 and metrics["gc_energy_uj"] is None
    assert metrics["mean_victim_valid_pages"] is None
    assert [name for name in metrics if name in state.tally.dtype.names] == list(state.tally.dtype.names)
    reset_metrics(state, 0)
    metrics = metrics_of(state, 0, config)
    assert not state.tally.view(np.int64).any() and metrics["full_programs"] == 0
    assert metrics["write_amplification"] is metrics["request_waf"] is metrics["requests_per_s"] is None


def test_metrics__moved_bytes__count_what_regions_move_and_a_page_for_each_eviction() -> None:
    state = make_state([tiny()], [1], RECORDING)
    state.counters["relocated_pages"] = 8
    state.tally["region_moves"], state.tally["advances"], state.tally["evictions"] = 3, 5, 2
    assert metrics_of(state, 0, tiny())["moved_bytes"] == (8 + 3 + 5) * 4096 + 2 * 16384


def test_metrics__rmw_share__of_subftl_is_known_where_only_evictions_read_first() -> None:
    state = make_state([tiny()], [1], RECORDING)
    assert metrics_of(state, 0, tiny())["rmw_share"] is None
    state.counters["host_pages_written"] = 4
    state.tally["evictions"] = state.tally["rmw_count"] = 2
    assert metrics_of(state, 0, tiny())["rmw_share"] == 0.0
    state.tally["rmw_count"] = 3
    assert metrics_of(state, 0, tiny())["rmw_share"] is None


def test_metrics__of_rounds__leave_the_region_out() -> None:
    state = make_state([tiny()], [1], RECORDING)
    counters = state.counters
    counters["victim_valid_pages"], counters["erases"] = 30, 10
    counters["gc_invocations"], state.tally["region_collections"] = 8, 3
    counters["relocated_pages"], counters["clustered_pages"], counters["relocated_runs"] = 40, 10, 2
    metrics = metrics_of(state, 0, tiny())
    assert metrics["mean_victim_valid_pages"] == 30 / (8 - 3)
    assert metrics["clustered_share"] is metrics["mean_relocated_run"] is None


def test_fits__a_device_of_other_constants__does_not() -> None:
    states = {
        rule: make_state([tiny(rule=rule)], [seed], RECORDING)
        for seed, rule in enumerate(["fewest_valid", "printed"])
    }
    assert (states["printed"].params["valid_limit"] == states["fewest_valid"].params["valid_limit"]).all()
    assert not fits(states["printed"], states["fewest_valid"])
    assert fits(make_state([tiny()], [7], RECORDING), states["printed"])


def test_steady_state__depends_on_all_but_queues_and_time() -> None:
    changes: list[dict[str, Any]] = [
        {},
        {"rule": "fewest_valid"},
        {"collect_blocks": 1},
        {"advance": "never"},
        {"buffer_groups": 5},
        {"region_share": 0.22},
        {"wear_gap": 3},
        {"evict_after_days": 0},
        {"gc": {"free_blocks": 3}},
        {"kind": "cgm"},
        {"kind": "fgm"},
    ]
    assert len({key_of(tiny(**change)) for change in changes}) == len(changes)
    same = [{}, {"queue_depth": 3}, {"window_pages": 100}, {"timing": "none"}]
    assert len({key_of(tiny(**change)) for change in same}) == 1


def test_pass_days__a_device_that_maps_pages__refused_and_its_input_kept() -> None:
    sim = Simulator(page_device(), recording=RECORDING)
    sim.feed(page_writes(np.arange(3)))
    with pytest.raises(
        SsdgymError, match="data does not age with ftl.mapping page; pass_days is for devices"
    ):
        sim.pass_days(1)
    sim.advance()
    assert sim.metrics()["host_pages_written"] == 3


@pytest.mark.parametrize("days", [0, -1, 36_501, 1.5, True, "2"])
def test_pass_days__no_number_of_days__refused(days: Any) -> None:
    with pytest.raises(SsdgymError, match="days must be a whole number from 1 to 36500, not "):
        Simulator(tiny(), recording=RECORDING).pass_days(days)


def test_pass_days__nobody_to_take_decisions__refused_with_the_device_as_it_was() -> None:
    sim, other = (Simulator(tiny(), policy=None, recording=RECORDING) for _ in range(2))
    with pytest.raises(SsdgymError, match="without a policy stops at decisions; give it one"):
        sim.pass_days(1)
    assert same_as(sim, other)

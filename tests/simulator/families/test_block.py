"""How devices of the block family are built and measured: their constants, sizes and metrics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ssdgym.config.device import DeviceConfig, load_device, with_ftl
from ssdgym.errors import SsdgymError
from ssdgym.simulator import Recording
from ssdgym.simulator.build import fits, make_state, params_record
from ssdgym.simulator.families import FREE, INVALID, VALID, family_of
from ssdgym.simulator.families.block import mapping_table_bytes
from ssdgym.simulator.metrics import metrics_of, reset_metrics
from tests.simulator.test_steady_states import key_of

RECORDING = Recording(latencies=4, slowest=1)
#: Times of pen-tiny, ns: array to register, a page and its spare area on the channel, program, erase.
READ_NS, PAGE_NS, SPARE_NS, PROGRAM_NS, ERASE_NS = 70_000, 40_960, 3_200, 900_000, 10_000_000


def tiny(kind: str = "nftl", **ftl: Any) -> DeviceConfig:
    """Two planes of 16 blocks of 8 pages, of which each can be erased alone."""
    return with_ftl(load_device("pen-tiny"), {"kind": kind, **ftl})


def constants_of(device: DeviceConfig) -> Any:
    return make_state([device], [1], RECORDING).merging[0, 0]


@pytest.mark.parametrize(
    ("ftl", "field", "value"),
    [
        ({"striping": "pages"}, "by_pages", 1),
        ({"u_block_search": "free"}, "search_timed", 0),
        ({"disturb_care": False}, "care", 0),
        ({"disturb_tolerance": None}, "care", 0),
        ({"disturb_tolerance": None}, "tolerance", -1),
        ({"disturb_tolerance": 0}, "tolerance", 0),
        ({"gc": {"merges": "spread"}}, "spread", 1),
        ({"gc": {"mmerge_limit": 3}}, "most_m_merges", 3),
        ({"gc": {"free_share": 0.2}}, "kept_free", 3),
    ],
)
def test_constants__by_fields_of_the_ftl(ftl: dict[str, Any], field: str, value: int) -> None:
    assert constants_of(tiny(**ftl))[field] == value


@pytest.mark.parametrize(
    ("fields", "needed"),
    [
        ({"ftl.gc.free_share": 0.25}, "needs 17: 12 for its logical blocks, 4 to be kept free and one to"),
        ({"capacity.logical_pages": 240}, "needs 17: 15 for its logical blocks, 1 to be kept free and one"),
        (
            {"ftl.kind": "superblock", "ftl.gc.free_share": 0.25},
            "needs 17: 12 for its logical blocks, 4 to be kept free",
        ),
    ],
)
def test_check__a_full_device_has_no_block_to_merge_to__says_what_to_change(
    fields: dict[str, Any], needed: str
) -> None:
    too_full = load_device({"base": "pen-tiny", **fields})
    with pytest.raises(SsdgymError) as caught:
        family_of(too_full).check(too_full)
    assert "device " in str(caught.value) and f"a plane has 16 blocks and {needed}" in str(caught.value)
    assert str(caught.value).endswith("lower ftl.gc.free_share, or raise over_provisioning.")


@pytest.mark.parametrize("fields", [{"ftl.gc.free_share": 0.24}, {"capacity.logical_pages": 224}])
def test_check__as_full_as_can_be__passes(fields: dict[str, Any]) -> None:
    full = load_device({"base": "pen-tiny", **fields})
    family_of(full).check(full)


def test_params__commands_that_read_all_spare_areas_too_slowly_to_be_timed__refused() -> None:
    slow = load_device({"base": "pen-tiny", "timing.read_ns": 2**57})
    with pytest.raises(SsdgymError, match="shorten the times"):
        params_record(slow, 0)


@pytest.mark.parametrize(("kind", "bytes_"), [("nftl", 4 * 2 * 24), ("superblock", 4 * 5 * 6 + 2 * 192)])
def test_mapping_table_bytes__pointers_to_blocks_and_the_places_of_pages_in_superblocks(
    kind: str, bytes_: int
) -> None:
    assert mapping_table_bytes(tiny(kind)) == bytes_


def test_metrics__where_the_time_of_writes_goes() -> None:
    state = make_state([tiny()], [1], RECORDING)
    state.counters["host_pages_written"], state.counters["relocated_pages"] = 10, 5
    times = {"gc_spare_ns": 1000, "gc_read_ns": 3000, "gc_write_ns": 500_000, "gc_erase_ns": 7000}
    for name, time in times.items():
        state.tally[name] = time
    state.control["now"], state.control["serial"] = 2 * 10**9, 8
    metrics = metrics_of(state, 0, tiny())
    assert metrics["service_ns_per_page"] == PAGE_NS + PROGRAM_NS
    assert [metrics[f"{name}_per_page"] for name in times] == [100, 300, 50_000, 700]
    assert metrics["write_ns_per_page"] == PAGE_NS + PROGRAM_NS + 51_100
    assert metrics["copy_share"] == 50_300 / (PAGE_NS + PROGRAM_NS + 51_100)
    assert metrics["write_amplification"] == 1.5
    assert metrics["requests_per_s"] == 4.0 and metrics["host_bytes_per_s"] == 5 * 16384
    assert metrics["mean_victim_valid_pages"] is metrics["clustered_share"] is None
    assert metrics["mean_relocated_run"] is None
    assert [name for name in metrics if name in state.tally.dtype.names] == list(state.tally.dtype.names)
    reset_metrics(state, 0)
    metrics = metrics_of(state, 0, tiny())
    assert not state.tally.view(np.int64).any() and metrics["gc_erase_ns"] == 0
    assert metrics["copy_share"] is metrics["service_ns_per_page"] is metrics["requests_per_s"] is None


def test_metrics__wear_is_by_pages_and_of_the_life_of_the_device() -> None:
    state = make_state([tiny()], [1], RECORDING)
    state.sub_block["erases"][0, :64] = 4
    reset_metrics(state, 0)
    metrics = metrics_of(state, 0, tiny())
    assert metrics["aep"] == 1.0 and metrics["vep"] == 3.0


def test_metrics__energy_counts_reads_of_spare_areas() -> None:
    config = load_device({"base": "pen-tiny", "energy": {"read_uj": 1, "program_uj": 10, "erase_uj": 800}})
    state = make_state([config], [1], RECORDING)
    counters, tally = state.counters, state.tally
    counters["host_pages_written"], counters["relocated_pages"], counters["flash_reads"] = 4, 2, 5
    tally["spare_reads"], tally["search_reads"], counters["erased_sub_blocks"] = 20, 7, 4
    metrics = metrics_of(state, 0, config)
    assert metrics["gc_energy_uj"] == 2 + 20 + 20 + 400
    assert metrics["energy_uj"] == metrics["gc_energy_uj"] + 3 + 7 + 40


def test_page_map__a_block_with_erased_pages_beside_others_is_open() -> None:
    config = tiny()
    state = make_state([config], [1], RECORDING)
    state.physical["lpn"][0] = -1
    state.physical["lpn"][0, :9] = [0, 1, 2, 3, 4, 5, 6, 7, 1]
    state.logical["ppn"][0, :8] = [0, 8, 2, 3, 4, 5, 6, -1]
    drawn = family_of(config).page_map(state, 0, config)
    assert drawn.pages.shape == (2, 16, 8) and drawn.open.shape == (2, 16)
    assert drawn.pages[0, 0].tolist() == [VALID, INVALID, *[VALID] * 5, INVALID]
    assert drawn.pages[0, 1].tolist() == [VALID, *[FREE] * 7]
    assert drawn.open.sum() == 1 and drawn.open[0, 1]


def test_fits__a_device_of_other_constants__does_not() -> None:
    plain, careless = (make_state([tiny(disturb_care=care)], [1], RECORDING) for care in (True, False))
    assert not fits(careless, plain)
    assert fits(make_state([tiny()], [7], RECORDING), plain)


def test_steady_state__depends_on_all_but_queues_and_time() -> None:
    changes: list[dict[str, Any]] = [
        {},
        {"kind": "superblock"},
        {"kind": "superblock", "logical_blocks": 3},
        {"kind": "superblock", "physical_blocks": 6},
        {"striping": "pages"},
        {"disturb_tolerance": 2},
        {"disturb_care": False},
        {"gc": {"free_share": 0.2}},
        {"gc": {"mmerge_limit": 2}},
        {"gc": {"merges": "spread"}},
    ]
    assert len({key_of(tiny(**change)) for change in changes}) == len(changes)
    same = [{}, {"queue_depth": 3}, {"window_pages": 100}, {"timing": "none"}]
    assert len({key_of(tiny(**change)) for change in same}) == 1

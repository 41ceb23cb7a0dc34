"""The FTLs of the block family: what single writes and merges cost, and that a full device goes on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ssdgym.config.device import DeviceConfig, load_device
from ssdgym.enums import BlockKind
from ssdgym.errors import SsdgymError
from ssdgym.policy import available_policies, merge_policy, registry
from ssdgym.requests import READ, REQUEST, TRIM, WRITE
from ssdgym.simulator import Recording, Simulator
from tests.engine.audit import NO_FAULT, first_fault
from tests.engine.devices import writes

KINDS = tuple(BlockKind)
TIMINGS = ("none", "event")
POLICIES = ("merge", "mmerge", "in_place")
#: Times of pen-tiny, ns: array to register, a page and its spare area on the channel, program.
READ_NS, PAGE_NS, SPARE_NS, PROGRAM_NS = 70_000, 40_960, 3_200, 900_000
#: Erase of a block, and a relocation.
ERASE_NS = 10_000_000
COPY_NS = READ_NS + 2 * PAGE_NS + PROGRAM_NS


def _in_place(plans: Any, case: Any, parameters: Any) -> Any:
    """Take the M-Merge of least cost wherever it is allowed, however dear: small blocks are soon copied."""
    planned = case[0].candidates - 1
    return planned if plans[planned].allowed else 0


@pytest.fixture(autouse=True)
def in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be a rule that merges superblocks of few pages in place; it is forgotten after a test."""
    available_policies()
    monkeypatch.setattr(registry, "_RULES", dict(registry._RULES))
    merge_policy("in_place", source="a test")(_in_place)


def tiny(kind: str = "nftl", timing: str = "none", **ftl: Any) -> DeviceConfig:
    """Two planes of 16 blocks of 8 pages; 12 logical blocks, or 3 superblocks of 4, in each."""
    changes = {"kind": kind, "timing": timing, **ftl}
    return load_device({"base": "pen-tiny", **{f"ftl.{name}": value for name, value in changes.items()}})


def filled(
    kind: str = "nftl", timing: str = "none", share: float = 1.0, policy: str = "merge", **ftl: Any
) -> Simulator:
    sim = Simulator(tiny(kind, timing, **ftl), policy=policy, recording=Recording(1 << 12, 16))
    sim.fill(share)
    return sim


def mixed(count: int, pages: int, seed: int = 0, *, most: int = 9) -> np.ndarray:
    """Writes of 1 to `most` pages, reads and trims."""
    rng = np.random.default_rng(seed)
    array = np.zeros(count, REQUEST)
    array["op"] = rng.choice([WRITE] * 6 + [READ] * 2 + [TRIM], count)
    array["pages"] = rng.integers(1, most + 1, count)
    array["lpn"] = rng.integers(0, pages - most, count)
    return array


def sound(sim: Simulator) -> bool:
    return first_fault(sim.arrays, 0) == NO_FAULT and sim.metrics()["lost_pages"] == 0


# -- what single writes cost


# -- disturbance


@pytest.mark.parametrize("tolerance", [0, 1, 2, None])
@pytest.mark.parametrize("kind", KINDS)
def test_care__nothing_is_spoiled(kind: str, tolerance: int | None) -> None:
    sim = filled(kind, policy="in_place", disturb_tolerance=tolerance)
    metrics = sim.run(mixed(2000, 192, most=3))
    assert metrics["m_merges"] > 0 and metrics["spoiled_pages"] == 0
    assert (metrics["restored_leaves"] > 0) == (tolerance is not None)
    assert sound(sim)


# -- what they take in time


def test_write__that_needs_a_merge__waits_for_it() -> None:
    sim = filled(timing="event", queue_depth=1)
    sim.run(writes([0] * 8))
    sim.reset_metrics()
    merge_ns = 16 * (READ_NS + SPARE_NS) + 8 * COPY_NS + 2 * ERASE_NS
    assert sim.run(writes([0]))["write_latency_ns"]["max"] == merge_ns + PAGE_NS + PROGRAM_NS
    assert sim.metrics()["mean_gc_latency_ns"] == merge_ns


def test_spread__no_write_waits_for_a_whole_merge() -> None:
    """Writes to all bundles of a plane in turn: with merges spread over them none waits for long."""
    slowest = {}
    for merges in ("at_once", "spread"):
        sim = filled(timing="event", queue_depth=1, gc={"merges": merges, "free_share": 0.2})
        rng = np.random.default_rng(1)
        metrics = sim.run(writes(rng.integers(0, 192, 1000)))
        assert metrics["merges"] > 0 and sound(sim)
        slowest[merges] = metrics["write_latency_ns"]["p95"]
    assert slowest["spread"] < slowest["at_once"]


def test_rates__are_of_simulated_time() -> None:
    sim = filled(timing="event", queue_depth=1)
    metrics = sim.run(writes(range(10)))
    seconds = 10 * (PAGE_NS + PROGRAM_NS) / 1e9
    assert metrics["requests_per_s"] == pytest.approx(10 / seconds)
    assert metrics["host_bytes_per_s"] == pytest.approx(163_840 / seconds)
    assert filled().run(writes([0]))["requests_per_s"] is None


# -- a device that goes on


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("timing", TIMINGS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("striping", ["blocks", "pages"])
def test_full_device__goes_on(kind: str, timing: str, policy: str, striping: str) -> None:
    sim = filled(kind, timing, policy=policy, striping=striping)
    metrics = sim.run(mixed(3000, sim.logical_pages))
    assert metrics["requests"] == 3000 and metrics["write_amplification"] > 1
    assert metrics["gc_invocations"] == metrics["merges"] + metrics["m_merges"] > 50
    assert metrics["gc_invocations"] == metrics["full_jobs"] + metrics["pool_jobs"]
    assert (metrics["m_merges"] > 0) == (metrics["partial_erases"] > 0)
    if policy != "mmerge":
        assert (metrics["m_merges"] > 0) == (policy == "in_place")
    assert sound(sim)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("timing", TIMINGS)
@pytest.mark.parametrize("kind", KINDS)
def test_device_as_full_as_can_be__goes_on(kind: str, timing: str, policy: str) -> None:
    """Of 16 blocks in a plane 14 are logical (12 of superblocks), one is kept free, and one is left."""
    pages, share = (224, 0.08) if kind == "nftl" else (192, 0.24)
    config = load_device(
        {"base": tiny(kind, timing), "capacity.logical_pages": pages, "ftl.gc.free_share": share}
    )
    sim = Simulator(config, policy=policy, recording=Recording(16, 16))
    sim.fill()
    assert sim.run(mixed(3000, sim.logical_pages))["gc_invocations"] > 0 and sound(sim)


@pytest.mark.parametrize(
    ("kind", "ftl"),
    [
        ("nftl", {"gc": {"merges": "spread"}}),
        ("nftl", {"gc": {"merges": "spread", "free_share": 0.2}}),
        ("nftl", {"gc": {"priority": "after_reads"}}),
        ("nftl", {"gc": {"mmerge_limit": 0}}),
        ("nftl", {"u_block_search": "free"}),
        ("superblock", {"physical_blocks": 8}),
        ("superblock", {"logical_blocks": 3}),
        ("superblock", {"logical_blocks": 1, "physical_blocks": 2}),
        ("superblock", {"gc": {"mmerge_limit": 1}}),
    ],
)
@pytest.mark.parametrize("timing", TIMINGS)
def test_other_options__go_on(kind: str, timing: str, ftl: dict[str, Any]) -> None:
    sim = filled(kind, timing, policy="in_place", **ftl)
    metrics = sim.run(mixed(3000, sim.logical_pages, most=4))
    assert metrics["gc_invocations"] > 0 and metrics["spoiled_pages"] == 0 and sound(sim)


@pytest.mark.parametrize("sub_blocks", [1, 2, 8])
@pytest.mark.parametrize("kind", KINDS)
def test_blocks_of_any_number_of_sub_blocks__go_on(kind: str, sub_blocks: int) -> None:
    fields = {
        "geometry.sub_blocks_per_block": sub_blocks,
        "erase_unit": "sub_block_run" if sub_blocks > 1 else "block",
    }
    sim = Simulator(load_device({"base": tiny(kind), **fields}), policy="in_place")
    sim.fill()
    metrics = sim.run(mixed(2000, sim.logical_pages))
    assert metrics["gc_invocations"] > 0 and sound(sim)
    assert (metrics["partial_erases"] > 0) == (sub_blocks > 1)


def test_mmerge__copies_less_than_merges_do() -> None:
    copied = {}
    for policy in ("merge", "mmerge"):
        sim = filled(policy=policy)
        rng = np.random.default_rng(2)
        lpns = 8 * rng.integers(0, 24, 3000) + rng.integers(0, 2, 3000)
        copied[policy] = sim.run(writes(lpns))["relocated_pages"]
    assert copied["mmerge"] < 0.6 * copied["merge"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_pen_vnand__a_drive_of_a_terabyte__is_filled_and_goes_on(kind: str) -> None:
    sim = Simulator(load_device({"base": "pen-vnand", "ftl.kind": kind}), policy="mmerge")
    assert sum(array.nbytes for array in sim.arrays) < 1.5 * 2**30
    sim.fill(0.95)
    metrics = sim.run("hot90", host_pages=50_000, seed=1)
    assert metrics["m_merges"] > 0 and metrics["spoiled_pages"] == 0 and sound(sim)


def test_pass_days__refused() -> None:
    with pytest.raises(SsdgymError, match="data does not age with ftl.mapping block"):
        Simulator(tiny()).pass_days(1)

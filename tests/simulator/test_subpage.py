"""The FTLs of the sub-page family: what single writes cost, and that a full device goes on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ssdgym.config.device import DeviceConfig, load_device
from ssdgym.enums import SubpageKind
from ssdgym.errors import SsdgymError
from ssdgym.requests import FLUSH, READ, REQUEST, SYNC, TRIM, WRITE
from ssdgym.simulator import Recording, Simulator
from ssdgym.simulator.families import FREE, INVALID, VALID, family_of
from ssdgym.simulator.preconditioning import precondition
from tests.engine.audit import NO_FAULT, first_fault
from tests.engine.devices import requests, same_as

KINDS = tuple(SubpageKind)
TIMINGS = ("none", "event")
#: Subpages that subftl-tiny can have at most.
MOST_PAGES = {"cgm": 3708, "fgm": 3648, "sector_log": 2940, "subftl": 2940}
#: Times of subftl-tiny, ns: array to register, page and subpage on the channel, their programs.
READ_NS, PAGE_NS, SUBPAGE_NS, PROGRAM_NS, SUBPROGRAM_NS = 90_000, 40_960, 10_240, 1_600_000, 1_300_000


def tiny(kind: str = "subftl", timing: str = "none", **ftl: Any) -> DeviceConfig:
    """Two planes of 32 blocks of 16 pages of 4 subpages, and a buffer of 4 groups."""
    changes = {"kind": kind, "timing": timing, **ftl}
    return load_device({"base": "subftl-tiny", **{f"ftl.{name}": value for name, value in changes.items()}})


def full(kind: str, timing: str = "none", *, mode: str = "barrier") -> DeviceConfig:
    """The same as full as it may be: 4 subpages more are refused."""
    config = tiny(kind, timing, gc={"free_blocks": 2, "mode": mode})
    return load_device({"base": config, "capacity.logical_pages": MOST_PAGES[kind]})


def filled(kind: str = "subftl", timing: str = "none", share: float = 0.75, **ftl: Any) -> Simulator:
    sim = Simulator(tiny(kind, timing, **ftl), recording=Recording(1 << 12, 16))
    sim.fill(share)
    return sim


def small_writes(count: int, flags: int = 0, first: int = 0) -> np.ndarray:
    """Writes of the first sector of so many groups, one behind the other."""
    return requests(*((WRITE, 4 * (first + k), 1, flags) for k in range(count)))


def mixed(count: int, sectors: int, seed: int = 0, *, most: int = 9) -> np.ndarray:
    """Writes of 1 to `most` sectors, half of them sync, reads, trims and flushes."""
    rng = np.random.default_rng(seed)
    array = np.zeros(count, REQUEST)
    array["op"] = rng.choice([WRITE, WRITE, WRITE, WRITE, WRITE, READ, READ, TRIM, FLUSH], count)
    array["pages"] = np.where(array["op"] == FLUSH, 0, rng.integers(1, most + 1, count))
    array["lpn"] = rng.integers(0, sectors - most, count)
    array["flags"] = np.where(array["op"] == WRITE, rng.choice([0, SYNC], count), 0)
    return array


def sound(sim: Simulator) -> bool:
    return first_fault(sim.arrays, 0) == NO_FAULT and sim.metrics()["lost_pages"] == 0


# -- what single writes cost


def test_rmw_share__is_that_of_the_page_writes_of_cgm__others_have_none() -> None:
    """Two whole pages, of which none is read first, and six parts, which take a page each."""
    rows = [(WRITE, 4 * group, 4, 0) for group in (50, 51)] + [(WRITE, 4 * k, 1, SYNC) for k in range(6)]
    shares = {kind: filled(kind, "none").run(requests(*rows))["rmw_share"] for kind in KINDS}
    assert shares == {**dict.fromkeys(KINDS, 0.0), "cgm": 6 / 8}


def test_page_map__a_page_is_valid_with_a_valid_subpage() -> None:
    sim = filled()
    sim.run(np.concatenate([small_writes(6, SYNC), small_writes(2, SYNC), requests((WRITE, 8, 8, 0))]))
    shown = family_of(sim.device).page_map(sim.arrays, 0, sim.device)
    assert shown.pages.shape == (2, 32, 16)
    in_main_area, in_region = shown.pages[:, :26], shown.pages[:, 26:]
    # The 4 groups that keep parts in the region keep their pages, too.
    assert (in_main_area == VALID).sum() == 528 and (in_main_area == INVALID).sum() == 2
    assert (in_region == VALID).sum() == 4 and (in_region == INVALID).sum() == 4
    assert shown.open.sum(axis=1).tolist() == [2, 2]
    assert {int(plane[-1].max()) for plane in shown.pages} == {FREE}, "the reserves"


# -- what they take in time


def test_rates__are_of_simulated_time() -> None:
    sim = filled("subftl", "event", queue_depth=1)
    metrics = sim.run(small_writes(10, SYNC))
    seconds = 10 * (SUBPAGE_NS + SUBPROGRAM_NS) / 1e9
    assert metrics["requests_per_s"] == pytest.approx(10 / seconds)
    assert metrics["host_bytes_per_s"] == pytest.approx(40960 / seconds)
    assert filled("subftl").run(small_writes(10, SYNC))["requests_per_s"] is None


# -- a device that goes on


@pytest.mark.parametrize("timing", TIMINGS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", ["barrier", "per_write"])
def test_full_device__goes_on(kind: str, timing: str, mode: str) -> None:
    sim = Simulator(full(kind, timing, mode=mode), recording=Recording(1 << 12, 16))
    sim.fill()
    metrics = sim.run(mixed(4000, sim.logical_pages))
    assert metrics["requests"] == 4000 and metrics["write_amplification"] > 1
    assert metrics["gc_invocations"] > 50 and metrics["uncorrectable_reads"] == 0
    assert (metrics["region_collections"] > 0) == (kind in ("sector_log", "subftl"))
    assert sound(sim)


@pytest.mark.parametrize(
    "policy", ["cost_benefit", "fifo", "d_choices(d=3)", "random", "windowed_greedy(window=4)"]
)
@pytest.mark.parametrize("kind", KINDS)
def test_full_device__under_any_victim_rule__goes_on(kind: str, policy: str) -> None:
    sim = Simulator(full(kind), policy=policy)
    sim.fill()
    lpns = np.random.default_rng(1).integers(0, sim.logical_pages, 2000)
    small = requests(*((WRITE, int(lpn), 1, SYNC) for lpn in lpns))
    assert sim.run(small)["gc_invocations"] > 0 and sound(sim)


@pytest.mark.parametrize("ftl", [{"rule": "fewest_valid"}, {"advance": "never"}, {"wear_gap": 1}])
@pytest.mark.parametrize("timing", TIMINGS)
def test_subftl__with_other_region_rules__goes_on(timing: str, ftl: dict[str, Any]) -> None:
    sim = filled("subftl", timing, share=1.0, **ftl)
    metrics = sim.run(mixed(4000, sim.logical_pages, most=2))
    assert metrics["region_collections"] > 0
    assert (metrics["advances"] > 0) == (ftl != {"advance": "never"})
    assert (metrics["region_conversions"] > 0) == ("wear_gap" in ftl)
    assert sound(sim)


def test_wear_gap__lets_blocks_of_region_and_main_area_wear_alike() -> None:
    spread = {}
    for gap in (0, 2):
        sim = filled("subftl", wear_gap=gap)
        rng = np.random.default_rng(3)
        small = requests(*((WRITE, int(lpn), 1, SYNC) for lpn in rng.integers(0, 400, 20_000)))
        spread[gap] = sim.run(small)["wear"]["max_erases"]
    assert spread[2] < spread[0] / 2


@pytest.mark.parametrize("timing", TIMINGS)
@pytest.mark.parametrize("kind", KINDS)
def test_small_writes_to_few_pages__are_amplified_least_with_subftl(kind: str, timing: str) -> None:
    """Sync writes of single sectors to a fifth of the pages that the region has."""
    sim = filled(kind, timing)
    rng = np.random.default_rng(1)
    lpns = 4 * rng.integers(0, 38, 6000)
    waf = sim.run(requests(*((WRITE, int(lpn), 1, SYNC) for lpn in lpns)))["request_waf"]
    # In time a write may be overtaken by one of the same sector, and is not programmed then.
    assert waf < 1.02 if kind == "subftl" else waf > 3.9
    assert sound(sim)


@pytest.mark.parametrize("name", ["subftl-tiny", "subftl-tlc-small"])
@pytest.mark.parametrize("kind", KINDS)
def test_precondition__a_part_of_the_device_filled(name: str, kind: str) -> None:
    sim = Simulator(load_device({"base": name, "ftl.kind": kind}), recording=Recording(16, 16))
    precondition(sim, "fill(share=0.847)", "uniform", 0)
    mapped = (sim.state.logical[0]["ppn"] >= 0).sum() + sim.state.in_flight[0].sum()
    assert mapped == round(0.847 * sim.logical_pages) and sound(sim)


# -- days


def stored(**ftl: Any) -> Simulator:
    """A device with 40 subpages in its regions."""
    sim = filled("subftl", "event", **ftl)
    sim.run(small_writes(40, SYNC))
    sim.reset_metrics()
    return sim


def test_pass_days__one_by_one__is_the_same_as_together() -> None:
    together, one_by_one = stored(), stored()
    together.pass_days(20)
    for _ in range(20):
        one_by_one.pass_days(1)
    assert same_as(together, one_by_one)


def test_pass_days__other_limits_by_the_programs_before() -> None:
    """Subpage 0 of a page is kept for 5 days, and one programmed behind others for one."""
    sim = filled("subftl", evict_after_days=0, retention_days=[5, 1, 1, 1])
    sim.run(small_writes(4, SYNC))
    sim.pass_days(2)
    assert sim.run(requests(*((READ, 4 * k, 1, 0) for k in range(4))))["uncorrectable_reads"] == 0
    # Enough for second passes over the region, over pages whose first subpages are out of date.
    sim.run(np.tile(small_writes(4, SYNC), 200))
    sim.pass_days(2)
    assert sim.run(requests(*((READ, 4 * k, 1, 0) for k in range(4))))["uncorrectable_reads"] == 4


def test_pass_days__while_collection_is_under_way__goes_on_afterwards() -> None:
    sim = filled("subftl", "event", share=1.0, evict_after_days=2)
    given = mixed(2000, sim.logical_pages, most=3)
    for part in np.array_split(given, 100):
        sim.run(part)
        sim.pass_days(1)
        assert sound(sim)
    metrics = sim.metrics()
    assert metrics["retention_evictions"] > 0 < metrics["region_collections"]


def test_pass_days__requests_outstanding__refused() -> None:
    sim = filled("subftl", "event")
    sim.feed(small_writes(1, SYNC))
    sim.advance(last=False)
    with pytest.raises(
        SsdgymError, match="has requests or writes under way; advance to their end before days pass"
    ):
        sim.pass_days(1)
    sim.advance()
    sim.pass_days(1)

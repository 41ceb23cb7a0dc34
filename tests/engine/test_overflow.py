"""Relocated pages of many streams on a device at its floor: they share open blocks, and nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from ssdgym.engine.core.records import ERASE_PAIR, INDEXED, MAX_PAIRS, MAX_STREAMS
from ssdgym.engine.core.status import ERASE_DECISION, INPUT_ENDED, OK
from ssdgym.engine.entries import advance, apply
from ssdgym.policy import device_for, placement_policy
from ssdgym.policy.lookup import rules_for
from ssdgym.simulator import Simulator
from ssdgym.simulator.families.page import thresholds_of
from tests.engine.audit import NO_FAULT, first_fault
from tests.engine.comparing import agrees, explore, with_examples
from tests.engine.devices import device, mixed_requests, random_writes
from tests.engine.test_against_reference import agrees_on_any_legal_sets
from tests.reference.config import RULES
from tests.reference.placements import PLACEMENTS, Placement

STREAMS = range(1, MAX_STREAMS + 1)


def spread(view, plane, lpn, source, parameters):  # type: ignore[no-untyped-def]
    """Put a page into a stream that nothing says anything about."""
    mixed = (lpn * 2654435761 + view.control[0].clock * 40503 + source * 977) % 4294967291
    return (mixed >> 7) % view.params[0].streams


class Spread(Placement):
    """The same for the reference."""

    def stream_of_host_page(self, plane: int, lpn: int) -> int:
        return self.stream_of_relocated_page(lpn, -1)

    def stream_of_relocated_page(self, lpn: int, source: int) -> int:
        mixed = (lpn * 2654435761 + self.clock * 40503 + source * 977) % 4294967291
        return (mixed >> 7) % self.device.config.streams


@pytest.fixture(autouse=True)
def spread_over(own_registrations: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Placements called spread_1 to spread_16, all of whose streams take relocated pages."""
    for streams in STREAMS:
        name = f"spread_{streams}"
        placement_policy(name, source="a test", streams=streams, relocation_streams=streams)(spread)
        monkeypatch.setitem(PLACEMENTS, name, Spread)
        monkeypatch.setitem(RULES, name, (streams, streams))
    yield


@pytest.mark.parametrize("timing", ["none", "event"])
@with_examples()
def test_engine__pages_spread_over_streams__agrees_with_the_reference(timing: str, examples: int) -> None:
    def check(data: st.DataObject) -> None:
        policy = data.draw(st.sampled_from(["greedy", "cost_benefit", "random"]))
        agrees(policy, data, placement=f"spread_{data.draw(st.sampled_from(STREAMS))}", timing=timing)

    explore(examples, check)


@pytest.mark.parametrize("unit", ["block", "sub_block_run", "sub_block_set"])
@with_examples(20, thorough=500)
def test_engine__spread_pages_and_any_legal_sets__agrees_with_the_reference(unit: str, examples: int) -> None:
    """Erase sets of several blocks and planes, chosen outside."""

    def check(data: st.DataObject) -> None:
        placement = f"spread_{data.draw(st.sampled_from(STREAMS))}"
        agrees_on_any_legal_sets(unit, data, placement=placement)

    explore(examples, check)


@pytest.mark.parametrize("preemptible", [False, True])
@with_examples(20, thorough=500)
def test_engine__spread_pages_and_rounds_between_requests__agrees_with_the_reference(
    preemptible: bool, examples: int
) -> None:
    def check(data: st.DataObject) -> None:
        placement = f"spread_{data.draw(st.sampled_from(STREAMS))}"
        idle = data.draw(st.sampled_from(["threshold", "idle_hazard"]))
        agrees("greedy", data, placement=placement, timing="event", preemptible=preemptible, idle=idle)

    explore(examples, check)


def full_device_at_its_floor(rng: np.random.Generator) -> Simulator:
    """A device of 2 to 16 streams that holds as many logical pages as it is allowed to, all written once."""
    streams, timed = int(rng.integers(2, MAX_STREAMS + 1)), bool(rng.integers(2))
    sub_blocks = int(rng.choice([1, 1, 2, 4]))
    geometry = {
        "channels": 1,
        "planes_per_die": int(rng.integers(1, 3)),
        "blocks_per_plane": 3 + streams + int(rng.integers(1, 25)),
        "sub_blocks_per_block": sub_blocks,
        "pages_per_block": sub_blocks * int(rng.integers(2, 6)),
    }
    ftl: dict[str, Any] = {
        "timing": "event" if timed else "none",
        "placement": f"spread_{streams}",
        "allocation": str(rng.choice(["static", "dynamic", "late"])),
        "window_pages": 8,
        "gc": {"free_blocks": 1, "mode": str(rng.choice(["barrier", "per_write"]))},
    }
    if timed and rng.integers(2):
        ftl["gc"] |= {"preemptible": True, "idle": "threshold(blocks=40)"}
    fields = {"erase_unit": "sub_block_set"} if sub_blocks > 1 else {}
    sized = device_for(device(geometry, ftl, logical_pages=1, **fields))
    pages = sized.geometry.planes * thresholds_of(sized)["valid_limit"] - (ftl["allocation"] != "static")
    sim = Simulator(device(geometry, ftl, logical_pages=pages, **fields), policy=None)
    sim.feed(random_writes(20 * pages, pages, seed=int(rng.integers(1 << 30))))
    return sim


def legal_pair(sim: Simulator, rng: np.random.Generator) -> tuple[int, int]:
    """A whole block with an invalid page: mostly one with the most of them."""
    g, plane = sim.device.geometry, int(sim.state.control["decision_plane"][0, 0])
    blocks = np.arange(plane * g.blocks_per_plane, (plane + 1) * g.blocks_per_plane)
    records = sim.state.block[0][blocks]
    invalid = np.where(records["status"] & INDEXED, records["invalid"], -1)
    gainful = blocks[invalid > 0]
    best = int(blocks[invalid.argmax()])
    return int(rng.choice(gainful)) if rng.integers(4) == 0 else best, (1 << g.sub_blocks_per_block) - 1


def play_with_audits(seed: int) -> int:
    """Write a full device twenty times, audited at every decision; return the pages that overflowed."""
    rng = np.random.default_rng(seed)
    sim = full_device_at_its_floor(rng)
    while sim.advance() == ERASE_DECISION:
        assert first_fault(sim.arrays, 0) == NO_FAULT, seed
        sim.apply(*legal_pair(sim, rng))
    metrics = sim.metrics()
    assert first_fault(sim.arrays, 0) == NO_FAULT, seed
    assert (metrics["host_pages_written"], metrics["lost_pages"]) == (20 * sim.logical_pages, 0), seed
    assert metrics["overflow_pages"] == sum(of["overflow_pages"] for of in metrics["streams"].values())
    return metrics["overflow_pages"]


def test_full_devices__written_twenty_times__audited_at_every_decision() -> None:
    overflows = [play_with_audits(seed) for seed in range(8)]
    assert sum(count > 0 for count in overflows) > 4


@pytest.mark.slow
def test_ten_thousand_full_devices__written_twenty_times__audited_at_every_decision() -> None:
    overflows = [play_with_audits(seed) for seed in range(1000, 11_000)]
    assert sum(count > 0 for count in overflows) > 6000


@pytest.mark.parametrize("timing", ["none", "event"])
def test_streams_chosen_outside__at_the_floor__nothing_is_lost(timing: str) -> None:
    ftl = {"timing": timing, "placement": "sep_gc", "min_streams": 4, "gc": {"free_blocks": 2}}
    geometry = {"channels": 1, "blocks_per_plane": 24, "pages_per_block": 8}
    sized = device_for(device(geometry, ftl, logical_pages=1))
    sim = Simulator(device(geometry, ftl, logical_pages=thresholds_of(sized)["valid_limit"]), policy="greedy")
    requests = mixed_requests(4000, sim.logical_pages, gap_ns=900)
    rules, rng = rules_for(sim.device, sim.policy), np.random.default_rng(0)
    none = np.zeros(MAX_PAIRS, ERASE_PAIR)
    sim.feed(requests)
    while advance(sim.arrays, 0, requests, True, rules, 0b110, none) != INPUT_ENDED:
        assert first_fault(sim.arrays, 0) == NO_FAULT
        assert apply(sim.arrays, 0, rules, none, int(rng.integers(4))) == OK
    metrics = sim.metrics()
    assert metrics["lost_pages"] == 0
    assert metrics["overflow_pages"] > 0

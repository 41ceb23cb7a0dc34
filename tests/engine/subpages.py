"""Devices of the sub-page family, engine and naive reference side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.core.records import MAX_STREAMS
from ssdgym.engine.core.status import END_OF_LIFE, FIRST_DECISION, HORIZON, INPUT_ENDED, OK
from ssdgym.engine.decisions import ASK_COLLECTED, ASK_FLUSHES, REGION
from ssdgym.engine.entries import advance, apply
from ssdgym.policy import new_choice
from ssdgym.policy.lookup import rules_for
from ssdgym.requests import FLUSH, READ, SYNC, TRIM, WRITE
from ssdgym.simulator import Simulator
from tests.engine.audit import NO_FAULT, first_fault
from tests.engine.drawing import cells_that_wear_out, one_of
from tests.engine.oracle import (
    POLICIES,
    RECORDING,
    assert_same_in,
    described,
    export_of_collecting,
    export_of_life,
    run_in_pieces,
    walk,
)
from tests.reference.subpage import CGM, FGM, SECTOR_LOG, SUBFTL, SubpageConfig, SubpageReference
from tests.reference.subpage.audit import check

KINDS = (CGM, FGM, SECTOR_LOG, SUBFTL)
Answers = Callable[[int], bool]


def device_config(c: SubpageConfig) -> DeviceConfig:
    """The reference's configuration as one of ours."""
    of_region = {"region_share": c.region_blocks / c.blocks_per_plane} if c.has_region else {}
    of_subftl = {
        "rule": c.rule,
        "collect_blocks": c.collect_blocks,
        "advance": c.advance,
        "wear_gap": c.wear_gap,
        "evict_after_days": c.evict_after_h // 24,
        "retention_days": [hours // 24 for hours in c.retention_h[: c.slots_per_page]],
    }
    return described(
        c,
        {
            "geometry": {
                "pages_per_block": c.flash_pages_per_block,
                "subpages_per_page": c.slots_per_page,
                "page_size_bytes": c.slots_per_page * c.subpage_bytes,
            },
            "timing": {
                "subpage_program_ns": c.subpage_program_ns,
                "transfer_ns_per_byte": c.subpage_transfer_ns / c.subpage_bytes,
            },
            "ftl": {
                "mapping": "subpage",
                "kind": c.kind,
                "buffer_groups": c.buffer_groups,
                "full_retention_days": c.full_retention_h // 24,
                "gc": {
                    "mode": c.gc_mode,
                    "free_blocks": c.threshold_blocks,
                    "priority": c.gc_priority,
                },
                **of_region,
                **(of_subftl if c.kind == SUBFTL else {}),
            },
        },
    )


@st.composite
def configs(draw: st.DrawFn, **fixed: Any) -> SubpageConfig:
    """Tiny devices of every kind, able to run full; `fixed` fields have these values."""

    def one(name: str, values: Any) -> Any:
        return fixed.get(name, draw(one_of(values)))

    kind, n = one("kind", KINDS), draw(one_of([2, 4, 8]))
    region = draw(st.integers(3, 6)) if kind in (SECTOR_LOG, SUBFTL) else 0
    threshold = draw(st.integers(1, 3))
    durations, transfer_ns = one_of([0, 1, 3, 10, 50]), draw(one_of([0, 1, 8]))
    program_ns = draw(durations)
    days = one_of([1, 2, 5, 30])
    advance = one("advance", ["always", "never"])
    cells = draw(cells_that_wear_out()) if fixed.get("wears_out") else {}
    kept = max(threshold, 2 + bool(cells))
    config = SubpageConfig(
        **cells,
        kind=kind,
        channels=draw(st.integers(1, 2)),
        dies_per_chip=draw(st.integers(1, 2)),
        planes_per_die=draw(st.integers(1, 2)),
        slots_per_page=n,
        flash_pages_per_block=draw(st.integers(2, 4)),
        region_blocks=region,
        blocks_per_plane=kept + draw(st.integers(2, 4)) + region,
        threshold_blocks=threshold,
        gc_mode=one("gc_mode", ["barrier", "per_write"]),
        gc_priority=one("gc_priority", ["first", "after_reads"]),
        logical_pages=n,
        buffer_groups=draw(one_of([1, 2, 5])),
        rule=(rule := one("rule", ["fewest_valid", "printed"])),
        collect_blocks=draw(st.none() | st.integers(1, region - 1)) if rule == "printed" and region else None,
        advance=advance,
        wear_gap=draw(one_of([0, 0, 1, 3])),
        evict_after_h=24 * draw(one_of([0, 1, 15])),
        retention_h=tuple(24 * draw(days) for _ in range(n)),
        full_retention_h=24 * draw(days),
        timing=one("timing", ["none", "event"]),
        read_ns=draw(durations),
        program_ns=program_ns,
        subpage_program_ns=draw(durations) or program_ns,
        erase_ns=draw(durations),
        transfer_ns=n * transfer_ns,
        subpage_transfer_ns=transfer_ns,
        subpage_bytes=1,
        closed_loop=draw(st.booleans()),
        queue_depth=draw(st.integers(1, 5)),
        window_pages=draw(one_of([4 * (n + 1), 4 * (n + 1) + 3, 64])),
        seed=draw(st.integers(0, 2**64 - 1)),
    )
    most = config.planes * (config.max_valid_pages - config.units_per_page + 1) - 1
    sectors = most * config.slots_per_unit // n * n
    sectors = draw(one_of([sectors, max(sectors // 2 // n, 1) * n]))
    least = max(sectors // draw(one_of([2, 8])), 1) if cells else 1
    return replace(config, logical_pages=sectors, least_capacity=least)


@st.composite
def request_lists(draw: st.DrawFn, sectors: int, n: int, start_ns: int, length: int) -> list[tuple[int, ...]]:
    """Requests of a kind that Hypothesis picks; a seed draws the rest."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    weights = draw(one_of([(0, 1, 0, 0), (5, 8, 1, 1), (1, 8, 1, 0), (8, 4, 0, 1)]))
    ops = rng.choice([READ, WRITE, TRIM, FLUSH], length, p=np.array(weights) / sum(weights))
    hot = max(1, int(sectors * draw(one_of([0.1, 0.3, 1.0]))))
    largest = draw(one_of([1, n, 2 * n + 1]))
    flags = draw(one_of([(0,), (SYNC,), (0, SYNC), (0, SYNC, 1, SYNC | 3)]))
    arrival = start_ns + np.cumsum(rng.integers(0, draw(one_of([0, 5, 100])) + 1, length))
    requests = []
    for k in range(length):
        pages = min(int(rng.integers(1, largest + 1)), sectors)
        lpn = int(rng.integers(0, hot if rng.random() < 0.7 else sectors))
        lpn = min(lpn, sectors - pages)
        pages, lpn = (0, 0) if ops[k] == FLUSH else (pages, lpn)
        requests.append((int(arrival[k]), lpn, pages, int(ops[k]), int(rng.choice(flags))))
    return requests


class Both:
    """The engine and the reference, which are given the same."""

    def __init__(
        self,
        config: SubpageConfig,
        policy: str,
        to_region: Answers | None = None,
        keeps: Answers | None = None,
    ) -> None:
        self.to_region, self.keeps = to_region, keeps
        self.sim = Simulator(device_config(config), policy=policy, seed=config.seed, recording=RECORDING)
        self.reference = SubpageReference(config, POLICIES[policy], to_region, keeps)

    def run(self, requests: list[Any], chunks: list[int], horizon: int | None) -> None:
        """Run both on the same input, in the same pieces."""
        run_in_pieces(self.sim, self.reference, requests, chunks, horizon, self._go_on)

    def _go_on(self, requests: np.ndarray, last: bool) -> None:
        sim, external = self.sim, 0
        if self.to_region:
            external |= 1 << REGION | ASK_FLUSHES
        if self.keeps:
            external |= 1 << REGION | ASK_COLLECTED
        rules, pairs = rules_for(sim.device, sim.policy), new_choice()
        while (kind := advance(sim.arrays, 0, requests, last, rules, external, pairs)) not in (
            INPUT_ENDED,
            HORIZON,
            END_OF_LIFE,
        ):
            assert kind == FIRST_DECISION + REGION, kind
            assert apply(sim.arrays, 0, rules, new_choice(), self._answer()) == OK

    def _answer(self) -> int:
        subject = int(self.sim.state.control["decision_subject"][0, 0])
        asked = self.to_region if self.sim.state.buffer["collected_plane"][0, 0] < 0 else self.keeps
        assert asked is not None
        return int(asked(subject))

    def pass_days(self, days: int) -> None:
        self.sim.pass_days(days)
        self.reference.pass_days(days)

    def check(self) -> None:
        """All state, every counter and every latency agree, and nothing is lost."""
        counters = dict(self.reference.counters)
        counters["gc_invocations"] = counters.pop("rounds")
        ours, theirs = engine_export(self.sim), self.reference.export()
        assert_same_in(self.sim, self.reference, ours, theirs, counters)
        assert first_fault(self.sim.arrays, 0) == NO_FAULT
        check(self.reference)


def engine_export(sim: Simulator) -> dict[str, Any]:
    """The engine's state in the reference's terms."""
    shared, state, g = export_of_collecting(sim), sim.state, sim.device.geometry
    n, count = g.subpages_per_page, g.blocks_per_plane
    block, region = state.block[0], state.region[0]
    size = int(state.subpage["region_blocks"][0, 0])
    regions = [sorted(state.member[0, p * size : (p + 1) * size].tolist()) for p in range(g.planes)]
    main = [b for b in range(g.planes * count) if b not in regions[b // count]]
    slots, used = shared["logical_ppn"], np.flatnonzero(state.page_use[0])
    mapped = [lpn for lpn, slot in enumerate(slots) if slot >= 0]
    in_region = [lpn for lpn in mapped if slots[lpn] // (n * g.pages_per_block) not in main]
    written, invalid = (state.sub_block[0][name].tolist() for name in ("written", "invalid"))
    indexed = sorted(b for blocks in shared["ages"] for b in blocks)
    return {
        **shared,
        "physical": {lpn: tuple(state.physical[0, slots[lpn]].tolist()) for lpn in mapped},
        "page_use": state.page_use[0].tolist(),
        "page_valid": state.page_valid[0].tolist(),
        "stored_h": {int(page): int(state.stored_h[0, page]) for page in used},
        "updated": [lpn for lpn in in_region if state.updated[0, lpn]],
        "written": {b: written[b] for b in main},
        "valid": {b: written[b] - invalid[b] for b in main},
        "closed_at": {b: int(block[b]["closed_at"]) for b in indexed},
        "invalidated_at": {b: int(block[b]["invalidated_at"]) for b in indexed if invalid[b]},
        "open": state.open_sub_block[0].reshape(g.planes, MAX_STREAMS)[:, 0].tolist(),
        "buffer": _buffer(sim),
        "region_blocks": regions,
        **{f"region_{name}": region[name].tolist() for name in ("open", "reserve", "victim")},
        **{
            f"region_{name}": [[int(state.region_block[0, b][name]) for b in blocks] for blocks in regions]
            for name in ("passes", "valid")
        },
        "calendar_h": int(state.buffer["calendar_h"][0, 0]),
        **export_of_life(sim),
    }


def _buffer(sim: Simulator) -> list[tuple[int, list[int]]]:
    """The groups that wait, oldest first, each with its sectors."""
    entries, n = sim.state.entry[0], sim.device.geometry.subpages_per_page
    return [
        (int(e["group"]), [int(e["group"]) * n + k for k in range(n) if e["dirty"] >> k & 1])
        for e in entries[walk(entries, sim.state.buffer["head"][0, 0], "next")]
    ]

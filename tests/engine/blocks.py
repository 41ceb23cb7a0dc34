"""Devices of the block family, engine and naive reference side by side."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ssdgym.config.device import DeviceConfig
from ssdgym.engine.block.state import UNPLANNED
from ssdgym.engine.core.status import END_OF_LIFE, FIRST_DECISION, HORIZON, INPUT_ENDED
from ssdgym.engine.decisions import MERGE
from ssdgym.simulator import Simulator
from tests.engine.audit import NO_FAULT, first_fault
from tests.engine.drawing import cells_that_wear_out, one_of
from tests.engine.oracle import (
    RECORDING,
    assert_same_in,
    described,
    export_of_all,
    export_of_life,
    run_in_pieces,
    walk,
)
from tests.reference.block import NFTL, SUPERBLOCK, BlockConfig, BlockReference, Case, Figures, merge, mmerge
from tests.reference.block.audit import check
from tests.reference.block.simulator import Rule

KINDS = (NFTL, SUPERBLOCK)
#: Our name of a merge rule, and the reference's function.
RULES = {"merge": merge, "mmerge": mmerge}
#: What stands for a rule where candidates are drawn outside.
OUTSIDE = "outside"
PAGES_PER_BLOCK = 8


def device_config(c: BlockConfig) -> DeviceConfig:
    """The reference's configuration as one of ours; a page has as many bytes as ns on the channel."""
    of_superblock = {"logical_blocks": c.logical_blocks, "physical_blocks": c.physical_blocks}
    of_kind = {"u_block_search": c.u_block_search} if c.kind == NFTL else of_superblock
    return described(
        c,
        {
            "geometry": {
                "sub_blocks_per_block": c.sub_blocks_per_block,
                "pages_per_block": c.pages_per_block,
                "page_size_bytes": max(c.transfer_ns, 1),
                "spare_bytes": c.spare_transfer_ns,
            },
            "erase_unit": "sub_block_run" if c.levels else "block",
            "timing": {
                "partial_erase_ns": dict(c.partial_erase_ns),
                "transfer_ns_per_byte": float(c.transfer_ns > 0),
            },
            "ftl": {
                "mapping": "block",
                "kind": c.kind,
                "striping": c.striping,
                "disturb_tolerance": c.disturb_tolerance,
                "disturb_care": c.disturb_care,
                **of_kind,
                "gc": {
                    "free_share": c.free_share,
                    "mmerge_limit": c.mmerge_limit,
                    "merges": c.merges,
                    "priority": c.gc_priority,
                    "copyback": c.copyback,
                },
            },
        },
    )


@st.composite
def configs(draw: st.DrawFn, **fixed: Any) -> BlockConfig:
    """Tiny devices of two planes, able to run full; `fixed` fields have these values."""

    def one(name: str, values: Any) -> Any:
        return fixed.get(name, draw(one_of(values)))

    kind = one("kind", KINDS)
    m, n = (1, 2) if kind == NFTL else draw(one_of([(2, 3), (2, 4)]))
    channels, dies, planes = draw(one_of([(1, 1, 2), (2, 1, 1), (1, 2, 1)]))
    levels, blocks = draw(st.integers(0, 3)), draw(st.integers(8, 12))
    kept = draw(st.integers(1, 3))
    most = (blocks - kept - 1) // m
    logical_pages = 2 * PAGES_PER_BLOCK * m * draw(one_of([most, most, max(most // 2, 1)]))
    cells = draw(cells_that_wear_out()) if fixed.get("wears_out") else {}
    if cells:
        blocks += 1 + draw(st.integers(0, 3))
        cells["disturbance_wears"] = draw(st.booleans())
        cells["least_capacity"] = max(logical_pages // draw(one_of([2, 8])), 1)
    durations, erases = one_of([0, 1, 3, 10, 50]), one_of([0, 1, 7, 30, 200])
    transfer_ns = draw(one_of([0, 1, 8]))
    by_pages = {PAGES_PER_BLOCK >> level: draw(erases) for level in range(1, 4)}
    return BlockConfig(
        kind=kind,
        logical_blocks=m,
        physical_blocks=n,
        striping=one("striping", ["blocks", "pages"]),
        channels=channels,
        dies_per_chip=dies,
        planes_per_die=planes,
        blocks_per_plane=blocks,
        pages_per_block=PAGES_PER_BLOCK,
        sub_blocks_per_block=2**levels,
        logical_pages=logical_pages,
        free_share=(kept + 0.5) / blocks if kept > 1 else 0.0,
        merges=one("merges", ["at_once", "spread"] if kind == NFTL else ["at_once"]),
        mmerge_limit=draw(one_of([0, 1, 3, 100])),
        disturb_tolerance=draw(one_of([None, 0, 1, 2])),
        disturb_care=draw(st.booleans()),
        u_block_search=one("u_block_search", ["timed", "free"]) if kind == NFTL else "timed",
        partial_erase_ns=draw(st.sampled_from([{}, by_pages])),
        timing=one("timing", ["none", "event"]),
        gc_priority=one("gc_priority", ["first", "after_reads"]),
        copyback=draw(st.booleans()),
        read_ns=draw(durations),
        program_ns=draw(durations),
        erase_ns=draw(erases),
        transfer_ns=transfer_ns,
        spare_transfer_ns=min(transfer_ns, 2),
        closed_loop=draw(st.booleans()),
        queue_depth=draw(st.integers(1, 5)),
        window_pages=draw(one_of([1, 2, 5, 64])),
        seed=draw(st.integers(0, 2**64 - 1)),
        **cells,
    )


class Drawn:
    """Take any candidate allowed, the same ones whenever made with the seed, and note what is asked."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.told: list[tuple[list[Figures | None], Case]] = []

    def __call__(self, plans: list[Figures], case: Case) -> int:
        self.told.append(([plan if plan.allowed else None for plan in plans], case))
        return int(self.rng.choice([k for k, plan in enumerate(plans) if plan.allowed]))


class Both:
    """The engine and the reference, which are given the same."""

    def __init__(self, config: BlockConfig, rule: str | Rule) -> None:
        """`rule` is a name of `RULES`, OUTSIDE, or what both call to choose."""
        policy = rule if isinstance(rule, str) and rule != OUTSIDE else None
        given = RULES[policy] if policy else rule
        self.choose, self.theirs = (Drawn(config.seed) if rule == OUTSIDE else given for _ in range(2))
        self.sim = Simulator(device_config(config), policy=policy, seed=config.seed, recording=RECORDING)
        self.reference = BlockReference(config, self.theirs)

    def run(self, requests: list[Any], chunks: list[int], horizon: int | None) -> None:
        """Run both on the same input, in the same pieces."""
        run_in_pieces(self.sim, self.reference, requests, chunks, horizon, self._go_on)

    def _go_on(self, requests: np.ndarray, last: bool) -> None:
        while (kind := self.sim.advance(last=last)) not in (INPUT_ENDED, HORIZON, END_OF_LIFE):
            assert kind == FIRST_DECISION + MERGE, kind
            self.sim.apply(self.choose(*told(self.sim)))

    def check(self) -> None:
        """All state, every counter and every latency agree, and nothing is lost that was cared for."""
        if isinstance(self.choose, Drawn):
            assert self.choose.told == self.theirs.told
        counters = dict(self.reference.counters)
        counters["lost_pages"] += self.reference.device.lost_now()
        ours, theirs = engine_export(self.sim), self.reference.export()
        assert_same_in(self.sim, self.reference, ours, theirs, counters)
        assert first_fault(self.sim.arrays, 0) == NO_FAULT
        check(self.reference)


def told(sim: Simulator) -> tuple[list[Figures], Case]:
    """What the engine asks, in the reference's terms."""
    case = sim.state.case[0, 0]
    plans = sim.state.figure[0, : case["candidates"]]
    names = [field.name for field in fields(Figures)]  # the reference has no mark of the parts erased
    as_figures = [Figures(**{name: int(plan[name]) for name in names}) for plan in plans]
    as_figures = [replace(plan, allowed=bool(plan.allowed)) for plan in as_figures]
    return as_figures, Case(**{name: int(case[name]) for name in case.dtype.names})


def engine_export(sim: Simulator) -> dict[str, Any]:
    """The engine's state in the reference's terms."""
    state, planes = sim.state, sim.device.geometry.planes
    physical, bundle = state.physical[0], state.bundle[0]
    heads = state.bundle_bucket[0].reshape(planes, -1)["head"]
    return {
        **export_of_all(sim),
        **export_of_life(sim),
        "physical": {
            int(page): tuple(physical[page].tolist()) for page in np.flatnonzero(physical["lpn"] >= 0)
        },
        "disturbed": state.disturbed[0].tolist(),
        "slots": state.member[0].reshape(len(bundle), -1).tolist(),
        "since_merge": bundle["since_merge"].tolist(),
        "invalid": bundle["invalid"].tolist(),
        "waiting": [
            [g for head in heads[p][::-1] for g in walk(bundle, head, "next")] for p in range(planes)
        ],
        "jobs": [_job(job) for job in state.job[0]],
    }


def _job(job: np.ndarray) -> tuple[int, ...]:
    """As the reference has it: no step before it is planned, and nothing owed by what goes on anyway."""
    if job["bundle"] < 0:
        return ()
    is_planned = int(job["phase"] != UNPLANNED)
    known = int(job["bundle"]), int(job["cause"]), int(job["urgent"]), is_planned
    return known if job["urgent"] or not is_planned else (*known, int(job["step"]), int(job["owed"]))

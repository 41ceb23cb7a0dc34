"""Tiny devices, requests and choices drawn at random, for both the engine and the naive reference."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ssdgym.requests import FLUSH, READ, TRIM, WRITE
from tests.engine.oracle import IDLE_RULES, LEVELLINGS, PLACEMENTS, RULE_PARAMETERS, STREAM_PLACEMENTS
from tests.reference import Reference, ReferenceConfig
from tests.reference.config import RULES
from tests.reference.erase_sets import Pair


@functools.lru_cache(maxsize=None, typed=True)
def _one_of(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


def one_of(values: Sequence[Any]) -> st.SearchStrategy[Any]:
    """One of the values; a strategy made anew for every draw would be checked anew, too."""
    return _one_of(*values)


@st.composite
def configs(draw: st.DrawFn, **fixed: Any) -> ReferenceConfig:
    """Tiny devices of every kind, able to run full; ``fixed`` fields have these values.

    Erases disturb where isolation keeps data from them, so that a device that loses pages is at fault.
    """

    def one(name: str, values: Sequence[Any]) -> Any:
        return fixed.get(name, draw(one_of(values)))

    # What is new with several planes in a die appears in a good share of all runs, on few dies then.
    multi_plane = one("multi_plane", ["none", "none", "strict", "relaxed"])
    planes_per_die = draw(one_of([1, 1, 2] if multi_plane == "none" else [2, 2, 3, 4]))
    most_chips = 2 if planes_per_die < 3 else 1
    rows = fixed.get("multi_plane_rows")
    pads, aligns = rows == "pad", rows == "aligned"
    counts = [2, 3, 4] if "erase_unit" in fixed else [1] if pads or aligns else [1, 1, 2, 3, 4]
    sub_blocks = one("sub_blocks_per_block", counts)
    erase_unit = one(
        "erase_unit", ["block", "sub_block_run", "sub_block_set"] if sub_blocks > 1 else ["block"]
    )
    isolation = one("isolation", ["none"] if erase_unit == "block" else ["none", "software", "hardware"])
    per_block = sub_blocks * draw(one_of({1: [4, 6], 2: [2, 3], 3: [1, 2], 4: [1, 2]}[sub_blocks]))
    in_blocks = draw(st.booleans())
    threshold = draw(st.integers(1, 3)) * (1 if in_blocks else per_block)
    only_streams = erase_unit == "block" or any(
        fixed.get(name) is not None for name in ("multi_plane_writes", "ages", "block_allocation")
    )
    in_streams = STREAM_PLACEMENTS[:2] if pads else STREAM_PLACEMENTS
    placement = one("placement", in_streams if only_streams else PLACEMENTS)
    # Rules with streams of their own also run on planes that hold next to nothing beside what is kept free.
    blocks = draw(st.integers(5, 12) if placement in RULES else st.integers(8, 12))
    can_join = multi_plane != "none" and placement in (*STREAM_PLACEMENTS, *RULE_PARAMETERS)
    timing = one("timing", ["none", "event"])
    levels = st.integers(1, 4 * per_block)
    background = draw(levels if fixed.get("gc_grain") == "round" else st.none() | levels)
    background = None if fixed.get("idle") or timing == "none" else background
    writes_join = one("multi_plane_writes", [False, True, True] if can_join else [False])
    allocation = one("allocation", ["dynamic", "late"] if aligns else ["static", "dynamic", "late"])
    can_pad = writes_join and sub_blocks == 1 and placement != "hot_cold"
    can_align = can_pad and placement == "sep_gc" and allocation != "static"
    rows = one("multi_plane_rows", ["any", "any", *["pad"] * can_pad, *["aligned"] * can_align])
    # A round goes on before the host's commands only where a threshold has started it.
    preemptible = one("preemptible", [False, True])
    keeps_rounds = background is not None and not preemptible
    durations = one_of([0, 1, 3, 10, 50])
    cells = draw(cells_that_wear_out()) if fixed.get("wears_out") else {}
    if cells and placement == "hotness_groups":
        fixed["hotness_scatter"] = "page"
    config = ReferenceConfig(
        channels=draw(st.integers(1, 2)),
        chips_per_channel=draw(st.integers(1, most_chips)),
        dies_per_chip=draw(one_of([1, 1, most_chips])),
        planes_per_die=planes_per_die,
        # For its streams, the open block of pages that level wear, and what is kept where cells wear out.
        blocks_per_plane=blocks + RULES.get(placement, (0,))[0] + ("levelling" in fixed) + bool(cells),
        sub_blocks_per_block=sub_blocks,
        pages_per_block=per_block,
        logical_pages=1,
        erase_unit=erase_unit,
        isolation=isolation,
        multi_plane=multi_plane,
        placement=placement,
        parameters={
            name: draw(st.integers(min(1, most - 1), most))  # 0 or 1, or what is not below 1
            for name, most in RULE_PARAMETERS.get(placement, {}).items()
        },
        hashes=draw(one_of([1, 2, 7])),
        counters=draw(st.integers(8, 64)),
        pages_per_counter=one("pages_per_counter", [None, None, 1, 3]),
        decay_period=draw(st.none() | st.integers(1, 100)),
        thresholds=draw(one_of([(1, 2), (2, 5), (1, 2, 4), (2, 3, 9)])),
        hotness_counts=one("hotness_counts", ["writes", "updates"]),
        hotness_scatter=one(
            "hotness_scatter", ["page", "block"] if placement == "hotness_groups" else ["page"]
        ),
        block_allocation=fixed.get("block_allocation"),
        levelling=fixed.get("levelling"),
        levelling_parameters={
            name: draw(st.integers(min(1, most - 1), most))
            for name, most in LEVELLINGS.get(fixed.get("levelling", ""), {}).items()
        },
        allocation=allocation,
        multi_plane_writes=writes_join,
        multi_plane_rows=rows,
        pad_limit=draw(st.integers(1, per_block - 1)) if rows == "pad" else 0,
        multi_plane_reads=one(
            "multi_plane_reads", [False] if multi_plane == "none" else [False, False, True]
        ),
        write_completes=one("write_completes", ["program", "program", "program", "transfer"]),
        gc_mode=one("gc_mode", ["barrier", "per_write"]),
        threshold_pages=None if in_blocks else threshold,
        threshold_blocks=threshold if in_blocks else None,
        background_pages=background,
        idle=one("idle", [None, *IDLE_RULES]) if timing == "event" and background is None else None,
        idle_blocks=draw(st.integers(1, blocks)),
        preemptible=preemptible,
        gc_priority=one("gc_priority", ["first", "after_reads"]),
        gc_start=one("gc_start", ["at_once", "at_once", "at_once", "queue_empty"]),
        gc_grain=one("gc_grain", ["command", "command", "round"] if keeps_rounds else ["command"]),
        copyback=draw(st.booleans()),
        timing=timing,
        read_ns=draw(durations),
        program_ns=draw(durations),
        erase_ns=draw(durations),
        transfer_ns=draw(durations),
        closed_loop=draw(st.booleans()) if timing == "event" else False,
        queue_depth=draw(st.integers(1, 5)),
        window_pages=draw(one_of([1, 2, 5, 64])),
        seed=draw(st.integers(0, 2**64 - 1)),
        **cells,
    )
    most = config.planes * config.max_valid_pages - (config.allocation != "static")
    pages = draw(one_of([most, max(most - 1, 1), max(most // 2, 1)]))
    least = max(pages // draw(one_of([2, 8])), 1) if cells else 1
    return replace(config, logical_pages=pages, least_capacity=least)


@st.composite
def cells_that_wear_out(draw: st.DrawFn) -> dict[str, Any]:
    """How, so soon that small runs come to the end of a device."""
    return {
        "endurance": draw(one_of([2, 5, 15])),
        "endurance_spread": draw(one_of([0.0, 0.2, 0.5])),
        "capacity": draw(one_of(["fixed", "variant", "variant"])),
    }


def random_legal_set(reference: Reference, plane: int, rng: np.random.Generator) -> list[Pair]:
    """A legal pair of the plane, and of some more pairs of its die those that keep the set legal."""
    device, config = reference.device, reference.config
    masks = range(1, 1 << config.sub_blocks_per_block)

    def candidates(of: int) -> list[Pair]:
        pairs = [(block, mask) for block in device.ages[of] for mask in masks]
        return [pairs[k] for k in rng.permutation(len(pairs))]

    chosen = next([pair] for pair in candidates(plane) if device.objection(plane, [pair]) is None)
    more = [pair for of in [plane, *device.siblings(plane)] for pair in candidates(of)[:3]]
    for k in rng.permutation(len(more))[: rng.integers(0, len(more) + 1)]:
        if device.objection(plane, [*chosen, more[k]]) is None:
            chosen.append(more[k])
    return [chosen[k] for k in rng.permutation(len(chosen))]


@st.composite
def request_lists(draw: st.DrawFn, logical_pages: int, length: int) -> list[tuple[int, ...]]:
    """Requests that overwrite a small device several times; Hypothesis picks the kind, a seed the rest."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    weights = draw(one_of([(0, 1, 0, 0), (5, 5, 1, 1), (1, 8, 1, 0), (8, 2, 0, 1)]))
    ops = rng.choice([READ, WRITE, TRIM, FLUSH], length, p=np.array(weights) / sum(weights))
    hot = max(1, int(logical_pages * draw(one_of([0.1, 0.5, 1.0]))))
    largest = draw(one_of([1, 4]))
    gap = draw(one_of([0, 5, 100]))
    flags = draw(st.booleans())
    arrival = np.cumsum(rng.integers(0, gap + 1, length))
    count = np.minimum(rng.integers(1, largest + 1, length), logical_pages)
    lpns = rng.integers(0, np.where(rng.random(length) < 0.7, hot, logical_pages))
    lpns = np.minimum(lpns, logical_pages - count)
    bits = rng.integers(0, 4, length) * flags
    columns = (column.tolist() for column in (arrival, lpns, count, ops, bits))
    return [
        (time, 0, 0, FLUSH, 0) if op == FLUSH else (time, lpn, pages, op, partial, lpn % 11)
        for time, lpn, pages, op, partial in zip(*columns, strict=True)
    ]

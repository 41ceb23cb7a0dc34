"""Golden digests: what the runs below leave in every array of a device, field by field, and in every counter.

The file `golden.json` is written by an explicit command only::

    python -m tests.engine.golden                 # say what differs
    python -m tests.engine.golden --rename a=b    # a field has another name now
    python -m tests.engine.golden --add           # record new fields and forget those that are gone
    python -m tests.engine.golden --overwrite RUN # a repair changes this run
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from ssdgym.config.device import load_device
from ssdgym.simulator import Recording, Simulator
from tests.engine.devices import device, mixed_requests, sync_requests

FILE = Path(__file__).with_name("golden.json")
#: Requests of a run, and host pages written before them.
_REQUESTS = 2500
_RECORDING = Recording(latencies=1 << 10, slowest=8)

_SUB_BLOCKS = {"sub_blocks_per_block": 4, "layers_per_block": 8}
_WIDE = {"planes_per_die": 2}
_HOT = {"hotness": {"counters": 64, "thresholds": [1, 2, 4]}}


def _sub_blocks(erase_unit: str, isolation: str = "software") -> dict[str, Any]:
    return {"geometry": _SUB_BLOCKS, "erase_unit": erase_unit, "isolation": isolation}


#: Each run: its policy, and what it changes of the device and of its FTL.
RUNS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    # Policies, untimed and in time, static allocation.
    **{
        f"{policy}/{timing}": (policy, {}, {"timing": timing})
        for policy in (
            "greedy",
            "fifo",
            "random",
            "d_choices(d=3)",
            "windowed_greedy(window=4)",
            "cost_benefit",
            "cost_benefit(exponent=0.5, since_close=1)",
        )
        for timing in ("none", "event")
    },
    # Placements in streams.
    "sep_gc/none": ("greedy+sep_gc", {}, {"timing": "none"}),
    "sep_gc/event": ("cost_benefit+sep_gc", {}, {"timing": "event"}),
    "hot_cold/none": ("greedy+hot_cold", {}, {"timing": "none", **_HOT}),
    "hot_cold/event": ("fifo+hot_cold", {}, {"timing": "event", **_HOT}),
    # Several streams of relocated pages, so that some of these share open blocks.
    "sepbit/none": (
        "cost_benefit(since_close=1)+sepbit",
        {"geometry": {"blocks_per_plane": 32}},
        {"timing": "none", "gc": {"free_blocks": 3}},
    ),
    "dac/event": ("greedy+dac", {"geometry": {"blocks_per_plane": 32}}, {"timing": "event"}),
    # Sub-blocks, best sets and block groups.
    "gsm/none": ("gsm", _sub_blocks("sub_block_run"), {"timing": "none"}),
    "gsm/event": ("gsm+sep_gc", _sub_blocks("sub_block_run"), {"timing": "event"}),
    "pb/none": ("pb", _sub_blocks("sub_block_set", "none"), {"timing": "none"}),
    "pb/hardware": (
        "pb",
        _sub_blocks("sub_block_set", "hardware") | {"over_provisioning": 2.0},
        {"timing": "event"},
    ),
    "gsm_plus/none": ("gsm_plus", _sub_blocks("sub_block_run"), {"timing": "none", **_HOT}),
    "gsm_plus/event": ("gsm_plus", _sub_blocks("sub_block_run"), {"timing": "event", **_HOT}),
    "speedupgc/none": ("speedupgc", _sub_blocks("sub_block_run"), {"timing": "none", **_HOT}),
    "speedupgc/event": ("speedupgc", _sub_blocks("sub_block_run"), {"timing": "event", **_HOT}),
    "speedupgc_pb/event": (
        "speedupgc_pb",
        _sub_blocks("sub_block_set", "hardware") | {"over_provisioning": 2.0},
        {"timing": "event", **_HOT},
    ),
    # Allocations.
    "dynamic/none": ("greedy", {"geometry": _WIDE}, {"timing": "none", "allocation": "dynamic"}),
    "dynamic/event": ("greedy+sep_gc", {"geometry": _WIDE}, {"timing": "event", "allocation": "dynamic"}),
    "late/none": ("cost_benefit", {"geometry": _WIDE}, {"timing": "none", "allocation": "late"}),
    "late/event": ("greedy", {"geometry": _WIDE}, {"timing": "event", "allocation": "late"}),
    # Commands of several planes, and several blocks in one erase.
    "ippbe/none": ("ippbe(limit=3, tau=0.75)", {}, {"timing": "none"}),
    "ippbe_multiplane/event": (
        "ippbe(tau=0.25)",
        {"geometry": _WIDE, "multi_plane": "relaxed"},
        {"timing": "event"},
    ),
    "ippbe_strict/event": (
        "ippbe(tau=0.25)",
        {"geometry": _WIDE, "multi_plane": "strict"},
        {"timing": "event"},
    ),
    "parallel_gc/none": ("parallel_gc", {"geometry": _WIDE}, {"timing": "none"}),
    "multi_plane_writes/event": (
        "parallel_gc",
        {"geometry": _WIDE, "multi_plane": "strict"},
        {"timing": "event", "multi_plane_writes": True, "allocation": "dynamic"},
    ),
    "multi_plane_writes/late": (
        "greedy+hot_cold",
        {"geometry": _WIDE, "multi_plane": "relaxed"},
        {"timing": "event", "multi_plane_writes": True, "allocation": "late", **_HOT},
    ),
    # Background GC, thresholds, priorities, copyback, a closed loop.
    "background/event": (
        "greedy",
        {},
        {"timing": "event", "gc": {"free_blocks": 2, "background_fraction": 0.2}},
    ),
    "barrier/event": (
        "cost_benefit+sep_gc",
        {},
        {"timing": "event", "gc": {"mode": "barrier", "free_fraction": 0.2}},
    ),
    "copyback/event": (
        "greedy",
        {},
        {"timing": "event", "gc": {"free_blocks": 2, "priority": "after_reads", "copyback": True}},
    ),
    "closed_loop/event": ("greedy", {}, {"timing": "event", "queue_depth": 4, "window_pages": 6}),
    # As SSDsim does it: writes end with their transfer, GC waits for the host, rounds are not interrupted.
    "early_writes/event": ("greedy", {}, {"timing": "event", "write_completes": "transfer"}),
    "deferred_gc/event": (
        "greedy",
        {},
        {"timing": "event", "gc": {"free_blocks": 3, "start": "queue_empty", "priority": "after_reads"}},
    ),
    "whole_rounds/event": (
        "greedy",
        {},
        {"timing": "event", "gc": {"free_blocks": 2, "background_fraction": 0.2, "grain": "round"}},
    ),
    "padded/event": (
        "greedy+sep_gc",
        {"geometry": _WIDE, "multi_plane": "relaxed"},
        {
            "timing": "event",
            "multi_plane_writes": True,
            "multi_plane_reads": True,
            "multi_plane_rows": "pad",
            "pad_limit": 3,
        },
    ),
    "aligned/event": (
        "greedy+sep_gc",
        {"geometry": _WIDE, "multi_plane": "relaxed"},
        {
            "timing": "event",
            "multi_plane_writes": True,
            "multi_plane_rows": "aligned",
            "allocation": "late",
        },
    ),
    # Readings of SpeedupGC.
    "kept_blocks/none": (
        "speedupgc",
        _sub_blocks("sub_block_run"),
        {"timing": "none", "hotness": {**_HOT["hotness"], "scatter": "block", "counts": "updates"}},
    ),
    "kept_blocks_pb/event": (
        "speedupgc_pb",
        _sub_blocks("sub_block_set", "hardware") | {"over_provisioning": 2.0},
        {"timing": "event", "hotness": {**_HOT["hotness"], "scatter": "block", "counts": "updates"}},
    ),
}


#: Runs of the sub-page FTLs: what they change of the device `subftl-tiny`.
SUBPAGE_RUNS: dict[str, dict[str, Any]] = {
    **{
        f"{kind}/{timing}": {"ftl.kind": kind, "ftl.timing": timing}
        for kind in ("cgm", "fgm", "sector_log", "subftl")
        for timing in ("none", "event")
    },
    "printed/event": {"ftl.collect_blocks": 1, "ftl.wear_gap": 1},
    "printed_all/event": {"ftl.wear_gap": 1},
    "fewest_valid/event": {"ftl.rule": "fewest_valid", "ftl.wear_gap": 1},
    "never/none": {"ftl.advance": "never", "ftl.timing": "none"},
}

#: Runs of the block-mapped FTLs: their policy, and what they change of the device `pen-tiny`.
BLOCK_RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    **{
        f"{kind}_{policy}/{timing}": (policy, {"ftl.kind": kind, "ftl.timing": timing})
        for kind in ("nftl", "superblock")
        for policy in ("merge", "mmerge")
        for timing in ("none", "event")
    },
    "nftl_spread/event": ("mmerge_fixed(depth=2)", {"ftl.gc.merges": "spread", "ftl.striping": "pages"}),
    "nftl_careless/none": (
        "cheapest_plan",
        {"ftl.timing": "none", "ftl.disturb_care": False, "ftl.u_block_search": "free"},
    ),
}


def simulate(name: str) -> Simulator:
    """Carry out one of the runs.

    Args:
        name: its key in `RUNS`, `SUBPAGE_RUNS` or `BLOCK_RUNS`.

    Returns:
        The simulator at the end of the run.
    """
    if name in SUBPAGE_RUNS:
        return _simulate_subpage(name)
    if name in BLOCK_RUNS:
        return _simulate_block(name)
    policy, fields, ftl = RUNS[name]
    fields = dict(fields)
    sim = Simulator(
        device(fields.pop("geometry", None), ftl, **fields),
        policy=policy,
        seed=7,
        recording=_RECORDING,
    )
    pages = sim.logical_pages
    sim.run(mixed_requests(_REQUESTS, pages, seed=len(name), gap_ns=900))
    return sim


def _simulate_subpage(name: str) -> Simulator:
    sim = Simulator(load_device({"base": "subftl-tiny", **SUBPAGE_RUNS[name]}), seed=7, recording=_RECORDING)
    sim.fill(0.9)
    sim.run(sync_requests(_REQUESTS, sim.logical_pages, seed=len(name)))
    sim.pass_days(16)
    return sim


def _simulate_block(name: str) -> Simulator:
    policy, fields = BLOCK_RUNS[name]
    sim = Simulator(load_device({"base": "pen-tiny", **fields}), policy=policy, recording=_RECORDING)
    sim.fill(0.9)
    sim.run(mixed_requests(_REQUESTS, sim.logical_pages, seed=len(name), gap_ns=900))
    return sim


def digests_of(sim: Simulator) -> dict[str, str]:
    """Digest every array of a device by field.

    Args:
        sim: the simulator that holds it.

    Returns:
        A short hash by `array.field`, or by `array` where it has no fields; single numbers as they are.
    """
    found: dict[str, str] = {}
    for name, array in sim.state._asdict().items():
        parts = [(name, array[0])]
        if array.dtype.names is not None:
            parts = [(f"{name}.{field}", array[0][field]) for field in array.dtype.names]
        for key, values in parts:
            small = values.size == 1
            found[key] = (
                str(values.reshape(-1)[0].item())
                if small
                else hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()[:8]
            )
    return found


def recorded() -> dict[str, dict[str, str]]:
    """Read the digests on file, by run and field."""
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rename", action="append", default=[], metavar="OLD=NEW")
    parser.add_argument("--add", action="store_true")
    parser.add_argument("--overwrite", action="append", default=[], metavar="RUN")
    options = parser.parse_args()
    known = recorded()
    for pair in options.rename:
        old, new = pair.split("=")
        known = {run: {new if key == old else key: v for key, v in d.items()} for run, d in known.items()}
    for run in (*RUNS, *SUBPAGE_RUNS, *BLOCK_RUNS):
        found, before = digests_of(simulate(run)), known.get(run, {})
        changed = {key for key in before if key in found and before[key] != found[key]}
        if run in options.overwrite or (options.add and not changed):
            known[run] = found
        for kind, keys in (
            ("changed", changed),
            ("new", found.keys() - before.keys()),
            ("gone", before.keys() - found.keys()),
        ):
            if keys:
                print(f"{run}: {kind}: {', '.join(sorted(keys))}")
    if options.rename or options.add or options.overwrite:
        FILE.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    _main()

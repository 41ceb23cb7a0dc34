"""Digests of the first requests of many workloads: the same seed gives the same requests, bit for bit.

`python -m tests.workloads.golden` writes the digests anew; do so only for a change of requests that is meant.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from ssdgym.config.loading import available
from ssdgym.requests import REQUEST
from ssdgym.workloads import open_workload
from ssdgym.workloads.stream import load_workload

DIGESTS = Path(__file__).with_name("golden.json")

LOGICAL_PAGES = 1 << 16
PAGE_SIZE = 8192
SEED = 11
REQUESTS = 10_000

_MIX = {
    "kind": "mixed",
    "components": [
        {"weight": 1, "workload": {"kind": "sequential", "request_pages": 8}},
        {"weight": 3, "workload": {"kind": "hot_cold", "read_fraction": 0.4, "start": 0.5, "footprint": 0.5}},
    ],
}

#: Workloads with every option of the patterns and of their pace, by what they are about.
OWN: dict[str, dict[str, Any]] = {
    "sizes, reads and trims": {
        "kind": "uniform",
        "request_pages": {1: 3, 4: 2, 7: 1},
        "read_fraction": 0.3,
        "trim_fraction": 0.1,
    },
    "part of the space": {"kind": "hot_cold", "start": 0.25, "footprint": 0.5, "request_pages": 3},
    "ranks in order": {"kind": "zipf", "theta": 1.2, "scrambled": False},
    "another layout": {"kind": "zipf", "layout_seed": 5},
    "over the end": {"kind": "sequential", "request_pages": {5: 1, 64: 1}, "footprint": 0.01},
    "moving": {"kind": "drifting", "shift_every_pages": 500, "shift_pages": 70, "request_pages": 2},
    "poisson": {"kind": "uniform", "arrivals": "poisson", "interarrival_ns": 1234.5, "requests": 9_000},
    "bursts": {
        "kind": "uniform",
        "arrivals": "bursts",
        "interarrival_ns": 5000,
        "burst_requests": 6,
        "burst_interarrival_ns": 10.5,
    },
    "mix": _MIX,
    **{kind: {"kind": kind, "read_fraction": 0.2} for kind in ("log", "btree", "lsm", "object_cache")},
    "small writes": {"kind": "small_writes", "r_small": 0.7, "r_synch": 0.5, "aligned_fraction": 0.4},
    "tenants": {
        "kind": "tenants",
        "tenants": [
            {"workload": {**_MIX, "interarrival_ns": 900}},
            {"workload": "synthetic:hm_0", "share": 2},
            {"workload": {"kind": "zipf", "interarrival_ns": 700, "requests": 3_000}},
        ],
    },
}


def digests() -> dict[str, str]:
    """Return a digest of the first requests of every bundled workload, synthetic trace and own mapping."""
    sources: dict[str, Any] = {name: name for name in available("workloads")}
    sources |= {f"synthetic:{name}": f"synthetic:{name}" for name in available("synthetic_traces")}
    return {name: _digest(source) for name, source in (sources | OWN).items()}


def _digest(source: Any) -> str:
    config = load_workload(source)
    stream = open_workload(config, logical_pages=LOGICAL_PAGES, page_size=PAGE_SIZE, seed=SEED)
    digest, left = hashlib.sha256(), REQUESTS
    while left and len(requests := stream.next(min(left, 777))):
        left -= len(requests)
        for field in REQUEST.names or ():
            # Hints came later: they count where there are any.
            if field != "hint" or requests[field].any():
                digest.update(requests[field].tobytes())
    return digest.hexdigest()[:16]


if __name__ == "__main__":
    DIGESTS.write_text(json.dumps(digests(), indent=1) + "\n", encoding="utf-8")

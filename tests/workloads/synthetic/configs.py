"""A small synthetic trace for tests, of no real trace."""

from __future__ import annotations

from typing import Any

from ssdgym.config.loading import load_config
from ssdgym.workloads.synthetic.config import SyntheticTraceConfig

KIB, MIB = 1 << 10, 1 << 20


def small(**changes: Any) -> SyntheticTraceConfig:
    """Return 30,000 reads and 20,000 writes on 256 MiB; all is assumed that `sources` does not name."""
    data = {
        "name": "small",
        "reads": {"requests": 30_000, "bytes": "240MiB", "unique_bytes": "60MiB"},
        "writes": {"requests": 20_000, "bytes": "320MiB", "unique_bytes": "40MiB"},
        "duration_s": 100.0,
        "address_space_bytes": "256MiB",
        "sources": {},
        **changes,
    }
    data.setdefault(
        "assumed",
        {name: "a test" for name in SyntheticTraceConfig.noted_names() if name not in data["sources"]},
    )
    return load_config(SyntheticTraceConfig, data, "synthetic_traces")

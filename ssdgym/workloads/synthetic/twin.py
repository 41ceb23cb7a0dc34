"""Fit a synthetic trace with memory to an available trace, of which it is the *twin*.

The twin has the numbers of requests, bytes and unique bytes of the trace. Its bursts and runs are solved from
the trace's index of dispersion and runs. `footprint_factor` and the replay of its writes are searched on a
grid, so that the correlation of lives (`Lives`) and the skew are as near as possible to those of the trace.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from ssdgym.config.loading import load_config
from ssdgym.errors import SsdgymError
from ssdgym.workloads.synthetic.config import SyntheticTraceConfig
from ssdgym.workloads.synthetic.drawing import bias_of
from ssdgym.workloads.synthetic.fitting import SECTOR_BYTES, UNIT_BYTES
from ssdgym.workloads.traces.record import Volumes, volume_pages
from ssdgym.workloads.traces.statistics import RecordSummary, summarize
from ssdgym.workloads.traces.transforms import OnlyConfig

_EXTENT_BYTES = 256 << 10
_LARGEST_SPACE = 1 << 50
#: The grid: `footprint_factor`, `replay_requests`, and `replay_share` divided by the largest possible share.
_FACTORS = (1.25, 4.0, 16.0)
_LENGTHS = (16, 64)
_SHARES = (0.3, 0.5, 0.7, 0.85, 0.95)
_MOST_PERSISTENT = 0.999
#: Duration of the twin of a trace without times.
_NO_TIME_S = 1e-3
_FITTED = ("life_correlation", "top_1_percent_share", "written_once_share")
_WRITES = OnlyConfig(ops=("write",))
#: Fields whose values are measured on the trace. All fields without an entry in `_REASONS` are searched.
_MEASURED = ("requests", "bytes", "unique_bytes", "duration_s", "dispersion_1s", "op_persistence")
_REASONS = {
    "arrivals": "a cascade where the trace has ten whole seconds, otherwise a Poisson process",
    "address_space_bytes": "as far as the requests of the trace reach, all its volumes together",
    "extent_bytes": "as of other synthetic traces, or as large as the largest request",
    "largest_bytes": "the power of two that 99 % of the requests do not exceed",
    "size_decay": "as of other synthetic traces",
    "reads.replay_share": "nothing is fitted to the reads",
    "reads.replay_requests": "nothing is fitted to the reads",
}
_SEARCHED = "nearest of those tried to the correlation of neighbouring lives and to the skew of the trace"


def figures_of(summary: RecordSummary) -> dict[str, float | None]:
    """Return the statistics by which a trace and its twin are compared."""
    skew, bursts = summary.skew, summary.bursts
    return {
        "bytes_written": summary.bytes_written,
        "unique_bytes_written": summary.unique_bytes_written,
        **{f"dispersion_{width}": value for width, value in bursts.dispersion.items()},
        "hurst": bursts.hurst,
        "mean_run": summary.runs.mean,
        "life_correlation": summary.lives.correlation,
        "top_1_percent_share": skew.share_of_top(0.01),
        "written_once_share": skew.written_once,
    }


def fit_twin(
    trace: RecordSummary,
    volumes: Volumes,
    name: str,
    seed: int = 0,
    announce: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[SyntheticTraceConfig, RecordSummary]:
    """Return the twin of a trace and a summary of the requests of the twin.

    Args:
        trace: summary of the trace.
        volumes: volumes of the trace. The twin has a single volume, as large as all of them together.
        name: name of the twin.
        seed: seed of the requests of the twin that are compared and summarised.
        announce: called with the numbers of candidates tried so far and of all candidates of the grid.

    Raises:
        SsdgymError: the trace has no writes, or no candidate matches its requests, bytes and unique bytes.
    """
    if not trace.writes:
        raise SsdgymError(f"{name}: has no writes, to which a twin could be fitted; give another trace.")
    fields = _fields(trace, volumes, name)
    most = max(1 - trace.unique_bytes_written / max(trace.bytes_written, 1), 0.0)
    shares = [0.0, *(round(share * most, 3) for share in _SHARES)] if most > 0.01 else [0.0]
    tried = [
        (factor, length, share)
        for factor, length, share in product(_FACTORS, _LENGTHS, shares)
        if share or length == _LENGTHS[0]
    ]
    best: tuple[float, SyntheticTraceConfig] | None = None
    for number, (factor, length, share) in enumerate(tried):
        announce(number, len(tried))
        config = _candidate(fields, factor, length, share)
        if (misfit := _misfit(config, trace, seed)) is not None and (best is None or misfit < best[0]):
            best = misfit, config
    announce(len(tried), len(tried))
    if best is None:
        raise SsdgymError(
            f"{name}: no synthetic trace comes to {trace.writes} writes of {trace.bytes_written} bytes and "
            f"{trace.unique_bytes_written} unique bytes; give a longer part of the trace."
        )
    return best[1], summarize(best[1].source(seed))


def _fields(trace: RecordSummary, volumes: Volumes, name: str) -> dict[str, Any]:
    """Return the fields of a twin except those that are searched and the notes."""
    requests = {"reads": max(trace.reads, 1), "writes": trace.writes}
    sizes = {"reads": trace.bytes_read, "writes": trace.bytes_written}
    unique = {"reads": trace.unique_bytes_read, "writes": trace.unique_bytes_written}
    means = [sizes[op] / requests[op] for op in requests]
    tail = [found.percentile(99) or 0 for found in (trace.read_sizes, trace.write_sizes)]
    largest = min(1 << int(np.ceil(np.log2(max(*means, *tail, UNIT_BYTES)))), 1 << 30)
    extent = max(largest, _EXTENT_BYTES)
    space = min(max(-(-volume_pages(volumes, 1) // extent), 1) * extent, _LARGEST_SPACE)
    duration_s = trace.duration_ns / 1e9 or _NO_TIME_S
    dispersion = trace.bursts.dispersion["1s"]
    count = sum(requests.values())
    is_bursty = dispersion is not None and bias_of(dispersion, count, trace.duration_ns) is not None
    return {
        "name": name,
        **{op: _operation(requests[op], sizes[op], unique[op], space) for op in requests},
        "duration_s": duration_s,
        **({"arrivals": "cascade", "dispersion_1s": dispersion} if is_bursty else {}),
        "op_persistence": round(float(np.clip(trace.runs.persistence or 0.0, 0, _MOST_PERSISTENT)), 3),
        "address_space_bytes": space,
        "extent_bytes": extent,
        "largest_bytes": largest,
    }


def _operation(requests: int, size: int, unique: int, space: int) -> dict[str, Any]:
    # Requests of the twin are aligned, so a request touches at most max(size, one page) bytes of pages.
    reach = max(size, requests * UNIT_BYTES)
    return {
        "requests": requests,
        "bytes": max(size, requests * SECTOR_BYTES),
        "unique_bytes": min(max(unique, UNIT_BYTES), space, reach),
    }


def _candidate(fields: dict[str, Any], factor: float, length: int, share: float) -> SyntheticTraceConfig:
    names = SyntheticTraceConfig.noted_names()
    measured = [name for name in names if name.rpartition(".")[2] in _MEASURED]
    copied = {"replay_share": share, "replay_requests": length} if share else {}
    return load_config(
        SyntheticTraceConfig,
        fields
        | {
            "writes": fields["writes"] | copied,
            "footprint_factor": factor,
            "sources": dict.fromkeys(measured, "measured on the trace"),
            "assumed": {name: _REASONS.get(name, _SEARCHED) for name in names if name not in measured},
        },
        "synthetic_traces",
    )


def _misfit(config: SyntheticTraceConfig, trace: RecordSummary, seed: int) -> float | None:
    """Return the sum of differences of fitted statistics; None if `config` cannot be drawn."""
    try:
        made = summarize(config.model_copy(update={"transforms": (_WRITES,)}).records(seed))
    except SsdgymError:
        return None
    wanted, found = figures_of(trace), figures_of(made)
    apart = [abs(value - (found[name] or 0.0)) for name in _FITTED if (value := wanted[name]) is not None]
    return sum(apart) + abs(made.unique_bytes_written / trace.unique_bytes_written - 1)

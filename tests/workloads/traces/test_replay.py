"""A trace played as a workload: on the device's pages, in loops, with a report."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ssdgym.config.workload import TraceConfig
from ssdgym.errors import SsdgymError
from ssdgym.workloads import (
    PARTIAL_TAIL,
    REQUEST,
    WRITE,
    RequestStream,
    footprint_pages,
    open_workload,
    trace_summary,
)

PAGE = 4096


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Three writes, 100 ns units: pages 10..12, half of page 100, page 11."""
    path = tmp_path / "trace.csv"
    path.write_text(
        f"1000,h,0,Write,{10 * PAGE},{3 * PAGE},1\n"
        f"1004,h,0,Write,{100 * PAGE},{PAGE // 2},1\n"
        f"1010,h,0,Write,{11 * PAGE},{PAGE},1\n"
    )
    return path


def opened(path: Path, logical_pages: int = 50, **fields: Any) -> RequestStream:
    config = TraceConfig(path=path, **fields)
    return open_workload(config, logical_pages=logical_pages, page_size=PAGE, seed=0)


def take(stream: RequestStream, portions: int) -> np.ndarray:
    return np.concatenate([np.zeros(0, REQUEST)] + [stream.next(100) for _ in range(portions)])


def test_compact_numbers_the_pages_touched(trace: Path) -> None:
    stream = opened(trace)
    assert take(stream, 2).tolist() == [
        (0, 0, 3, WRITE, 0),
        (400, 3, 1, WRITE, PARTIAL_TAIL),
        (1000, 1, 1, WRITE, 0),
    ]
    assert stream.report == {
        "requests": 3,
        "footprint_pages": 4,
        "trace_pages": 4,
        "skipped_lines": 0,
        "out_of_order": 0,
    }


def test_fold_takes_pages_modulo_the_device_and_splits_at_its_end(trace: Path) -> None:
    stream = opened(trace, logical_pages=11, addresses="fold")
    assert take(stream, 2)[["lpn", "pages"]].tolist() == [(10, 1), (0, 2), (1, 1), (0, 1)]
    assert stream.report["footprint_pages"] == 3
    assert stream.report["trace_pages"] == 4
    assert stream.report["requests"] == 3


def test_a_device_smaller_than_a_compact_trace_is_refused(trace: Path) -> None:
    with pytest.raises(SsdgymError, match="touches 4 pages but the device has 3 logical pages; use a larger"):
        opened(trace, logical_pages=3)


def test_footprint_pages_is_the_device_that_just_fits(trace: Path) -> None:
    pages = footprint_pages(TraceConfig(path=trace), PAGE)
    assert pages == 4
    assert opened(trace, logical_pages=pages).report["footprint_pages"] == 4
    assert footprint_pages(TraceConfig(path=trace), 2 * PAGE) == 3


def test_loops_follow_each_other_at_the_pace_of_the_trace(trace: Path) -> None:
    requests = take(opened(trace, loops=3), 4)
    # Each loop lasts 1,000 ns, and the mean time between arrivals is 500 ns.
    assert requests["arrival_ns"].tolist() == [0, 400, 1000, 1500, 1900, 2500, 3000, 3400, 4000]
    assert requests["lpn"].tolist() == [0, 3, 1] * 3
    assert len(take(opened(trace, loops=None), 1000)) == 3000


def test_a_stream_goes_on_after_being_pickled(trace: Path) -> None:
    stream = opened(trace, loops=4)
    stream.next(2)
    twin = pickle.loads(pickle.dumps(stream))
    np.testing.assert_array_equal(take(twin, 8), take(stream, 8))


def test_playing_a_trace_leaves_the_one_in_memory_alone(trace: Path) -> None:
    first = take(opened(trace), 1)
    opened(trace).next(100)["lpn"] += 7
    np.testing.assert_array_equal(take(opened(trace), 1), first)


def test_summary_counts_requests_bytes_and_pages(trace: Path) -> None:
    summary = trace_summary(TraceConfig(path=trace), PAGE)
    assert (summary.requests, summary.reads, summary.writes) == (3, 0, 3)
    assert summary.written_bytes == 4 * PAGE + PAGE // 2
    assert summary.written_pages == summary.touched_pages == 4
    assert summary.duration_ns == 1000


@pytest.mark.skipif(
    "SSDGYM_TRACES" not in os.environ, reason="SSDGYM_TRACES does not name a folder of traces"
)
@pytest.mark.parametrize(
    ("name", "requests", "write_share", "written_gib", "unique_gib"),
    [
        ("cloudphysics-w92.csv.gz", 113_872, 0.587, 2.243, 0.796),
        ("msr-hm_0-head.csv.gz", 7_016, 0.170, 0.007, 0.004),
        ("msr-wdev_1.csv", 1_055, 1.0, 0.005, 0.001),
    ],
)
def test_real_traces_have_their_known_counts(
    name: str, requests: int, write_share: float, written_gib: float, unique_gib: float
) -> None:
    summary = trace_summary(TraceConfig(path=Path(name)), PAGE)
    assert summary.requests == requests
    assert summary.writes / summary.requests == pytest.approx(write_share, abs=5e-4)
    assert summary.written_bytes / 2**30 == pytest.approx(written_gib, abs=5e-4)
    assert summary.written_pages * PAGE / 2**30 == pytest.approx(unique_gib, abs=5e-4)

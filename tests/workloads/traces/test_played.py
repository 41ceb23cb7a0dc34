"""Traces and synthetic traces opened as workloads: from the file to requests on the device's pages."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ssdgym.errors import SsdgymError
from ssdgym.workloads import WRITE, RequestStream, open_workload
from ssdgym.workloads.stream import load_workload
from ssdgym.workloads.traces.loading import TraceConfig, load_trace

PAGE = 4096


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SSDGYM_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Three writes, 100 ns units: pages 10..12, half of page 100, page 11; and a read of page 11."""
    path = tmp_path / "trace.csv"
    path.write_text(
        f"1000,h,0,Write,{10 * PAGE},{3 * PAGE},1\n"
        f"1004,h,0,Write,{100 * PAGE},{PAGE // 2},1\n"
        f"1010,h,0,Write,{11 * PAGE},{PAGE},1\n"
        f"1020,h,0,Read,{11 * PAGE},{PAGE},1\n"
    )
    return path


def opened(path: Path, logical_pages: int = 50, **fields: Any) -> RequestStream:
    config = TraceConfig(path=path, **fields)
    return open_workload(config, logical_pages=logical_pages, page_size=PAGE, seed=0)


def test_footprint_pages_is_the_device_that_just_fits(trace: Path) -> None:
    pages = TraceConfig(path=trace).touched_pages(PAGE)
    assert pages == 4
    assert opened(trace, logical_pages=pages).report["footprint_pages"] == 4
    assert TraceConfig(path=trace).touched_pages(2 * PAGE) == 3
    with pytest.raises(SsdgymError, match=r"trace.csv: the trace touches 4 pages but the device has 3"):
        opened(trace, logical_pages=3)


def test_transforms_come_before_pages(trace: Path) -> None:
    stream = opened(trace, transforms=[{"kind": "only", "ops": "read"}])
    assert stream.next(9)[["lpn", "pages"]].tolist() == [(0, 1)]
    assert stream.report["requests"] == 1


@pytest.mark.parametrize("addresses", ["compact", "fold"])
def test_a_trace_of_which_transforms_leave_nothing_is_refused(trace: Path, addresses: str) -> None:
    with pytest.raises(SsdgymError, match="has no request that can be played; .* or fewer transforms"):
        opened(trace, transforms=[{"kind": "only", "ops": "trim"}], addresses=addresses)


def test_the_report_counts_skipped_lines(trace: Path) -> None:
    trace.write_text(trace.read_text() + "what is this\n")
    assert opened(trace, skip_bad=1).report["skipped_lines"] == 1


def test_a_stream_goes_on_after_being_pickled(trace: Path) -> None:
    stream = opened(trace, loops=4)
    stream.next(2)
    twin = pickle.loads(pickle.dumps(stream))
    for _ in range(8):
        np.testing.assert_array_equal(twin.next(100), stream.next(100))
    assert twin.report == stream.report


def test_a_trace_that_changes_is_read_again(trace: Path) -> None:
    assert load_trace(TraceConfig(path=trace)) is load_trace(TraceConfig(path=trace))
    before = TraceConfig(path=trace).trace_hashes()
    trace.write_text("".join(trace.read_text().splitlines(keepends=True)[:1]))
    assert len(opened(trace).next(9)) == 1
    assert TraceConfig(path=trace).trace_hashes() != before


def test_a_cache_that_is_emptied_is_filled_again(trace: Path, own_cache: Path) -> None:
    for folder in [load_trace(TraceConfig(path=trace)).folder]:
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()
    assert len(opened(trace).next(9)) == 4


def test_a_request_at_the_end_of_the_address_space_can_be_played(trace: Path) -> None:
    trace.write_text(f"1,h,0,Write,{2**62 - 512},512,1\n")
    for transform in ([], [{"kind": "align"}]):
        assert opened(trace, transforms=transform).next(9)[["lpn", "pages"]].tolist() == [(0, 1)]
        folded = opened(trace, transforms=transform, addresses="fold")
        assert folded.next(9)["lpn"].tolist() == [(2**62 // PAGE - 1) % 50]


def test_what_writes_nothing_is_known(trace: Path) -> None:
    assert not TraceConfig(path=trace).writes_nothing()
    assert TraceConfig(path=trace, transforms=[{"kind": "only", "ops": "read"}]).writes_nothing()


def test_a_synthetic_trace_draws_by_its_seed() -> None:
    config = load_workload("synthetic:src1_2")
    first, again, other = (
        open_workload(config, logical_pages=10_000, page_size=PAGE, seed=seed).next(4096)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert (first["op"] == WRITE).mean() == pytest.approx(0.746, abs=0.03)

"""Tenants keep to their parts of the device, and their requests come in the order of arrival."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ssdgym.errors import SsdgymError
from ssdgym.workloads import FLUSH, RequestStream, open_workload
from ssdgym.workloads.stream import load_workload
from ssdgym.workloads.tenants import TenantsConfig
from tests.workloads.taking import each_clone, take

LOGICAL_PAGES = 1000
SLOW = {"kind": "uniform", "interarrival_ns": 1e6, "arrivals": "poisson"}
FAST = {"kind": "zipf", "interarrival_ns": 100, "arrivals": "poisson"}
LINE = "{time},host,0,{kind},{offset},4096,10\n"


def tenants(*parts: Any) -> Any:
    listed = [part if "workload" in part else {"workload": part} for part in parts]
    return load_workload({"kind": "tenants", "tenants": listed})


def tenant_of(requests: np.ndarray) -> np.ndarray:
    """Which of three tenants each request is from, where the last has half of the space."""
    return np.minimum(requests["lpn"] // (LOGICAL_PAGES // 4), 2)


def opened(workload: Any, seed: int = 1) -> RequestStream:
    return open_workload(workload, logical_pages=LOGICAL_PAGES, page_size=4096, seed=seed)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Five writes, one every 100 ns, and a read."""
    path = tmp_path / "trace.csv"
    rows = [LINE.format(time=10 + i, kind="Write", offset=i * 40960) for i in range(5)]
    path.write_text("".join([*rows, LINE.format(time=15, kind="Read", offset=0)]))
    return path


def test_every_tenant_keeps_to_its_share_of_the_logical_space() -> None:
    even = {"kind": "uniform", "interarrival_ns": 1000}
    requests = take(opened(tenants({"workload": even, "share": 3}, even)), 40_000)
    counts = np.bincount(requests["lpn"], minlength=LOGICAL_PAGES)
    assert counts[:750].sum() == counts[750:].sum() == 20_000
    assert counts.min() > 0


def test_alone_a_tenant_is_what_it_would_be_without_the_others() -> None:
    """Its requests, taken out of the mix, are those of its workload on a device of its own."""
    parts = [{**FAST, "requests": 6000}, {**SLOW, "requests": 300}]
    mixed = take(opened(tenants(*parts)), 10_000)
    alone = take(opened(tenants({**FAST, "requests": 6000}, {**SLOW, "requests": 1})), 10_000)
    first = mixed[(mixed["lpn"] < 500) & (mixed["op"] != FLUSH)]
    np.testing.assert_array_equal(first, alone[(alone["lpn"] < 500) & (alone["op"] != FLUSH)])
    assert len(first) == 6000
    assert (mixed["lpn"] >= 500).sum() == 300


def test_requests_come_in_the_order_of_arrival_and_each_tenant_at_its_pace() -> None:
    requests = take(
        opened(tenants(FAST, SLOW, {"workload": {**FAST, "interarrival_ns": 1000}, "share": 2})), 120_000
    )
    assert (np.diff(requests["arrival_ns"]) >= 0).all()
    accesses = requests[requests["op"] != FLUSH]
    tenant = tenant_of(accesses)
    span_ns = requests["arrival_ns"][-1]
    for number, interarrival_ns in enumerate((100, 1e6, 1000)):
        arrived = int((tenant == number).sum())
        assert arrived == pytest.approx(span_ns / interarrival_ns, abs=4 * (span_ns / interarrival_ns) ** 0.5)


def test_of_equal_arrivals_the_first_tenant_s_go_first_also_across_chunks() -> None:
    bursts = {
        "kind": "uniform",
        "requests": 50_000,
        "arrivals": "bursts",
        "interarrival_ns": 1e-3,
        "burst_requests": 20_000,
    }
    requests = take(opened(tenants(bursts, bursts, {"workload": bursts, "share": 2})), 200_000)
    assert len(requests) == 150_000
    same_time = np.diff(requests["arrival_ns"]) == 0
    assert same_time.mean() > 0.99
    assert (np.diff(tenant_of(requests))[same_time] >= 0).all()


def test_a_stream_of_tenants_ends_when_all_have_ended() -> None:
    stream = opened(tenants({**FAST, "requests": 3000}, {**SLOW, "requests": 70}))
    assert len(take(stream, 10_000)) == 3070
    assert len(stream.next(5)) == 0
    assert len(stream.next(5)) == 0


def test_tenants_have_seeds_of_their_own() -> None:
    requests = take(opened(tenants({**SLOW, "requests": 200}, {**SLOW, "requests": 200})), 1000)
    first, second = requests[requests["lpn"] < 500], requests[requests["lpn"] >= 500]
    assert (first["lpn"] != second["lpn"] - 500).any()
    assert (first["arrival_ns"] != second["arrival_ns"]).any()


@each_clone
def test_a_copy_goes_on_like_its_original(clone: Any, trace: Path) -> None:
    stream = opened(
        tenants(FAST, SLOW, {"kind": "trace", "format": "msr", "path": str(trace), "loops": None})
    )
    stream.next(1234)
    twin = clone(stream)
    np.testing.assert_array_equal(take(twin, 9000), take(stream, 9000))


def test_the_portions_do_not_matter() -> None:
    workload = tenants(FAST, SLOW)
    np.testing.assert_array_equal(take(opened(workload), 9000), take(opened(workload), 9000, portion=97))


def test_a_trace_may_be_a_tenant_and_its_facts_are_reported(trace: Path) -> None:
    played = {"kind": "trace", "format": "msr", "path": str(trace)}
    stream = opened(tenants({**SLOW, "footprint": 0.5, "requests": 10}, played))
    requests = take(stream, 100)
    assert requests["lpn"][requests["lpn"] >= 500].tolist() == [500, 501, 502, 503, 504, 500]
    report = stream.report
    assert report["tenants"] == 2
    assert report["footprint_pages"] == 250 + 5
    assert report["skipped_lines"] == 0
    assert "requests" not in report
    assert len(tenants(SLOW, played, played).trace_hashes()) == 2


def test_what_they_write_and_whether_they_end_is_known_beforehand(trace: Path) -> None:
    reads, ends = {**SLOW, "read_fraction": 1.0}, {**SLOW, "requests": 5}
    assert tenants(ends, SLOW).is_endless
    assert not tenants(ends, ends, {"kind": "trace", "format": "msr", "path": str(trace)}).is_endless
    assert tenants(reads, reads).writes_nothing()
    assert not tenants(reads, SLOW).writes_nothing()
    assert tenants(reads, ends).writes_nothing()  # beside what goes on, what ends does not count
    assert not tenants(ends).writes_nothing()
    recorded = {"kind": "trace", "format": "msr", "path": str(trace)}
    assert tenants(reads, recorded).writes_nothing()  # once the trace has ended
    assert not tenants(reads, {**recorded, "loops": None}).writes_nothing()


def test_a_tenant_may_be_called_by_name_and_survives_json() -> None:
    workload = tenants({"workload": "bursty"})
    assert isinstance(workload, TenantsConfig)
    assert workload.tenants[0].workload == load_workload("bursty")
    assert TenantsConfig.model_validate_json(workload.model_dump_json()) == workload


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([], "field tenants "),
        ([{"kind": "uniform"}], r"field tenants\.0 needs workload\.interarrival_ns to be above 0"),
        ([SLOW, {"workload": "zipf99"}], r"field tenants\.1 needs workload\.interarrival_ns to be above 0"),
        ([{"workload": "zipf99", "name": "db"}], r"workload\.interarrival_ns of tenant db to be above 0"),
        ([{"workload": SLOW, "share": 0}], r"field tenants\.0\.share must be greater than 0"),
        ([{"kind": "uniform", "theta": 1}], r"field tenants\.0\.workload\.theta is unknown"),
        ([{"workload": "zipf98"}], "there is no workload named 'zipf98'"),
        ([{"workload": "tenants"}], r"field tenants\.0\.workload\.kind must be one of .* not 'tenants'"),
        (
            [{"kind": "tenants", "tenants": []}],
            r"field tenants\.0\.workload\.kind must be one of .* not 'ten",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_by_field(parts: list[Any], expected: str) -> None:
    with pytest.raises(SsdgymError, match=expected):
        tenants(*parts)


def test_tenants_that_do_not_fit_are_named(trace: Path) -> None:
    with pytest.raises(SsdgymError, match="tenant 1: its share of the 1000 logical pages is less than one"):
        opened(tenants(SLOW, {"workload": SLOW, "share": 1e-6}))
    with pytest.raises(SsdgymError, match=r"tenant log: .* footprint has only 500 of the 500"):
        opened(tenants(SLOW, {"workload": {**SLOW, "request_pages": 600}, "name": "log"}))
    with pytest.raises(SsdgymError, match=r"tenant 1: .* the trace touches 5 pages but the device has 4 log"):
        opened(
            tenants({"workload": SLOW, "share": 249}, {"kind": "trace", "format": "msr", "path": str(trace)})
        )


def test_with_start__goes_to_the_traces_that_leave_theirs_open(trace: Path) -> None:
    recorded = {"kind": "trace", "path": str(trace)}
    mixed = tenants(SLOW, recorded, {**recorded, "start": "first"}).with_start("random")
    assert [getattr(part, "start", None) for part in mixed.parts()[1:]] == ["random", "first"]
    assert mixed.parts()[0] == tenants(SLOW).parts()[0]

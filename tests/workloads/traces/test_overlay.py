"""Volumes laid over each other: equal addresses of different volumes are one place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from ssdgym.workloads import load_workload, open_workload
from ssdgym.workloads.traces.loading import TraceConfig
from ssdgym.workloads.traces.record import Records, Volumes, to_pages, volume_pages, volume_starts
from ssdgym.workloads.traces.statistics import summarize
from tests.workloads.traces.sources import PAGE, record_arrays, volumes_of


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSDGYM_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Writes to pages 2 and 3 of volume a, 3 of b, 0 of a, and 1 of c, whose last page is 1."""
    path = tmp_path / "three.csv"
    rows = [("a", 2, 2), ("b", 3, 1), ("a", 0, 1), ("c", 1, 1)]
    lines = [f"{at},{name},0,Write,{page * PAGE},{n * PAGE},1" for at, (name, page, n) in enumerate(rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def played(path: Path, **fields: Any) -> list[int]:
    """Return the first page of every request."""
    stream = open_workload(TraceConfig(path=path, **fields), logical_pages=16, page_size=PAGE, seed=0)
    return stream.next(99)["lpn"].tolist()


@given(record_arrays())
def test_overlay__every_page_is_where_its_own_volume_has_it(records: Records) -> None:
    ends = volumes_of(records)
    over = Volumes(ends.names, ends.end_bytes, overlay=True)
    starts = volume_starts(over, PAGE)
    assert not starts.any()
    pages = to_pages(records, PAGE, starts)
    assert (pages["lpn"] + pages["pages"]).max(initial=0) <= volume_pages(over, PAGE)
    assert volume_pages(over, PAGE) == -(-max(ends.end_bytes) // PAGE)


def test_trace__by_default__lays_volumes_one_after_the_other(trace: Path) -> None:
    assert played(trace, addresses="fold") == [2, 7, 0, 9]
    assert played(trace, addresses="fold", volumes="end_to_end") == [2, 7, 0, 9]


def test_trace__overlay__lays_them_over_each_other_from_0_on(trace: Path) -> None:
    assert played(trace, addresses="fold", volumes="overlay") == [2, 3, 0, 1]
    assert played(trace, addresses="compact", volumes="overlay") == [2, 3, 0, 1]


def test_trace__both_ways_in_one_process__are_not_taken_for_each_other(trace: Path) -> None:
    pages = [
        TraceConfig(path=trace, volumes=layout).touched_pages(PAGE)
        for layout in ("overlay", "end_to_end", "overlay")
    ]
    assert pages == [4, 5, 4]


def test_trace__overlay__keeps_the_volume_as_the_hint(trace: Path) -> None:
    stream = open_workload(
        TraceConfig(path=trace, volumes="overlay"), logical_pages=16, page_size=PAGE, seed=0
    )
    assert stream.next(99)["hint"].tolist() == [0, 1, 0, 2]


def test_summary__overlay__counts_a_place_once_and_volumes_apart(trace: Path) -> None:
    apart, over = (
        summarize(TraceConfig(path=trace, volumes=layout).records()) for layout in ("end_to_end", "overlay")
    )
    assert (apart.unique_bytes_written, over.unique_bytes_written) == (5 * PAGE, 4 * PAGE)
    assert (apart.exact_unique_bytes_written, over.exact_unique_bytes_written) == (5 * PAGE, 4 * PAGE)
    assert apart.volumes == over.volumes == {"a_0": 2, "b_0": 1, "c_0": 1}


@pytest.mark.parametrize(
    ("transform", "expected"),
    [
        ({"kind": "volumes", "keep": ["b_0", "c_0"]}, [3, 1]),
        ({"kind": "align", "unit_bytes": 2 * PAGE}, [2, 2, 0, 0]),
        ({"kind": "scale_space", "factor": 1}, [2, 3, 0, 1]),
    ],
    ids=["volumes", "align", "scale_space"],
)
def test_transforms__leave_volumes_over_each_other(
    trace: Path, transform: dict[str, Any], expected: list[int]
) -> None:
    assert played(trace, addresses="fold", volumes="overlay", transforms=[transform]) == expected


def test_synthetic_trace__has_one_volume__and_no_such_field() -> None:
    assert "volumes" not in type(load_workload("synthetic:hm_0")).model_fields

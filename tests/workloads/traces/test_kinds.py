"""Each transform against its definition, record by record; and their composition."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssdgym.errors import SsdgymError
from ssdgym.workloads import FLUSH, READ, TRIM, WRITE
from ssdgym.workloads.traces.record import Records
from ssdgym.workloads.traces.transforms import TransformConfig, Transformed, parse_transform
from tests.workloads.taking import each_clone
from tests.workloads.traces.sources import PAGE, ArraySource, drain, make_records, record_arrays


def transformed(records: Records, *texts: str) -> Transformed:
    return Transformed(ArraySource(records), [parse_transform(text) for text in texts])


@given(record_arrays(), st.integers(1, 15))
def test_head_keeps_the_first(records: Records, count: int) -> None:
    assert drain(transformed(records, f"head(requests={count})")) == records.tolist()[:count]


@given(record_arrays())
def test_only_keeps_the_operations_named(records: Records) -> None:
    writes = [row for row in records.tolist() if row[4] == WRITE]
    assert drain(transformed(records, "only(ops=write)")) == writes
    both = [row for row in records.tolist() if row[4] in (READ, FLUSH)]
    assert drain(transformed(records, "only(ops=[flush, read])")) == both


@given(record_arrays())
def test_volumes_keeps_those_named_and_numbers_them_anew(records: Records) -> None:
    source = ArraySource(records)
    names = source.volumes.names
    last = Transformed(source, [parse_transform(f"volumes(keep={names[-1]})")])
    assert last.volumes.names == names[-1:]
    assert last.volumes.end_bytes == source.volumes.end_bytes[-1:]
    kept = [(t, offset, size, 0, op) for t, offset, size, v, op in records.tolist() if v == len(names) - 1]
    assert drain(last) == kept


@given(record_arrays(), st.sampled_from([0.5, 2.0, 1.25]))
def test_scale_time_multiplies_times_and_nothing_else(records: Records, factor: float) -> None:
    expected = [(round(row[0] * factor), *row[1:]) for row in records.tolist()]
    assert drain(transformed(records, f"scale_time(factor={factor})")) == expected


@given(record_arrays(ops=(READ, WRITE, FLUSH)), st.sampled_from([512, 3000, PAGE]))
def test_align_grow_covers_every_byte_with_whole_units(records: Records, unit: int) -> None:
    after = drain(transformed(records, f"align(unit_bytes={unit})"))
    for before, (time, offset, size, volume, op) in zip(records.tolist(), after, strict=True):
        assert (time, volume, op) == (before[0], before[3], before[4])
        if op == FLUSH:
            assert (offset, size) == (before[1], 0)
        else:
            assert offset == before[1] // unit * unit
            assert offset + size == -(-(before[1] + before[2]) // unit) * unit


@given(record_arrays(), st.sampled_from([512, 3000, PAGE]))
def test_align_drop_keeps_the_units_that_are_covered_whole(records: Records, unit: int) -> None:
    expected = []
    for time, offset, size, volume, op in records.tolist():
        first, last = -(-offset // unit) * unit, (offset + size) // unit * unit
        if op == FLUSH:
            expected.append((time, offset, 0, volume, op))
        elif last > first:
            expected.append((time, first, last - first, volume, op))
    assert drain(transformed(records, f"align(unit_bytes={unit}, partial=drop)")) == expected


def test_align_grow_never_trims_more_than_the_host_did() -> None:
    records = make_records([(0, 100, 100, 0, TRIM), (0, 100, 2 * PAGE, 0, TRIM), (0, 0, PAGE, 0, TRIM)])
    assert drain(transformed(records, "align")) == [(0, PAGE, PAGE, 0, TRIM), (0, 0, PAGE, 0, TRIM)]


@given(record_arrays())
def test_no_aligned_request_reaches_beyond_its_volume(records: Records) -> None:
    source = transformed(records, "align(unit_bytes=3000)")
    for _, offset, size, volume, _ in drain(source):
        assert offset + size <= source.volumes.end_bytes[volume]


def test_transforms_are_carried_out_in_order() -> None:
    records = make_records([(i, i * PAGE, PAGE, 0, READ if i % 2 else WRITE) for i in range(10)])
    first_writes = [row[0] for row in drain(transformed(records, "only(ops=write)", "head(requests=3)"))]
    writes_among_first = [
        row[0] for row in drain(transformed(records, "head(requests=3)", "only(ops=write)"))
    ]
    assert first_writes == [0, 2, 4]
    assert writes_among_first == [0, 2]


@pytest.mark.parametrize("after", ["scale_time(factor=2)", "align", "volumes(keep=v0)", "head(requests=1)"])
def test_a_chunk_of_which_nothing_is_left_is_passed_over(after: str) -> None:
    records = make_records([(i, 0, PAGE, 0, WRITE if i == 8 else READ) for i in range(9)])
    assert len(drain(transformed(records, "only(ops=write)", after))) == 1


@each_clone
def test_a_copy_goes_on_like_its_original(clone: Any) -> None:
    records = make_records([(i, i * PAGE, PAGE, 0, WRITE) for i in range(20)])
    source = transformed(records, "scale_time(factor=2)", "head(requests=11)")
    source.chunk()
    assert drain(clone(source)) == drain(source) == [(2 * i, i * PAGE, PAGE, 0, WRITE) for i in range(3, 11)]


def test_what_does_not_fit_the_trace_is_refused() -> None:
    records = make_records([(10**18, 0, 2**31 - 5, 0, WRITE)])
    with pytest.raises(SsdgymError, match="transform volumes: the trace has no volume 'x'; it has 1: v0."):
        transformed(records, "volumes(keep=x)")
    with pytest.raises(SsdgymError, match="transform scale_time: factor 100 moves a request more than"):
        drain(transformed(records, "scale_time(factor=100)"))
    with pytest.raises(SsdgymError, match="transform align: units of 4096 bytes make a request larger"):
        drain(transformed(records, "align"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("only(ops=write)", {"kind": "only", "ops": ("write",)}),
        ("volumes(keep=[hm_0, 7])", {"kind": "volumes", "keep": ("hm_0", "7")}),
        ("volumes(keep=[007, 7_0, yes, a=b])", {"kind": "volumes", "keep": ("007", "7_0", "yes", "a=b")}),
        ("scale_time(factor=1e-3)", {"kind": "scale_time", "factor": 0.001}),
        (
            " align( unit_bytes = 16384 , partial=drop ) ",
            {"kind": "align", "unit_bytes": 16384, "partial": "drop"},
        ),
        ("align", {"kind": "align", "unit_bytes": 4096, "partial": "grow"}),
    ],
)
def test_transforms_as_text(text: str, expected: dict[str, Any]) -> None:
    config: TransformConfig = parse_transform(text)
    assert config.model_dump() == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "write it as head"),
        ("head(", "write it as head"),
        ("head(requests=0)", "field requests must be greater than 0, not '0'"),
        ("head(requests=1, requests=2)", "the key 'requests' is given twice"),
        ("head(requests)", "field requests must be"),
        ("head({)", "not valid YAML"),
        ("tail(requests=3)", "field kind must be one of 'volumes', 'only', 'head'"),
        ("only(ops=erase)", "field ops.0 must be 'read', 'write', 'trim' or 'flush'"),
        ("only(ops=[])", "field ops"),
        ("align(unit=3)", "field unit is unknown"),
        ("head(kind=only, ops=write)", "leave the field kind out"),
    ],
)
def test_text_that_is_no_transform_is_refused(text: str, message: str) -> None:
    with pytest.raises(SsdgymError) as caught:
        parse_transform(text)
    assert str(caught.value).startswith(f"transform {text!r}: ")
    assert message in str(caught.value)

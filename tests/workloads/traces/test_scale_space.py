"""The transform that shrinks the address space: what it keeps, where that goes, how much is left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssdgym.errors import SsdgymError
from ssdgym.workloads import FLUSH, READ, TRIM, WRITE, load_workload, open_workload
from ssdgym.workloads.synthetic.config import SyntheticTraceConfig
from ssdgym.workloads.traces.record import Records, Volumes
from ssdgym.workloads.traces.statistics import summarize
from ssdgym.workloads.traces.transforms import Transformed, parse_transform
from tests.workloads.synthetic.configs import small
from tests.workloads.taking import each_clone
from tests.workloads.traces.sources import ArraySource, drain, make_records

MIB = 1 << 20
#: Requests begin and end at multiples of this, and a region has four of them.
UNIT = MIB // 4
UNITS = 60
FACTORS = st.integers(1, 7)
SEEDS = st.integers(0, 5)


def rows() -> st.SearchStrategy[list[tuple[int, int, int, int, int]]]:
    """Return lists of requests to up to three volumes of 60 units."""
    row = st.tuples(
        st.integers(0, 1000),
        st.integers(0, UNITS - 1).map(lambda unit: unit * UNIT),
        st.integers(1, 12).map(lambda units: units * UNIT),
        st.integers(0, 2),
        st.sampled_from((READ, WRITE, TRIM)),
    )
    return st.lists(row, min_size=1, max_size=8)


def scaled(records: Records, factor: int, seed: int = 0, volumes: Volumes | None = None) -> Transformed:
    text = f"scale_space(factor={factor}, region_bytes=1MiB, seed={seed})"
    return Transformed(ArraySource(records, volumes), [parse_transform(text)])


def kept_units(volumes: Volumes, factor: int, seed: int) -> list[list[int]]:
    """Return the units of each volume that are kept, found by a request to each of them."""
    kept: list[list[int]] = []
    for number, end in enumerate(volumes.end_bytes):
        units = make_records([(unit, unit * UNIT, UNIT, number, WRITE) for unit in range(-(-end // UNIT))])
        kept.append([time for time, *_ in drain(scaled(units, factor, seed, volumes))])
    return kept


@given(rows(), FACTORS, SEEDS)
def test_every_kept_byte_goes_to_the_place_that_the_gaps_below_it_leave(
    given_rows: list[Any], factor: int, seed: int
) -> None:
    records = make_records(given_rows)
    volumes = ArraySource(records).volumes
    kept = kept_units(volumes, factor, seed)
    expected = []
    for time, offset, size, volume, op in given_rows:
        inside = [u for u in kept[volume] if offset <= u * UNIT < offset + size]
        if inside:
            place = kept[volume].index(inside[0])
            expected.append((time, place * UNIT, len(inside) * UNIT, volume, op))
    assert drain(scaled(records, factor, seed)) == expected


@given(st.lists(st.integers(0, 40 * MIB), min_size=1, max_size=4), FACTORS, SEEDS)
def test_one_region_is_kept_of_every_group_of_all_volumes(ends: list[int], factor: int, seed: int) -> None:
    volumes = Volumes(tuple(f"v{number}" for number in range(len(ends))), tuple(ends))
    kept = kept_units(volumes, factor, seed)
    first, regions = 0, []
    for end, units in zip(ends, kept, strict=True):
        regions += sorted({first + unit * UNIT // MIB for unit in units})
        first += -(-end // MIB)
    whole_groups = first // factor
    assert [region // factor for region in regions][:whole_groups] == list(range(whole_groups))
    assert len(regions) - whole_groups in (0, 1)


@given(st.lists(st.integers(0, 40 * MIB), min_size=1, max_size=4), FACTORS, SEEDS)
def test_volumes_over_each_other_keep_the_same_regions(ends: list[int], factor: int, seed: int) -> None:
    volumes = Volumes(tuple(f"v{number}" for number in range(len(ends))), tuple(ends), overlay=True)
    *others, longest = sorted(kept_units(volumes, factor, seed), key=len)
    assert all(units == longest[: len(units)] for units in others)


@given(rows(), FACTORS, SEEDS)
def test_no_request_reaches_beyond_its_volume__which_ends_with_a_region(
    given_rows: list[Any], factor: int, seed: int
) -> None:
    source = scaled(make_records(given_rows), factor, seed)
    assert all(end % MIB == 0 for end in source.volumes.end_bytes)
    for _, offset, size, volume, _ in drain(source):
        assert offset + size <= source.volumes.end_bytes[volume]


@given(
    st.integers(2, 8), SEEDS, st.integers(0, 99), st.integers(1, 100), st.integers(1, 3), st.integers(0, 9)
)
def test_the_share_of_touched_blocks_and_the_writes_of_each_stay(
    factor: int, seed: int, first: int, blocks: int, writes: int, shift: int
) -> None:
    """Of a range of blocks that are all written, one in `factor` is left, but for the two ends."""
    offsets = [(first + block) * MIB + shift for _ in range(writes) for block in range(blocks)]
    records = make_records([(time, offset, 4096, 0, WRITE) for time, offset in enumerate(offsets)])
    after = drain(scaled(records, factor, seed, Volumes(("v0",), (200 * MIB,))))
    touched, times = np.unique([offset // MIB for _, offset, *_ in after], return_counts=True)
    assert abs(len(touched) - blocks / factor) < 2
    assert set(times.tolist()) <= {writes}
    assert all(offset % MIB == shift for _, offset, *_ in after)
    assert [time for time, *_ in after] == sorted(time for time, *_ in after)


def test_factor_1_changes_nothing() -> None:
    records = make_records([(0, 5, 3 * MIB, 0, WRITE), (1, 0, 0, 0, FLUSH), (2, 7 * MIB, 9, 1, TRIM)])
    assert drain(scaled(records, 1)) == records.tolist()


def test_of_flushes_the_first_of_every_so_many_is_kept() -> None:
    records = make_records([(time, 0, 0, 0, FLUSH) for time in range(8)])
    assert [time for time, *_ in drain(scaled(records, 3))] == [0, 3, 6]


def test_flushes__in_chunks_that_are_no_multiple_of_the_factor__are_counted_over_all_chunks() -> None:
    """Chunks have three records: a count that began anew in each would keep others."""
    records = make_records([(time, 0, 0, 0, FLUSH) for time in range(8)])
    assert [time for time, *_ in drain(scaled(records, 2))] == [0, 2, 4, 6]
    assert [time for time, *_ in drain(scaled(records, 5))] == [0, 5]


def test_another_seed_keeps_other_regions() -> None:
    volumes = Volumes(("v0",), (400 * MIB,))
    assert kept_units(volumes, 8, 0) == kept_units(volumes, 8, 0) != kept_units(volumes, 8, 1)


@each_clone
def test_a_copy_goes_on_like_its_original(clone: Callable[[Transformed], Transformed]) -> None:
    source = scaled(
        make_records([(time, time * MIB, MIB, 0, (WRITE, FLUSH)[time % 2]) for time in range(40)]), 3
    )
    source.chunk()
    assert drain(clone(source)) == drain(source) != []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("scale_space", "field factor is missing"),
        ("scale_space(factor=0)", "field factor must be greater than or equal to 1"),
        ("scale_space(factor=2.5)", "field factor must be"),
        ("scale_space(factor=2, region_bytes=4KiB)", "field region_bytes must be"),
    ],
)
def test_fields_that_do_not_fit_are_refused(text: str, message: str) -> None:
    with pytest.raises(SsdgymError, match=message):
        parse_transform(text)


# -- of synthetic traces


def shrunk(config: SyntheticTraceConfig, *texts: str) -> SyntheticTraceConfig:
    return config.model_copy(update={"transforms": tuple(parse_transform(text) for text in texts)})


def touched(config: SyntheticTraceConfig, logical_pages: int) -> tuple[float, float]:
    """Return the share of blocks of 64 pages that are written, and the page writes of each of those."""
    stream = open_workload(config, logical_pages=logical_pages, page_size=4096, seed=1)
    requests = stream.take(1 << 20)
    writes = requests[requests["op"] == WRITE]
    pages = np.concatenate([np.arange(r["lpn"], r["lpn"] + r["pages"]) for r in writes])
    blocks, counts = np.unique(pages // 64, return_counts=True)
    return len(blocks) * 64 / logical_pages, float(counts.mean())


@pytest.mark.parametrize(("source", "factor"), [("synthetic:prn_1", 64), ("synthetic:src2_0-memory", 4)])
def test_a_synthetic_trace__all_that_is_published_shrinks_by_the_factor(source: str, factor: int) -> None:
    config = load_workload(source)
    assert isinstance(config, SyntheticTraceConfig)
    part = summarize(shrunk(config, f"scale_space(factor={factor})").records(1))
    for column, value in config.published().items():
        assert getattr(part, column) * factor == pytest.approx(value, rel=0.02), column


def test_a_synthetic_trace__as_large_a_share_of_the_blocks_is_written_as_often() -> None:
    config = small(writes={"requests": 4000, "bytes": "64MiB", "unique_bytes": "20MiB"})
    share, writes = touched(config, 1 << 16)
    assert 0.05 < share < 0.5
    part = touched(shrunk(config, "scale_space(factor=4)"), 1 << 14)
    assert part == (pytest.approx(share, rel=0.1), pytest.approx(writes, rel=0.1))


def test_a_synthetic_trace__takes_as_long_as_before_and_is_as_bursty_as_what_is_left() -> None:
    config = small(arrivals="cascade", dispersion_1s=50.0)
    part = summarize(shrunk(config, "scale_space(factor=10)").records(1))
    assert part.duration_ns == config.duration_s * 1e9
    assert part.bursts.dispersion["1s"] == pytest.approx(1 + 49 / 10, rel=0.5)


def test_a_synthetic_trace__other_transforms_come_after_it() -> None:
    heads = drain(shrunk(small(), "scale_space(factor=8)", "head(requests=10)").records(1))
    assert heads == drain(shrunk(small(), "scale_space(factor=8)").records(1))[:10]
    message = "synthetic:small: scale_space makes a smaller synthetic trace"
    for texts in (("head(requests=10)", "scale_space(factor=8)"), ("scale_space(factor=2)",) * 2):
        with pytest.raises(SsdgymError, match=message):
            shrunk(small(), *texts).records(1)

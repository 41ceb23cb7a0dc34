"""Windows and starts: which part of a trace is played, and from which request on."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from ssdgym.errors import SsdgymError
from ssdgym.requests import Requests
from ssdgym.workloads import READ, WRITE, open_workload
from ssdgym.workloads.traces import record as parts
from ssdgym.workloads.traces.record import RecordIndex, Records
from ssdgym.workloads.traces.recorded import PlayedConfig
from tests.workloads.taking import each_clone
from tests.workloads.traces.sources import PAGE, ArraySource, drain, make_records, record_arrays

#: Where a trace is cut for training, validation and test.
CUTS = st.lists(st.floats(0, 1), min_size=2, max_size=4, unique=True).map(sorted)


class Numbered(PlayedConfig):
    """A trace whose request number n writes page n (if n is odd, reads it), 10 ns after the one before."""

    kind: Literal["numbered"] = "numbered"
    count: int = Field(description="Requests.")

    @property
    def label(self) -> str:
        return f"numbered:{self.count}"

    def source(self, seed: int) -> ArraySource:
        rows = [(10 * n, n * PAGE, PAGE, 0, READ if n % 2 else WRITE) for n in range(self.count)]
        return ArraySource(make_records(rows))

    def depends_on(self, seed: int) -> tuple[tuple[int, ...], int]:
        return (), 0


def played(count: int, requests: int, seed: int = 0, **fields: Any) -> Requests:
    """The first requests that a trace of `count` requests plays."""
    config = Numbered(count=count, **fields)
    stream = open_workload(config, logical_pages=count, page_size=PAGE, seed=seed)
    return np.concatenate([stream.next(1) for _ in range(requests)])


def pages(count: int, requests: int, seed: int = 0, **fields: Any) -> list[int]:
    return played(count, requests, seed, **fields)["lpn"].tolist()


def test_without_window_and_start__from_the_first_request_whatever_the_seed() -> None:
    assert pages(6, 6, seed=3) == pages(6, 6, seed=4, start="first") == [0, 1, 2, 3, 4, 5]


def test_window__is_a_share_of_the_requests__whose_pages_keep_their_numbers() -> None:
    assert pages(10, 9, window=(0.0, 0.7)) == [0, 1, 2, 3, 4, 5, 6]
    assert pages(10, 9, window=(0.7, 1.0)) == [7, 8, 9]
    assert played(10, 9, window=(0.7, 1.0))["arrival_ns"].tolist() == [0, 10, 20]


def test_window__is_of_what_the_transforms_leave() -> None:
    writes = [{"kind": "only", "ops": "write"}]
    assert pages(12, 9, window=(0.5, 1.0), transforms=writes) == [3, 4, 5]
    assert pages(12, 9, window=(0.5, 1.0), transforms=[{"kind": "head", "requests": 4}]) == [2, 3]


def test_start_at_a_number__plays_from_that_request_of_the_window__and_the_whole_window_afterwards() -> None:
    assert pages(10, 7, window=(0.5, 1.0), start=3, loops=2) == [8, 9, 5, 6, 7, 8, 9]
    assert played(4, 6, start=2, loops=None)["arrival_ns"].tolist() == [0, 10, 20, 30, 40, 50]


def test_start_at_random__differs_by_seed_and_is_the_same_for_the_same_seed() -> None:
    firsts = [pages(1000, 1, seed, start="random")[0] for seed in range(50)]
    assert firsts == [pages(1000, 1, seed, start="random")[0] for seed in range(50)]
    assert len(set(firsts)) > 40
    assert min(firsts) < 200 and max(firsts) > 800


@given(st.integers(2, 300), CUTS, st.integers(0, 2**63 - 1), st.sampled_from(["first", "random"]))
def test_windows_that_only_touch__never_play_the_same_request(
    count: int, cuts: list[float], seed: int, start: str
) -> None:
    """Training, validation and test; however often their windows are played, and from wherever."""
    seen: set[int] = set()
    for window in pairwise(cuts):
        first, end = (round(share * count) for share in window)
        if first == end:
            with pytest.raises(SsdgymError, match="holds none of the .* requests; make it wider"):
                pages(count, 1, seed, window=window, start=start, loops=None)
            continue
        own = set(pages(count, 2 * (end - first), seed, window=window, start=start, loops=None))
        assert own == set(range(first, end))
        assert not own & seen
        seen |= own


@given(record_arrays(max_size=40), st.data())
def test_part__is_a_slice_of_the_records(records: Records, data: st.DataObject) -> None:
    index = RecordIndex(ArraySource(records))
    assert index.records == len(records)
    first = data.draw(st.integers(0, len(records)))
    end = data.draw(st.integers(first, len(records)))
    for _ in range(2):  # a part leaves the index as it is
        assert drain(index.part(first, end)) == records.tolist()[first:end]


def test_part__begins_at_a_mark__not_at_the_first_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies before is not read for every episode."""
    monkeypatch.setattr(parts, "_MARK_EVERY", 10)
    records = make_records([(n, n * PAGE, PAGE, 0, WRITE) for n in range(100)])
    index = RecordIndex(ArraySource(records))
    read = []
    original = ArraySource.chunk

    def counted(source: ArraySource) -> Records:
        read.append(1)
        return original(source)

    monkeypatch.setattr(ArraySource, "chunk", counted)
    assert index.part(95, 100).chunk()["time_ns"].tolist() == [95]
    assert len(read) < 10


@each_clone
@pytest.mark.parametrize("position", [0, 2, 7])
def test_a_copy__goes_on_like_its_original(clone: Any, position: int) -> None:
    config = Numbered(count=20, window=(0.5, 1.0), start=7, loops=None)
    stream = open_workload(config, logical_pages=20, page_size=PAGE, seed=0)
    for _ in range(position):
        stream.next(1)
    twin = clone(stream)
    for _ in range(15):
        assert twin.next(1).tolist() == stream.next(1).tolist()


def test_facts__requests_are_of_the_window__the_size_of_a_device_is_of_the_whole() -> None:
    config = Numbered(count=20, window=(0.5, 0.8))
    stream = open_workload(config, logical_pages=20, page_size=PAGE, seed=0)
    assert (stream.report["requests"], stream.report["footprint_pages"]) == (6, 6)
    assert config.touched_pages(PAGE) == 20
    assert not config.writes_nothing()
    assert Numbered(count=20, window=(0.55, 0.6)).writes_nothing()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"window": (0.7, 0.7)}, r"needs window to begin before it ends, not \[0.7, 0.7\]"),
        ({"window": (0.0, 1.5)}, "less than or equal to 1"),
        ({"start": -1}, "must be first, random or the number of a request from 0 up, not -1"),
        ({"start": True}, "must be first, random or the number of a request from 0 up, not True"),
        ({"start": "last"}, "must be first, random or the number of a request from 0 up, not 'last'"),
    ],
)
def test_fields__that_make_no_sense__refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Numbered(count=5, **fields)


def test_start__behind_the_last_request__refused() -> None:
    with pytest.raises(SsdgymError, match="numbered:5: start is request 5, and there are 5; choose one bef"):
        pages(5, 1, start=5)


def test_with_start__fills_in_what_is_left_open() -> None:
    assert Numbered(count=5).with_start("random").start == "random"
    assert Numbered(count=5, start=2).with_start("random").start == 2

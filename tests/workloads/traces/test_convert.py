"""Records written as a file and read again are the same, in every format and packing, or are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from ssdgym.errors import SsdgymError
from ssdgym.workloads import READ, TRIM, WRITE
from ssdgym.workloads.traces.cache import StoredTrace
from ssdgym.workloads.traces.loading import TraceConfig, load_trace
from ssdgym.workloads.traces.record import Records, Volumes
from ssdgym.workloads.traces.registry import formats
from ssdgym.workloads.traces.writing import Conversion, convert, writable_format, writable_names
from tests.workloads.traces.sources import PAGE, ArraySource, make_records

SECOND = 10**9
ONE_VOLUME = ("cloudphysics",)
NAMES = ("hm_0", "hm_1")
#: Times that every clock has, on one volume.
PLAIN = make_records(
    [(0, 0, PAGE, 0, WRITE), (SECOND, 7 * 512, 512, 0, READ), (3 * SECOND, 2**40, 3 * PAGE, 0, WRITE)]
)
MAGIC = {".gz": b"\x1f\x8b", ".bz2": b"BZh", ".xz": b"\xfd7zXZ\x00", ".zst": b"\x28\xb5\x2f\xfd"}

WRITABLE = writable_names()
each_format = pytest.mark.parametrize("name", WRITABLE)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSDGYM_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))


def write(records: Records, out: Path, name: str, *, round_times: bool = False) -> Conversion:
    ends = [int((records["offset_bytes"] + records["size_bytes"]).max())] * len(NAMES)
    volumes = Volumes(NAMES[: int(records["volume"].max()) + 1], tuple(ends))
    source = ArraySource(records, volumes)
    return convert(source, out, writable_format(name), round_times=round_times)


def read(path: Path, name: str) -> list[tuple[int, ...]]:
    return rows(load_trace(TraceConfig(path=path, format=name)))


def rows(trace: StoredTrace) -> list[tuple[int, ...]]:
    return [*trace.records(0, trace.requests).tolist()]


@each_format
def test_each_format__holds_the_same_requests_afterwards(name: str, tmp_path: Path) -> None:
    done = write(PLAIN, tmp_path / "out", name)
    assert done.requests == 3 and done.rounded == 0
    assert read(tmp_path / "out", name) == PLAIN.tolist()


@each_format
def test_each_format__has_the_clock_that_it_says(name: str, tmp_path: Path) -> None:
    tick = writable_format(name).tick_ns
    records = PLAIN.copy()
    records["time_ns"][2] += tick
    write(records, tmp_path / "ticked", name)
    assert read(tmp_path / "ticked", name) == records.tolist()
    if tick == 1:
        return
    records["time_ns"][2] -= 1
    with pytest.raises(SsdgymError):
        write(records, tmp_path / "between", name)
    assert not (tmp_path / "between").exists()
    assert write(records, tmp_path / "between", name, round_times=True).rounded == 1
    assert read(tmp_path / "between", name) == PLAIN.tolist()


@pytest.mark.parametrize("name", sorted(set(WRITABLE) - set(ONE_VOLUME)))
def test_volumes__stay_apart_and_what_becomes_of_their_names_is_told(name: str, tmp_path: Path) -> None:
    records = PLAIN.copy()
    records["volume"] = [1, 0, 1]
    done = write(records, tmp_path / "out", name)
    trace = load_trace(TraceConfig(path=tmp_path / "out", format=name))
    first, second = trace.volumes.names
    assert rows(trace) == [
        (*row[:3], volume, row[4]) for row, volume in zip(PLAIN.tolist(), (0, 1, 0), strict=True)
    ]
    assert done.renamed == {old: new for old, new in (("hm_1", first), ("hm_0", second)) if old != new}


def test_msr__keeps_the_names_of_volumes(tmp_path: Path) -> None:
    assert write(PLAIN, tmp_path / "out", "msr").renamed == {}


@pytest.mark.parametrize("name", ONE_VOLUME)
def test_a_second_volume__is_refused_where_the_format_has_one(name: str, tmp_path: Path) -> None:
    records = PLAIN.copy()
    records["volume"][2] = 1
    with pytest.raises(SsdgymError, match="volume"):
        write(records, tmp_path / "out", name)


@pytest.mark.parametrize("suffix", [*MAGIC])
def test_the_suffix__packs_and_the_same_records_make_the_same_bytes(suffix: str, tmp_path: Path) -> None:
    first, second = tmp_path / f"first{suffix}", tmp_path / f"second{suffix}"
    write(PLAIN, first, "msr")
    write(PLAIN, second, "msr")
    assert first.read_bytes() == second.read_bytes()
    assert first.read_bytes().startswith(MAGIC[suffix])
    assert read(first, "msr") == PLAIN.tolist()


def test_a_refusal__leaves_what_was_there(tmp_path: Path) -> None:
    out = tmp_path / "out.csv.gz"
    out.write_text("kept")
    records = PLAIN.copy()
    records["op"][2] = TRIM
    with pytest.raises(SsdgymError, match="3"):
        write(records, out, "msr")
    assert out.read_text() == "kept"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv.gz"]


def test_an_empty_source__is_refused(tmp_path: Path) -> None:
    with pytest.raises(SsdgymError, match="there is no request to write"):
        convert(ArraySource(PLAIN[:0]), tmp_path / "out", writable_format("msr"))


def test_rounding__counts_from_the_first_request(tmp_path: Path) -> None:
    records = PLAIN.copy()
    records["time_ns"] += 50
    assert write(records, tmp_path / "out", "msr", round_times=True).rounded == 0
    assert read(tmp_path / "out", "msr") == PLAIN.tolist()


@pytest.mark.parametrize(
    ("name", "said"), [("blkparse", "can be read but not written"), ("paper", "is no trace format")]
)
def test_a_format_that_cannot_be_written__is_refused_with_those_that_can(name: str, said: str) -> None:
    with pytest.raises(SsdgymError, match=f"'{name}' {said}; write one of alibaba, .*tencent"):
        writable_format(name)


def test_all_formats_but_four_can_be_written() -> None:
    assert set(formats()) - set(WRITABLE) == {"blkparse", "fio_v2", "msr_no_size", "vscsi"}


@pytest.mark.parametrize(("name", "column"), [("spc", 4), ("systor17", 0), ("cloudphysics", 1)])
def test_decimal_times__have_no_exponent(name: str, column: int, tmp_path: Path) -> None:
    records = make_records(
        [(time, 0, PAGE, 0, WRITE) for time in (0, 1, 999, 12 * SECOND + 5, -(SECOND + 1))]
    )
    write(records, tmp_path / "out", name)
    lines = (tmp_path / "out").read_text().splitlines()[-5:]
    times = [line.split(",")[column] for line in lines]
    assert times == ["0.000000000", "0.000000001", "0.000000999", "12.000000005", "-1.000000001"]
    assert read(tmp_path / "out", name) == records.tolist()

"""Whatever a trace file holds: its records as a slow reader finds them, or one sentence about it."""

from __future__ import annotations

import re
import resource
import signal
import struct
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ssdgym.errors import SsdgymError
from ssdgym.workloads.traces.reading.fields import BadLines, VolumeNumbers
from ssdgym.workloads.traces.registry import TraceFormat, format_of, recognise
from tests.reference.traces import FLUSH, READ, TRIM, WRITE, Record, Refused, read
from tests.workloads.traces.fuzzing import (
    FORMATS,
    MAGICS,
    PACKERS,
    damaged_files,
    members,
    on_files,
    valid_file,
)

LONGEST_EXAMPLE_S = 20
ANY_NUMBER = 10**9
#: A file cut within these is not known to be packed.
LONGEST_MAGIC_BYTES = 6
MIB = 2**20


each_format = pytest.mark.parametrize("name", FORMATS)


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Give up on what hangs."""

    def give_up(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"not done after {seconds} s")

    previous = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


def records_of(path: Path, reader: TraceFormat, skip_bad: int = 0) -> tuple[list[Record], int]:
    """Read a file; return its records, and how many bad lines were left out."""
    bad, volumes = BadLines(path, skip_bad), VolumeNumbers(path)
    blocks = list(reader.read(path, bad, volumes))
    fields = ("time_ns", "offset_bytes", "size_bytes", "op", "volume")
    rows = [row for block in blocks for row in block[list(fields)].tolist()]
    return [(*row[:4], volumes.names[row[4]]) for row in rows], bad.count


def failure_of(path: Path, reader: TraceFormat, skip_bad: int = 0) -> str:
    """Read a file in vain; return the one sentence about it, without the path that it starts with."""
    with pytest.raises(SsdgymError) as caught:
        records_of(path, reader, skip_bad)
    return without_path(caught.value, path)


def without_path(error: SsdgymError, path: Path) -> str:
    text = str(error)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text
    assert text.isprintable()
    return text.removeprefix(f"{path}: ")


def names_line(text: str, line: int) -> bool:
    return re.match(rf"(line|record) {line}\b", text) is not None


def hold_against_the_slow_reader(path: Path, data: bytes, name: str) -> None:
    """Assert that a file is read as `tests.reference.traces` reads it, or refused for what that finds."""
    reader = format_of(path, name)
    if data.startswith(MAGICS):
        assert failure_of(path, reader)
        return
    try:
        good, bad = read(data, name)
    except Refused as refused:
        assert names_line(failure_of(path, reader), (*refused.bad, refused.line)[0])
        assert names_line(failure_of(path, reader, ANY_NUMBER), refused.line)
        return
    if not good and not bad:
        hold_against_nothing(path, reader)
        return
    if bad:
        assert names_line(failure_of(path, reader), bad[0])
    else:
        assert records_of(path, reader) == (good, 0)
    assert records_of(path, reader, ANY_NUMBER) == (good, len(bad))


def hold_against_nothing(path: Path, reader: TraceFormat) -> None:
    """A file without a request and without a bad line is empty, or refused for that."""
    try:
        assert records_of(path, reader) == ([], 0)
    except SsdgymError as error:
        assert without_path(error, path)


def hold_recognition_against_the_slow_reader(path: Path, data: bytes) -> None:
    """Assert that a file is recognised only as what it can be read as, unless that fails with a sentence."""
    try:
        reader = recognise(path)
    except SsdgymError as error:
        assert without_path(error, path)
        return
    hold_against_the_slow_reader(path, data, reader.name)


def fuzz(name: str, path: Path, examples: int) -> None:
    @on_files(examples)
    @given(damaged_files(name))
    def every_file_is_read_or_refused(data: bytes) -> None:
        path.write_bytes(data)
        with limited(LONGEST_EXAMPLE_S):
            hold_against_the_slow_reader(path, data, name)
            hold_recognition_against_the_slow_reader(path, data)

    every_file_is_read_or_refused()


#: Files with bad lines that can be read by hand: what the slow reader must make of them.
BY_HAND: tuple[tuple[str, bytes, list[Record], list[int]], ...] = (
    (
        "msr",
        b"1,hm,0,READ,512,8,1\r\n\n3,hm,1,Write,0,8,\nx",
        [(0, 512, 8, READ, "hm_0"), (200, 0, 8, WRITE, "hm_1")],
        [4],
    ),
    ("msr_no_size", b"1e2,Read,0\n100,Write,-1\n", [(0, 0, 4096, READ, "0")], [2]),
    (
        "cloudphysics",
        b"version,time,op,size,lbn\n1,1.5,2a,512,3\n1,2,35,0,0\n1,2,0,0,0\n",
        [(0, 1536, 512, WRITE, "0"), (500_000_000, 0, 0, FLUSH, "0")],
        [4],
    ),
    (
        "spc",
        b"0,2,512,w,0.000001,9\n0,2,512,r,1e-9\n",
        [(0, 1024, 512, WRITE, "0"), (-999, 1024, 512, READ, "0")],
        [],
    ),
    (
        "systor17",
        b"Timestamp,Response,IOType,LUN,Offset,Size\n1456095145.133076001,,R,6,0,1\n1456095145.133076,,W,6,0,0\n",
        [(0, 0, 1, READ, "6")],
        [3],
    ),
    (
        "ssdsim",
        b"5 4 1 2 1\n 7\t4 1 2 0\n5 4 1 2 2\n",
        [(0, 512, 1024, READ, "4"), (2, 512, 1024, WRITE, "4")],
        [3],
    ),
    (
        "disksim",
        b"0.5 0 1 2 3\n1 0 1 2 2\n",
        [(0, 512, 1024, READ, "0"), (500_000, 512, 1024, WRITE, "0")],
        [],
    ),
    ("tencent", b"7,1,2,1,1058\n8,1,4294967296,0,1058\n", [(0, 512, 1024, WRITE, "1058")], [2]),
    ("alibaba", b"3,W,0,1,10\n3,R,9223372036854775806,2,10\n", [(0, 0, 1, WRITE, "3")], [2]),
    (
        "fio_v2",
        b"fio version 2 iolog\n/a add\n/a read 0 8\n/a wait 99 0\n/a wait 100 0\n/a sync\n/a read 0\n",
        [(0, 0, 8, READ, "/a"), (100_000, 0, 0, FLUSH, "/a")],
        [7],
    ),
    (
        "fio_v3",
        b"fio version 3 iolog\n5 /a open\n6 /a trim 4 8\n7 /b write 0 8\n7 /b wait 9 0\n",
        [(0, 4, 8, TRIM, "/a"), (1000, 0, 8, WRITE, "/b")],
        [],
    ),
    (
        "blkparse",
        b" 8,1 0 1 1.000000001 9 D WS 2 + 1 [x]\n8,1 0 2 1.1 9 C WS 2 + 1 [0]\n8,1 0 3 1.5 9 D FN [x]\n"
        b"8,1 0 4 1.6 9 D R\nTotal (8,1):\n",
        [(0, 1024, 512, WRITE, "8,1"), (499_999_999, 0, 0, FLUSH, "8,1")],
        [4],
    ),
    (
        "vscsi",
        struct.pack("<IIIHHQQ", 1, 512, 1, 0x2A, 0x0100, 2, 5)
        + struct.pack("<IIIHHQQ", 2, 512, 1, 0x12, 0x0100, 2, 5)
        + b"end",
        [(0, 1024, 512, WRITE, "0")],
        [2, 3],
    ),
)


@pytest.mark.parametrize(("name", "data", "good", "bad"), BY_HAND, ids=[case[0] for case in BY_HAND])
def test_the_slow_reader_by_hand(name: str, data: bytes, good: list[Record], bad: list[int]) -> None:
    assert read(data, name) == (good, bad)


@pytest.mark.parametrize("name", ["ssdsim", "fio_v2", "blkparse"])
def test_a_long_word_of_zeros_is_refused_in_no_time(name: str, tmp_path: Path) -> None:
    lines = valid_file(name, 1, 5).split(b"\n")
    lines[3] = re.sub(rb"[0-9]+", b"0" * 60_000 + b"x", lines[3], count=1)
    path = tmp_path / "trace"
    path.write_bytes(b"\n".join(lines))
    with limited(LONGEST_EXAMPLE_S):
        assert names_line(failure_of(path, format_of(path, name)), 4)


@each_format
def test_a_damaged_file_is_read_as_it_is_or_refused(name: str, tmp_path: Path) -> None:
    fuzz(name, tmp_path / "trace", examples=25)


@each_format
def test_a_damaged_file_in_many_blocks_is_read_as_it_is_or_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ssdgym.workloads.traces.files._BLOCK_BYTES", 200)
    monkeypatch.setattr("ssdgym.workloads.traces.reading.containers._PIECE_BYTES", 64)
    fuzz(name, tmp_path / "trace", examples=12)


@pytest.mark.slow
@each_format
def test_many_damaged_files_are_read_as_they_are_or_refused(name: str, tmp_path: Path) -> None:
    fuzz(name, tmp_path / "trace", examples=2000)


@each_format
@settings(max_examples=20, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32), requests=st.integers(3, 60))
def test_a_whole_file_is_recognised_and_has_no_bad_line(
    name: str, tmp_path: Path, seed: int, requests: int
) -> None:
    data = valid_file(name, seed, requests)
    path = tmp_path / "trace"
    path.write_bytes(data)
    good, bad = read(data, name)
    assert bad == []
    reader = recognise(path)
    assert reader.name == name
    assert records_of(path, reader) == (good, 0)


# Packed files

each_packing = pytest.mark.parametrize("packing", PACKERS)
quickly = settings(
    max_examples=60,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
#: A format, the seed and the requests of a valid file of it, and where it is split into members, in 1/1000.
files = given(
    name=st.sampled_from(FORMATS),
    seed=st.integers(0, 2**32),
    requests=st.integers(3, 40),
    splits=st.lists(st.integers(0, 1000), max_size=3).map(sorted),
    at=st.integers(0, 2**16),
)


def names_a_line(text: str) -> bool:
    return re.match(r"(line|record) \d+\b", text) is not None


def refused(path: Path, name: str) -> bool:
    """Assert that a file cannot be read, with or without bad lines being left out."""
    with limited(20):
        sentences = [failure_of(path, format_of(path, name), skip_bad) for skip_bad in (0, ANY_NUMBER)]
    return all(map(names_a_line, sentences))


@each_packing
@quickly
@files
def test_members_are_read_as_one_file(
    packing: str, tmp_path: Path, name: str, seed: int, requests: int, splits: list[int], at: int
) -> None:
    data = valid_file(name, seed, requests)
    path = tmp_path / "trace"
    path.write_bytes(b"".join(members(data, splits, packing)))
    reader = recognise(path)
    assert reader.name == name
    assert records_of(path, reader) == (read(data, name)[0], 0)


@each_packing
@quickly
@files
def test_a_file_that_is_cut_within_a_member_is_refused(
    packing: str, tmp_path: Path, name: str, seed: int, requests: int, splits: list[int], at: int
) -> None:
    parts = members(valid_file(name, seed, requests), splits, packing)
    packed = b"".join(parts)
    at = LONGEST_MAGIC_BYTES + at % (len(packed) - LONGEST_MAGIC_BYTES)
    assume(all(at != len(b"".join(parts[:count])) for count in range(len(parts))))
    path = tmp_path / "trace"
    path.write_bytes(packed[:at])
    assert refused(path, name)


@each_packing
@quickly
@files
def test_what_follows_the_last_member_is_refused(
    packing: str, tmp_path: Path, name: str, seed: int, requests: int, splits: list[int], at: int
) -> None:
    data = valid_file(name, seed, requests)
    path = tmp_path / "trace"
    more = (b"garbage", b"\x01", data, b"\x1f\x8b", b"\xff" * 5000)[at % 5]
    path.write_bytes(b"".join(members(data, splits, packing)) + more)
    assert refused(path, name)


@each_packing
@quickly
@files
def test_a_flipped_byte_is_refused_or_makes_no_difference(
    packing: str, tmp_path: Path, name: str, seed: int, requests: int, splits: list[int], at: int
) -> None:
    data = valid_file(name, seed, requests)
    packed = bytearray(b"".join(members(data, splits, packing)))
    packed[at % len(packed)] ^= 1 << at % 8
    path = tmp_path / "trace"
    path.write_bytes(packed)
    with limited(20):
        try:
            records = records_of(path, format_of(path, name))
        except SsdgymError as error:
            assert str(error).startswith(f"{path}: ")
            return
    # The zstd frames written here have no checksum: their content may have changed.
    assert packing == "zst" or records == (read(data, name)[0], 0)


def _drain(path: Path, name: str) -> None:
    for _ in format_of(path, name).read(path, BadLines(path, 0), VolumeNumbers(path)):
        pass


def refused_soon_in_little_memory(path: Path, name: str) -> str:
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start_s = time.monotonic()
    with limited(60), pytest.raises(SsdgymError) as caught:
        _drain(path, name)
    assert time.monotonic() - start_s < 30
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib < 200 * 1024
    return str(caught.value)


BLANKS, REQUESTS = b" " * 60_000 + b"\n", b"1,h,0,Write,0,1,1\n"


@pytest.mark.parametrize(
    ("packing", "filling"), [*((packing, BLANKS) for packing in PACKERS), ("xz", REQUESTS)], ids=ascii
)
def test_a_bomb_of_lines_is_refused(packing: str, filling: bytes, tmp_path: Path) -> None:
    member = PACKERS[packing](filling * (8 * MIB // len(filling)))
    assert len(member) * 500 < 8 * MIB
    path = tmp_path / "bomb"
    path.write_bytes(member * 40)
    said = refused_soon_in_little_memory(path, "msr")
    assert said.startswith(f"{path}: line ")
    assert "has unpacked to more than 500 times its size; unpack it yourself if it is a trace" in said


@each_packing
def test_a_bomb_of_nothing_is_refused(packing: str, tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(PACKERS[packing](bytes(8 * MIB)) * 40)
    for name in ("msr", "vscsi"):
        assert refused_soon_in_little_memory(path, name).startswith(f"{path}: ")
    with limited(20), pytest.raises(SsdgymError):
        recognise(path)


def test_a_bomb_in_one_member_is_refused(tmp_path: Path) -> None:
    packer = zlib.compressobj(wbits=31)
    path = tmp_path / "bomb"
    with path.open("wb") as file:
        for _ in range(300):
            file.write(packer.compress((b" " * (MIB // 32 - 1) + b"\n") * 32))
        file.write(packer.flush())
    assert refused_soon_in_little_memory(path, "msr").startswith(f"{path}: ")


@pytest.mark.parametrize("blank", [b" ", b"\t"])
def test_a_long_run_of_blanks_takes_no_longer_than_its_length(blank: bytes, tmp_path: Path) -> None:
    path = tmp_path / "trace"
    line = b"0,W,0,4096,100\n"
    path.write_bytes(
        (line + line[:3] + blank * 60_000 + line[3:] + b"0,W,1" + blank * 60_000 + b"1,1,1\n") * 9
    )
    with limited(LONGEST_EXAMPLE_S):
        records, bad = records_of(path, recognise(path), ANY_NUMBER)
    assert (len(records), bad) == (18, 9)


def test_a_long_word_takes_no_longer_than_its_length(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    line = b"128166372003061629,hm,0,Read,0,4096,1\n"
    path.write_bytes(line * 3 + b"x" * 60_000 + b"0" + line)
    with limited(LONGEST_EXAMPLE_S):
        assert failure_of(path, recognise(path)).startswith("line 4 has 'xxx")

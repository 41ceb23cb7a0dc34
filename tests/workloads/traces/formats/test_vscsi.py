"""Binary vscsi records of both versions."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import pytest

from ssdgym.workloads import FLUSH, READ, TRIM, WRITE
from tests.workloads.traces.formats.reading import failure, read

ROWS = [
    (0, 42932745 * 512, 512, "0", WRITE),
    (-1_000, 2**40, 4096, "0", READ),
    (2_000_000_000, 0, 65536, "0", TRIM),
    (2_000_000_000, 0, 0, "0", FLUSH),
]
CODES = {WRITE: 0x2A, READ: 0x88, TRIM: 0x42, FLUSH: 0x35}
START_US = 5_633_898_000_000


def packed(
    version: int, row: tuple[int, int, int, str, int], number: int = 1, code: int | None = None
) -> bytes:
    time_ns, offset, size, _, op = row
    code = CODES[op] if code is None else code
    time_us = START_US + time_ns // 1000
    if version == 1:
        return struct.pack("<IIIHHQQ", number, size, 1, code, 0x0100, offset // 512, time_us)
    return struct.pack("<HHIIIQQQ", code, 0x0200, number, size, 1, offset // 512, time_us, 77)


def write(path: Path, records: list[bytes]) -> Path:
    path.write_bytes(b"".join(records))
    return path


each_version = pytest.mark.parametrize("version", [1, 2])


@each_version
def test_units_and_operations(version: int, tmp_path: Path) -> None:
    path = write(tmp_path / "trace", [packed(version, row) for row in ROWS])
    assert read(path) == read(path, "vscsi") == ROWS


@each_version
def test_records_may_lie_across_pieces_of_the_file(
    version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ssdgym.workloads.traces.reading.containers._PIECE_BYTES", 7)
    path = write(tmp_path / "trace", [gzip.compress(b"".join(packed(version, row) for row in ROWS))])
    assert read(path, "vscsi") == ROWS


@each_version
def test_a_bad_record_is_named_with_its_reason(version: int, tmp_path: Path) -> None:
    good = [packed(version, row) for row in ROWS]
    path = tmp_path / "trace"
    for bad, reason in (
        (packed(version, ROWS[0], code=0x12), "has '12' as its op, which the format vscsi does not know"),
        (packed(version, (0, 0, 0, "0", READ)), "has 0 as its size, which is not positive"),
        (packed(version, (10**18, 0, 512, "0", READ)), "has "),
    ):
        write(path, [*good[:2], bad, *good[2:]])
        assert failure(path, "vscsi").startswith(f"record 3 {reason}")
        assert read(path, "vscsi", skip_bad=1) == ROWS


def test_a_record_of_another_version_is_bad(tmp_path: Path) -> None:
    odd = bytearray(packed(1, ROWS[1]))
    odd[15] = 3
    path = write(tmp_path / "trace", [packed(1, ROWS[0]), bytes(odd), packed(1, ROWS[2])])
    assert failure(path).startswith("record 2 has version 768, unlike the first record")
    assert read(path, skip_bad=1) == [ROWS[0], ROWS[2]]


@each_version
def test_a_file_that_ends_within_a_record_has_a_bad_one(version: int, tmp_path: Path) -> None:
    good = [packed(version, row) for row in ROWS]
    path = write(tmp_path / "trace", [*good, good[0][:-1]])
    length = len(good[0])
    assert failure(path).startswith(f"record 5 has {length - 1} bytes of {length} and is cut off")
    assert read(path, skip_bad=1) == ROWS


@pytest.mark.parametrize("content", [b"\x07", b"text" * 50, bytes(400)])
def test_a_file_of_no_known_version_is_refused(tmp_path: Path, content: bytes) -> None:
    path = write(tmp_path / "trace", [content])
    said = "record 1 has neither version 1 nor 2 of a vscsi trace; name another format."
    assert failure(path, "vscsi") == failure(path, "vscsi", skip_bad=9) == said

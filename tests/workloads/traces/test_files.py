"""Trace files are found, unpacked, and handed on in blocks of whole lines."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from ssdgym.errors import SsdgymError
from ssdgym.workloads.traces import files
from ssdgym.workloads.traces.files import find_traces, first_bytes, line_blocks

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda data: data,
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda data: pa.Codec("zstd").compress(data, asbytes=True),
}
TEXT = b"".join(b"line %d\n" % number for number in range(1, 5001))

each_packing = pytest.mark.parametrize("packing", PACKERS)
each_packer = pytest.mark.parametrize("packing", [name for name in PACKERS if name != "plain"])


def write(folder: Path, data: bytes) -> Path:
    path = folder / "no_suffix"
    path.write_bytes(data)
    return path


def whole(path: Path) -> bytes:
    return b"".join(block for _, block in line_blocks(path))


def failure(path: Path) -> str:
    with pytest.raises(SsdgymError) as caught:
        whole(path)
    assert str(caught.value).startswith(f"{path}: ")
    return str(caught.value).removeprefix(f"{path}: ")


def test_a_relative_path_is_looked_for_in_the_trace_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "somewhere.csv").write_bytes(TEXT)
    monkeypatch.delenv("SSDGYM_TRACES", raising=False)
    with pytest.raises(SsdgymError, match="there is no such trace file here"):
        find_traces(Path("somewhere.csv"))
    monkeypatch.setenv("SSDGYM_TRACES", str(tmp_path))
    assert find_traces(Path("somewhere.csv")) == [tmp_path / "somewhere.csv"]
    with pytest.raises(SsdgymError, match=f"nor in {tmp_path}"):
        find_traces(Path("nowhere.csv"))


@each_packing
def test_the_packing_is_told_by_the_first_bytes(packing: str, tmp_path: Path) -> None:
    assert whole(write(tmp_path, PACKERS[packing](TEXT))) == TEXT


@each_packer
def test_a_file_that_is_cut_off_names_the_line(packing: str, tmp_path: Path) -> None:
    first, second = (PACKERS[packing](part) for part in (TEXT[:20_000], TEXT[20_000:]))
    said = failure(write(tmp_path, first + second[: len(second) // 2]))
    line = int(said.split()[1])
    assert TEXT[:20_000].count(b"\n") < line <= 5000
    assert said.startswith(f"line {line} is where the ")
    assert said.endswith(" data is cut off or damaged; get the file again.")


def test_blocks_are_whole_lines_with_the_number_of_their_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_BLOCK_BYTES", 100)
    monkeypatch.setattr("ssdgym.workloads.traces.reading.containers._PIECE_BYTES", 64)
    blocks = list(line_blocks(write(tmp_path, TEXT)))
    assert len(blocks) > 100
    assert b"".join(block for _, block in blocks) == TEXT
    assert all(block.startswith(b"line %d\n" % first) for first, block in blocks)
    assert all(block.endswith(b"\n") for _, block in blocks)


def test_a_missing_last_newline_makes_no_difference(tmp_path: Path) -> None:
    assert whole(write(tmp_path, TEXT[:-1])) == TEXT
    assert whole(write(tmp_path, b"")) == b""


def test_a_line_that_is_too_long_is_named_and_those_before_it_are_given(tmp_path: Path) -> None:
    longest = b"x" * 65_535 + b"\n"
    assert whole(write(tmp_path, TEXT + longest)) == TEXT + longest
    for tail in (b"x" * 65_537 + b"\n", b"x" * 200_000 + b"\n" + TEXT, b"x" * 9_000_000):
        path = write(tmp_path, TEXT + tail)
        assert failure(path) == "line 5001 is longer than 65536 bytes; give a text trace."
        assert next(line_blocks(path)) == (1, TEXT)


def test_the_start_of_a_file_is_read_without_the_rest(tmp_path: Path) -> None:
    packed = gzip.compress(TEXT)
    path = write(tmp_path, packed + b"damage")
    assert first_bytes(path, 100) == TEXT[:100]
    assert first_bytes(write(tmp_path, packed), 10**6) == TEXT

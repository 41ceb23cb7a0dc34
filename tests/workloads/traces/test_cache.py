"""Traces are parsed once, kept by content, and never believed when damaged."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ssdgym.errors import SsdgymError
from ssdgym.files import file_hash
from ssdgym.workloads import READ, WRITE
from ssdgym.workloads.traces.cache import StoredTrace, stored
from ssdgym.workloads.traces.reading.fields import BadLines, VolumeNumbers
from ssdgym.workloads.traces.record import RECORD, RecordCursor, Records


class LinesOfThree:
    """A format for these tests: blocks of up to two lines `time volume size`."""

    name = "three"

    def __init__(self) -> None:
        self.reads = 0

    def matches(self, start: bytes) -> int:
        return 1

    def read(self, path: Path, bad: BadLines, volumes: VolumeNumbers) -> Iterator[Records]:
        self.reads += 1
        lines = path.read_text().splitlines()
        for first in range(0, len(lines), 2):
            rows = []
            for number, line in enumerate(lines[first : first + 2], first + 1):
                if line.startswith("#"):
                    bad.add(number, "is a comment")
                    continue
                time, volume, size = line.split()
                rows.append((int(time), 512 * number, int(size), volumes.of([volume])[0], WRITE))
            yield np.array(rows, RECORD)


LINES = ["0 a 512", "10 b 1024", "# no request", "5 a 4096", "20 c 512"]
RECORDS = [
    (0, 512, 512, 0, WRITE),
    (10, 1024, 1024, 1, WRITE),
    (5, 2048, 4096, 0, WRITE),
    (20, 2560, 512, 2, WRITE),
]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SSDGYM_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "traces"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.txt"
    path.write_text("\n".join(LINES))
    return path


def load(path: Path, trace_format: LinesOfThree, skip_bad: int = 1) -> StoredTrace:
    return stored(path, file_hash(path), trace_format, skip_bad)


def test_what_is_parsed_reads_back(trace: Path) -> None:
    known = load(trace, LinesOfThree())
    assert known.records(0, 100).tolist() == RECORDS
    assert (known.format, known.requests, known.skipped_lines) == ("three", 4, 1)
    assert known.volumes.names == ("a", "b", "c")
    assert known.volumes.end_bytes == (2048 + 4096, 2048, 2560 + 512)


def test_a_trace_is_parsed_once_for_a_content_a_format_and_its_options(trace: Path) -> None:
    three = LinesOfThree()
    first = load(trace, three)
    assert load(trace, three) == first
    assert three.reads == 1
    load(trace, three, skip_bad=2)
    trace.write_text(trace.read_text() + "\n30 a 512")
    load(trace, three)
    assert three.reads == 3


def test_a_trace_is_kept_again_where_the_cache_folder_was_removed(trace: Path, own_cache: Path) -> None:
    load(trace, LinesOfThree())
    shutil.rmtree(own_cache.parent)
    assert load(trace, LinesOfThree()).requests == 4
    assert len(list(own_cache.iterdir())) == 1


def test_a_file_that_changes_while_it_is_read_is_not_kept(trace: Path, own_cache: Path) -> None:
    with pytest.raises(SsdgymError, match="trace.txt: the file changed while it was read; try again"):
        stored(trace, "the hash of what it was before", LinesOfThree(), 1)
    assert list(own_cache.iterdir()) == []


def test_records_come_in_any_portions_and_end(trace: Path) -> None:
    known = load(trace, LinesOfThree())
    assert known.records(1, 2).tolist() == RECORDS[1:3]
    assert known.records(3, 9).tolist() == RECORDS[3:]
    assert len(known.records(4, 1)) == 0
    source = RecordCursor(known)
    assert source.chunk().tolist() == RECORDS
    assert len(source.chunk()) == 0


def test_what_is_handed_out_can_be_changed_without_harm(trace: Path) -> None:
    known = load(trace, LinesOfThree())
    RecordCursor(known).chunk()["op"] = READ
    assert RecordCursor(known).chunk().tolist() == RECORDS


def test_a_cursor_is_small_when_pickled_and_goes_on(trace: Path) -> None:
    source = RecordCursor(load(trace, LinesOfThree()))
    data = pickle.dumps(source)
    assert len(data) < 1000
    assert pickle.loads(data).chunk().tolist() == RECORDS


@pytest.mark.parametrize("damage", ["flip", "cut", "no facts", "facts", "number", "no records"])
def test_a_damaged_cache_is_made_again_with_a_warning(trace: Path, own_cache: Path, damage: str) -> None:
    three = LinesOfThree()
    folder = load(trace, three).folder
    records, facts = folder / "records.bin", folder / "facts.json"
    data = bytearray(records.read_bytes())
    match damage:
        case "flip":
            data[30] ^= 4
            records.write_bytes(data)
        case "cut":
            records.write_bytes(data[:-24])
        case "no facts":
            facts.unlink()
        case "facts":
            facts.write_text(json.dumps({"format": "three"}))
        case "number":
            facts.write_text(facts.read_text().replace('"requests": 4', '"requests": 3'))
        case "no records":
            records.unlink()
    with pytest.warns(UserWarning, match="the cached trace is damaged; it is made again from"):
        again = load(trace, three)
    assert again.records(0, 100).tolist() == RECORDS
    assert three.reads == 2
    assert load(trace, three).records(0, 100).tolist() == RECORDS


def test_nothing_is_kept_of_a_trace_that_cannot_be_read(trace: Path, own_cache: Path) -> None:
    with pytest.raises(SsdgymError, match=r"trace.txt: line 3 is a comment; correct it, or set skip_bad"):
        load(trace, LinesOfThree(), skip_bad=0)
    trace.write_text("# nothing else")
    with pytest.raises(SsdgymError, match="the trace has no request that can be played"):
        load(trace, LinesOfThree())
    assert list(own_cache.iterdir()) == []


def test_a_cache_that_vanishes_is_an_error_and_not_an_end(trace: Path) -> None:
    known = load(trace, LinesOfThree())
    (known.folder / "records.bin").unlink()
    with pytest.raises(SsdgymError, match="the cached trace was changed or removed while it was played"):
        RecordCursor(known).chunk()


def test_a_cache_that_cannot_be_written_slows_traces_and_warns(trace: Path, own_cache: Path) -> None:
    own_cache.parent.write_text("in the way")
    with pytest.warns(RuntimeWarning, match="cannot be written to .* SSDGYM_CACHE_DIR"):
        known = load(trace, LinesOfThree())
    assert known.records(0, 100).tolist() == RECORDS
    assert own_cache.parent.read_text() == "in the way" and known.folder.is_dir()

"""Whatever a format agrees to write it reads back: the same requests, and the same volumes by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ssdgym.errors import SsdgymError
from ssdgym.workloads import FLUSH, READ, TRIM, WRITE
from ssdgym.workloads.traces.reading.fields import BadLines, VolumeNumbers
from ssdgym.workloads.traces.record import RECORD, Records, Volumes
from ssdgym.workloads.traces.writing import writable_format, writable_names, write

YEAR_NS = 365 * 86_400 * 10**9
WRITABLE = writable_names()
OPS = dict.fromkeys(WRITABLE, (READ, WRITE)) | dict.fromkeys(
    ("cloudphysics", "fio_v3"), (READ, WRITE, TRIM, FLUSH)
)
ONE_VOLUME = ("cloudphysics",)
NAMES = ("hm_0", "7", "a b", "x,y", "usr", "hm_0_0")


@st.composite
def traces(draw: st.DrawFn, name: str) -> tuple[Records, Volumes]:
    """Draw requests that the format can hold: on its ticks, in its units, with its operations."""
    tick = writable_format(name).tick_ns
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
    volumes = [0] if name in ONE_VOLUME else list(range(len(names)))
    times = draw(st.lists(st.integers(-9 * YEAR_NS // tick, 9 * YEAR_NS // tick), min_size=1, max_size=8))
    times[0] = 0
    rows = []
    for time in times:
        op = draw(st.sampled_from(OPS[name]))
        sector = draw(st.integers(0, 2**53 - 2**22))
        size = 512 * draw(st.integers(1, 2**22 - 1))
        rows.append((time * tick, 512 * sector, size, draw(st.sampled_from(volumes)), op))
    records = np.array([row if row[4] != FLUSH else (row[0], 0, 0, *row[3:]) for row in rows], RECORD)
    return records, Volumes(tuple(names), (2**63 - 1,) * len(names))


def read(path: Path, name: str) -> tuple[list[tuple[int, ...]], tuple[str, ...]]:
    """Return rows of time, offset, size, operation; and the name of each row's volume."""
    volumes = VolumeNumbers(path)
    blocks = list(writable_format(name).read(path, BadLines(path, 0), volumes))
    records = np.concatenate([np.zeros(0, RECORD), *blocks])
    rows = records[["time_ns", "offset_bytes", "size_bytes", "op"]].tolist()
    return rows, tuple(volumes.names[volume] for volume in records["volume"])


@pytest.mark.parametrize("name", WRITABLE)
def test_what_is_written_reads_back(name: str, tmp_path: Path) -> None:
    path = tmp_path / "trace"

    @settings(max_examples=60, deadline=None)
    @given(traces(name), st.integers(1, 5))
    def holds(trace: tuple[Records, Volumes], block: int) -> None:
        records, volumes = trace
        assume(records["time_ns"][0] == 0)
        with path.open("wb") as file:
            blocks = (records[i : i + block] for i in range(0, len(records), block))
            write(writable_format(name), file, blocks, volumes)
        rows, names = read(path, name)
        assert rows == records[["time_ns", "offset_bytes", "size_bytes", "op"]].tolist()
        # Names may change, but two volumes never become one, nor one two.
        pairs = set(zip(records["volume"].tolist(), names, strict=True))
        assert len(pairs) == len({volume for volume, _ in pairs}) == len({text for _, text in pairs})

    holds()


def refuse_second(name: str, path: Path, message: str, **change: int) -> None:
    """Assert that the second of two writes is refused by its number once it is changed."""
    records = np.array([(0, 0, 512, 0, WRITE), (0, 512, 512, 0, WRITE)], RECORD)
    for field, value in change.items():
        records[field][1] = value
    with path.open("wb") as file, pytest.raises(SsdgymError, match=f"request 2 {message}"):
        write(writable_format(name), file, iter([records]), Volumes(("hm_0",), (1024,)))


@pytest.mark.parametrize("name", WRITABLE)
def test_a_time_far_from_the_first_is_refused(name: str, tmp_path: Path) -> None:
    refuse_second(name, tmp_path / "trace", "comes more than 10 years from", time_ns=11 * YEAR_NS)


@pytest.mark.parametrize("name", [name for name in WRITABLE if TRIM not in OPS[name]])
def test_an_operation_that_a_format_lacks_is_refused(name: str, tmp_path: Path) -> None:
    refuse_second(name, tmp_path / "trace", "is a trim, which the format", op=TRIM)


@pytest.mark.parametrize("name", ["spc", "ssdsim", "disksim", "tencent", "cloudphysics"])
def test_bytes_between_two_sectors_are_refused(name: str, tmp_path: Path) -> None:
    records = np.array([(0, 100, 512, 0, WRITE)], RECORD)
    with (tmp_path / "trace").open("wb") as file, pytest.raises(SsdgymError, match="starts at byte 100, and"):
        write(writable_format(name), file, iter([records]), Volumes(("hm_0",), (1024,)))

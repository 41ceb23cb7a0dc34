"""Any table of requests is read back equal, however its file is dressed."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ssdgym.requests import READ, TRIM, WRITE
from ssdgym.workloads.traces.reading.columns import UNITS_NS, bytes_of
from ssdgym.workloads.traces.reading.fields import BadLines, VolumeNumbers
from ssdgym.workloads.traces.reading.text import TextFormat
from ssdgym.workloads.traces.registry import TraceFormat, recognise
from ssdgym.workloads.traces.writing import writable_format, write
from tests.workloads.traces.fuzzing import PACKERS
from tests.workloads.traces.test_round_trip import WRITABLE, traces

Row = tuple[int, int, int, int]


def _zip(data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("trace.csv", data)
    return file.getvalue()


ALL_PACKERS: dict[str, Callable[[bytes], bytes]] = {
    **PACKERS,
    "plain": lambda data: data,
    "zip": _zip,
}


def rows_of(path: Path, reader: TraceFormat) -> list[Row]:
    volumes = VolumeNumbers(path)
    blocks = list(reader.read(path, BadLines(path, 0), volumes))
    return [
        row for block in blocks for row in block[["time_ns", "offset_bytes", "size_bytes", "op"]].tolist()
    ]


@st.composite
def dressed(draw: st.DrawFn, lines: list[str], separator: str, has_header: bool) -> bytes:
    """Draw a file that has these lines with what people's files have around and between them."""
    fields = [line.split(separator) for line in lines]
    if separator != " " and draw(st.booleans()):
        fields = [[f'"{field}"' for field in line] for line in fields]
    blank = draw(st.sampled_from(("", " ", "  "))) if separator != " " else ""
    mark = draw(st.sampled_from((" ", "   ", "\t"))) if separator == " " else separator
    tail = draw(st.sampled_from(("", " " if separator == " " else separator)))
    body = [(blank + mark).join(line) + tail for line in fields]
    if not has_header and draw(st.booleans()):
        heading = mark.join(f"column_{letter}" for letter in "abcdefghijk"[: len(fields[0])])
        for place in draw(st.lists(st.integers(0, len(body)), min_size=1, max_size=2)):
            body.insert(place, heading)
    if draw(st.booleans()):
        body.insert(draw(st.integers(int(has_header), len(body))), "")
    start = draw(st.sampled_from(("", "\ufeff")))
    end = draw(st.sampled_from(("\n", "\r\n")))
    return (start + end.join(body) + draw(st.sampled_from(("", end)))).encode()


@pytest.mark.parametrize("name", [name for name in WRITABLE if name != "fio_v3"])
def test_a_registered_format_is_read_however_it_is_dressed(name: str, tmp_path: Path) -> None:
    target = writable_format(name)
    path = tmp_path / "trace"

    @settings(max_examples=60, deadline=None, derandomize=True)
    @given(st.data())
    def holds(data: st.DataObject) -> None:
        records, volumes = data.draw(traces(name).filter(lambda trace: trace[0]["time_ns"][0] == 0))
        file = io.BytesIO()
        write(target, file, iter([records]), volumes)
        lines = file.getvalue().decode().splitlines()
        text = data.draw(dressed(lines, target.separator or ",", target.header is not None))
        path.write_bytes(ALL_PACKERS[data.draw(st.sampled_from(sorted(ALL_PACKERS)))](text))
        expected = records[["time_ns", "offset_bytes", "size_bytes", "op"]].tolist()
        assert rows_of(path, target) == expected
        assert recognise(path).name == name or name in ("ssdsim", "disksim")

    holds()


MEANINGS = {READ: "read", WRITE: "write", TRIM: "trim"}


@settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_columns_of_ones_own_are_read_however_they_are_written(tmp_path: Path, data: st.DataObject) -> None:
    time_unit = data.draw(st.sampled_from(sorted(UNITS_NS)))
    offset_unit, size_unit = (data.draw(st.sampled_from(("B", "sector", "4KiB", "KiB", "MiB"))) for _ in "ab")
    ops = dict(zip(MEANINGS, data.draw(st.permutations(("0", "1", "W", "rd", "x9"))), strict=False))
    wide, high = bytes_of(size_unit) or 0, bytes_of(offset_unit) or 0
    request = st.tuples(
        st.integers(0, 80_000),
        st.integers(0, 2**50 // high),
        st.integers(1, (2**31 - 1) // wide),
        st.sampled_from(sorted(ops)),
    )
    table = data.draw(st.lists(request, min_size=1, max_size=8))
    words = {
        "time": f"time:{time_unit}",
        "offset": f"offset:{offset_unit}",
        "size": f"size:{size_unit}",
        "op": "op:" + ",".join(f"{text}={MEANINGS[op]}" for op, text in ops.items()),
        "disk": "disk",
        "-": "-",
    }
    order = data.draw(st.permutations(sorted(words)))
    separator = data.draw(st.sampled_from((",", ";", "|", "\t", " ")))
    lines = [
        separator.join(
            {"time": str(time), "offset": str(at), "size": str(size), "op": ops[op], "disk": "sda", "-": "z"}[
                name
            ]
            for name in order
        )
        for time, at, size, op in table
    ]
    path = tmp_path / "trace"
    text = data.draw(dressed(lines, separator, False))
    path.write_bytes(ALL_PACKERS[data.draw(st.sampled_from(sorted(ALL_PACKERS)))](text))
    known = TextFormat(name="columns", text=" ".join(words[name] for name in order), separator=None)
    unit = UNITS_NS[time_unit]
    assert rows_of(path, known) == [
        ((time - table[0][0]) * unit, at * high, size * wide, op) for time, at, size, op in table
    ]

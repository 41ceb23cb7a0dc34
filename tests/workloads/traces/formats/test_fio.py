"""I/O logs of fio: actions, and the two ways in which they tell the time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ssdgym.workloads import FLUSH, READ, TRIM, WRITE
from ssdgym.workloads.traces.record import RECORD, Volumes
from ssdgym.workloads.traces.writing import writable_format, write
from tests.workloads.traces.formats.reading import failure, read, write_lines

V2, V3 = "fio version 2 iolog", "fio version 3 iolog"
REQUESTS = [
    ("/dev/sda write 0 4096", (0, 4096, "/dev/sda", WRITE)),
    ("/dev/sdb read 512 8192", (512, 8192, "/dev/sdb", READ)),
    ("/dev/sda trim 65536 65536", (65536, 65536, "/dev/sda", TRIM)),
    ("/dev/sda sync 0 0", (0, 0, "/dev/sda", FLUSH)),
    ("/dev/sda datasync", (0, 0, "/dev/sda", FLUSH)),
    ("/datä/x read 0 1", (0, 1, "/datä/x", READ)),
]


def test_v2__time_passes_by_waits_of_100_us_and_more(tmp_path: Path) -> None:
    lines = [V2, "/f add", "/f open", "/f wait 5000 0", "/f read 0 512", "/f wait 100 0", "/f wait 99 0"]
    lines += ["/f wait 200 0", "/f write 0 512", "/f sync", "/f close"]
    assert read(write_lines(tmp_path, lines)) == [
        (0, 0, 512, "/f", READ),
        (300_000, 0, 512, "/f", WRITE),
        (300_000, 0, 0, "/f", FLUSH),
    ]


def test_v3__times_are_us(tmp_path: Path) -> None:
    lines = [V3, "2 /f add", "872 /f open", "878 /f write 0 16384", "889\t/f  read 0 512 ", "900 /f close"]
    assert read(write_lines(tmp_path, lines)) == [(0, 0, 16384, "/f", WRITE), (11_000, 0, 512, "/f", READ)]


@pytest.mark.parametrize(("header", "time"), [(V2, ""), (V3, "7 ")], ids=["v2", "v3"])
@pytest.mark.parametrize(("line", "row"), REQUESTS, ids=[line for line, _ in REQUESTS])
def test_actions(tmp_path: Path, header: str, time: str, line: str, row: tuple[int, int, str, int]) -> None:
    assert read(write_lines(tmp_path, [header, time + line])) == [(0, *row)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("/f", "is no action on a file"),
        ("/f read 0", "is no action on a file"),
        ("/f read 0 512 7", "is no action on a file"),
        ("/f read", "has 'read' as its action, which does not fit the rest of the line"),
        ("/f add 0 512", "has 'add' as its action, which does not fit the rest of the line"),
        ("/f erase 0 512", "has 'erase' as its action, which does not fit the rest of the line"),
        ("/f read x 512", "has 'x' as its offset, which is not a whole decimal number"),
        ("/f read 0 0", "has 0 as its size, which is not positive"),
        ("/f read -1 512", "has -1 as its offset, which is negative"),
        ("/f wait -1 0", "waits for -1 us, which is negative"),
    ],
)
def test_v2__a_bad_line_is_named_with_its_reason(tmp_path: Path, line: str, reason: str) -> None:
    path = write_lines(tmp_path, [V2, "/f read 0 512", line, "/f read 512 512"])
    assert failure(path).startswith(f"line 3 {reason}")
    assert len(read(path, skip_bad=1)) == 2


def test_v3__a_wait_is_passed_over(tmp_path: Path) -> None:
    lines = [V3, "1 /f read 0 512", "5 /f wait 100 0", "7 /f read 512 512"]
    assert [row[0] for row in read(write_lines(tmp_path, lines))] == [0, 6000]


@pytest.mark.parametrize("line", ["/f read 0 512", "5 /f", "5"])
def test_v3__has_a_time(tmp_path: Path, line: str) -> None:
    assert failure(write_lines(tmp_path, [V3, "1 /f read 0 512", line])).startswith("line 3 ")


@pytest.mark.parametrize("name", ["fio_v2", "fio_v3"])
def test_a_missing_header_is_named(tmp_path: Path, name: str) -> None:
    path = write_lines(tmp_path, ["/f read 0 512"])
    assert failure(path, name).startswith(f"line 1 is not the header 'fio version {name[-1]} iolog'")


def test_a_carriage_return_in_front_of_the_header_is_a_blank(tmp_path: Path) -> None:
    assert read(write_lines(tmp_path, [f"\r{V3}", "1 /f read 0 512"])) == [(0, 0, 512, "/f", READ)]


def test_what_is_written_is_what_fio_wants(tmp_path: Path) -> None:
    """fio adds and opens a file before it uses it, and reads two numbers behind every other action."""
    records = np.array([(50, 0, 512, 0, WRITE), (300_050, 0, 0, 0, FLUSH)], RECORD)
    path = tmp_path / "trace"
    with path.open("wb") as file:
        blocks = iter([records[:1], records[1:]])
        write(writable_format("fio_v3"), file, blocks, Volumes(("/f",), (512,)))
    assert path.read_text().splitlines() == [
        V3,
        "0 /f add",
        "0 /f open",
        "0 /f write 0 512",
        "300 /f sync 0 0",
    ]

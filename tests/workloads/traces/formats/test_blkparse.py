"""blkparse text: only what is issued to the driver is a request."""

from __future__ import annotations

from pathlib import Path

import pytest

from ssdgym.workloads import FLUSH, READ, TRIM, WRITE
from ssdgym.workloads.traces.formats.blkparse import BLKPARSE, Events
from ssdgym.workloads.traces.reading.fields import BadLines, VolumeNumbers
from tests.workloads.traces.formats.reading import failure, read, write_lines

FIRST = "  8,33   4        1     0.000000000  3922  D   R 540544 + 8 [systemd-udevd]"
SUMMARY = [
    "CPU30 (8,33):",
    " Reads Queued:           0,        0KiB\t Writes Queued:           0,        0KiB",
    " Read depth:           165        \t Write depth:           512",
    " PC Read Disp.:          3,        0KiB\t PC Write Disp.:          0,        0KiB",
    " IO unplugs:             0        \t Timer unplugs:           0",
    "",
    "Total (8,33):",
    "Throughput (R/W): 0KiB/s / 0KiB/s",
    "Events (8,33): 677 entries",
    "Skips: 0 forward (0 -   0.0%)",
]


def event(rest: str, time: str = "1.000000001", device: str = "8,33") -> str:
    return f"  {device}  30        2     {time}  5025  {rest}"


@pytest.mark.parametrize(
    ("issued", "row"),
    [
        ("R 540656 + 8 [fio]", (540656 * 512, 4096, READ)),
        ("RA 0 + 1 [fio]", (0, 512, READ)),
        ("WS 16384 + 512 [kworker/u65:0]", (16384 * 512, 512 * 512, WRITE)),
        ("WFS 8 + 8 [jbd2/sda1-8]", (8 * 512, 4096, WRITE)),
        ("FWFS 8 + 8 [jbd2/sda1-8]", (8 * 512, 4096, WRITE)),
        ("D 2048 + 1024 [fstrim]", (2048 * 512, 1024 * 512, TRIM)),
        ("DS 2048 + 1024", (2048 * 512, 1024 * 512, TRIM)),
        ("DE 2048 + 1024 [fstrim]", (2048 * 512, 1024 * 512, TRIM)),
        ("ZAS 524288 + 8 [fio]", (524288 * 512, 4096, WRITE)),
        ("FN [kworker/0:1H]", (0, 0, FLUSH)),
        ("F 0 + 0 [kworker/0:1H]", (0, 0, FLUSH)),
    ],
)
def test_rwbs_flags_name_the_operation(tmp_path: Path, issued: str, row: tuple[int, int, int]) -> None:
    offset, size, op = row
    path = write_lines(tmp_path, [FIRST, event(f"D  {issued}")])
    assert read(path) == [
        (0, 540544 * 512, 4096, "8,33", READ),
        (1_000_000_001, offset, size, "8,33", op),
    ]


@pytest.mark.parametrize(
    "line",
    [event(f"{action}  WS 8 + 8 [fio]") for action in ("Q", "G", "I", "M", "C", "A", "UT")]
    + [event("P  N [fio]"), event("m   N cfq5025S / inserted"), event("D   N 0 (00 ..) [kworker/u65:0]")]
    + [event(f"D  {flags} 524288 + 256 [app]") for flags in ("ZR", "ZRA", "ZO", "ZC", "ZFS", "WZ", "WZSM")]
    + [event("D   R 36 (12 00 00 00 24 00 ..) [smartctl]"), "Input file sda.blktrace.0 added"]
    + SUMMARY,
)
def test_other_events_and_the_summary_are_no_requests(tmp_path: Path, line: str) -> None:
    path = write_lines(tmp_path, [FIRST, line, event("D  R 8 + 8 [fio]", device="259,0")])
    assert [row[3] for row in read(path)] == ["8,33", "259,0"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("garbage", "is neither an event nor part of the summary"),
        ("8,33 4 1 0.0", "is neither an event nor part of the summary"),
        (event("D"), "is an issued request without its RWBS flags"),
        (event("D  W [fio]"), "is an issued request without its sectors"),
        (event("D  W x + 8 [fio]"), "is an issued request without its sectors"),
        (event("D  S 8 + 8 [fio]"), "has 'S' as its op, which the format blkparse does not know"),
        (event("D  W 8 + 0 [fio]"), "has 0 as its size, which is not positive"),
        (event(f"D  W 8 + {'9' * 5000} [fio]"), "has '999"),
        (event(f"D  W {2**54} + 8 [fio]"), f"has {2**54} as its offset, beyond 2**62 bytes"),
        (event("D  W 8 + 8 [fio]", time="9" * 400 + ".0"), "has '999"),
    ],
    ids=lambda text: text[:40].replace("\0", ""),
)
def test_a_bad_line_is_named_with_its_reason(tmp_path: Path, line: str, reason: str) -> None:
    path = write_lines(tmp_path, [FIRST, line, event("D  R 8 + 8 [fio]")])
    assert failure(path).startswith(f"line 2 {reason}")
    assert len(read(path, skip_bad=1)) == 2


def test_times_may_have_any_number_of_decimals(tmp_path: Path) -> None:
    times = ("0.5", "0.500000001", "0.5000000029", "4000000.000000000")
    path = write_lines(tmp_path, [event("D  R 8 + 8 [fio]", time) for time in times])
    assert [row[0] for row in read(path)] == [0, 1, 2, 3_999_999_500_000_000]


@pytest.mark.parametrize(
    ("events", "sectors"), [("issued", [8, 24]), ("queued", [0, 8]), ("completed", [16])]
)
def test_the_events_of_one_action_are_requests_and_the_others_counted(
    tmp_path: Path, events: Events, sectors: list[int]
) -> None:
    actions = [
        "Q  W 0 + 8 [a]",
        "Q  W 8 + 8 [a]",
        "D  W 8 + 8 [a]",
        "D  WZ 0 + 8 [a]",
        "D  W 24 + 8",
        "C  W 16 + 8 [0]",
    ]
    path = write_lines(tmp_path, [event(action) for action in actions])
    bad, volumes = BadLines(path, 0), VolumeNumbers(path)
    blocks = list(BLKPARSE[events].read(path, bad, volumes))
    assert [offset // 512 for block in blocks for offset in block["offset_bytes"].tolist()] == sectors
    counted = {"events Q": 2, "events C": 1, "operation WZ": 1}
    assert events != "issued" or bad.passed == counted


def test_what_is_requeued_and_issued_again_counts_once(tmp_path: Path) -> None:
    actions = ["D  W 8 + 8 [a]", "R  W 8 + 8 [a]", "D  R 16 + 8 [a]", "D  W 8 + 8 [a]", "D  W 8 + 8 [a]"]
    path = write_lines(tmp_path, [event(action) for action in actions])
    assert [row[1] // 512 for row in read(path)] == [8, 16, 8]

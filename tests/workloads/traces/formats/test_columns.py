"""Formats with fixed columns: units, operations and volumes of each, and what makes a line bad."""

from __future__ import annotations

from pathlib import Path

import pytest

from ssdgym.workloads import FLUSH, READ, TRIM, WRITE
from ssdgym.workloads.traces.reading.fields import BadLines, VolumeNumbers
from ssdgym.workloads.traces.registry import format_of
from tests.workloads.traces.formats.reading import Row, failure, read, write_lines

S, MS, US = 10**9, 10**6, 10**3
SECTOR = 512

MSR_LINES = [
    "128166386783630075,hm,0,Write,3164164096,40960,2896",
    "128166386783630309,hm,1,Read,3164147712,16384,2663",
    "128166386783631602,hm,0,write,3282006016,4096,1369",
]
CLOUDPHYSICS_LINES = [
    "version,time,op,size,lbn",
    "1,5633898,2a,512,42932745",
    "1,5633898.25,28,4096,42932746",
    "1,5633900,8A,1024,0",
]
SYSTOR17_LINES = [
    "Timestamp,Response,IOType,LUN,Offset,Size",
    "1456095145.133076000,0.000806000,R,0,899056122368,131072",
    "1456095145.133076001,,W,4,4256049987072,122880",
]

EXAMPLES: dict[str, tuple[list[str], list[Row]]] = {
    "msr": (
        MSR_LINES,
        [
            (0, 3164164096, 40960, "hm_0", WRITE),
            (23_400, 3164147712, 16384, "hm_1", READ),
            (152_700, 3282006016, 4096, "hm_0", WRITE),
        ],
    ),
    "msr_no_size": (
        ["1.28166E+17,Write,3213955072", "1.28166E+17,Read,8192", "128166000000000001.5,Write,0"],
        [(0, 3213955072, 4096, "0", WRITE), (0, 8192, 4096, "0", READ), (150, 0, 4096, "0", WRITE)],
    ),
    "cloudphysics": (
        CLOUDPHYSICS_LINES,
        [
            (0, 42932745 * SECTOR, 512, "0", WRITE),
            (S // 4, 42932746 * SECTOR, 4096, "0", READ),
            (2 * S, 0, 1024, "0", WRITE),
        ],
    ),
    "spc": (
        ["0,303567,3584,w,0.000000", "007,55590,3072,R,0.026214", "0,0,512,W,0.026215,more,fields"],
        [
            (0, 303567 * SECTOR, 3584, "0", WRITE),
            (26_214_000, 55590 * SECTOR, 3072, "007", READ),
            (26_215_000, 0, 512, "0", WRITE),
        ],
    ),
    "systor17": (
        SYSTOR17_LINES,
        [(0, 899056122368, 131072, "0", READ), (1, 4256049987072, 122880, "4", WRITE)],
    ),
    "ssdsim": (
        ["938513000 4 264719034 16 0", "938513001\t3  197570570 32\t1"],
        [(0, 264719034 * SECTOR, 16 * SECTOR, "4", WRITE), (1, 197570570 * SECTOR, 32 * SECTOR, "3", READ)],
    ),
    "disksim": (
        ["7961.833 0 20228336 8 0", "7961.833001 0 6397360 496 3"],
        [(0, 20228336 * SECTOR, 8 * SECTOR, "0", WRITE), (1, 6397360 * SECTOR, 496 * SECTOR, "0", READ)],
    ),
    "tencent": (
        ["1538323200,4247200,128,1,1058", "1538323199,13896880,8,0,1063"],
        [(0, 4247200 * SECTOR, 128 * SECTOR, "1058", WRITE), (-S, 13896880 * SECTOR, 4096, "1063", READ)],
    ),
    "alibaba": (
        ["419,W,10737418240,4096,1577808000000046", "420,R,0,16384,1577808000000047"],
        [(0, 10737418240, 4096, "419", WRITE), (1000, 0, 16384, "420", READ)],
    ),
}


each_format = pytest.mark.parametrize("name", EXAMPLES)


@each_format
def test_units_operations_and_volumes(name: str, tmp_path: Path) -> None:
    lines, rows = EXAMPLES[name]
    path = write_lines(tmp_path, lines)
    assert read(path) == rows
    assert read(path, name) == rows


@each_format
@pytest.mark.parametrize(
    ("start", "end", "last"),
    [("", "\r\n", "\r\n"), ("", "\n \t\n\n", "\n"), ("\ufeff", "\n", ""), ("\n\n", "\n", "\n\n")],
    ids=["crlf", "blank lines", "byte order mark, no last newline", "blank lines around"],
)
def test_line_ends_make_no_difference(name: str, tmp_path: Path, start: str, end: str, last: str) -> None:
    lines, rows = EXAMPLES[name]
    path = tmp_path / "trace"
    path.write_bytes((start + end.join(lines) + last).encode())
    assert read(path) == rows


@each_format
def test_a_bad_line_changes_nothing_for_the_good_ones_around_it(name: str, tmp_path: Path) -> None:
    lines, rows = EXAMPLES[name]
    path = write_lines(tmp_path, [*lines[:-1], "no request", lines[-1]])
    assert failure(path, name).startswith(f"line {len(lines)} has ")
    remedy = "; correct it, or set skip_bad (--set skip_bad=1) to leave out bad lines."
    assert failure(path, name).endswith(remedy)
    assert read(path, name, skip_bad=1) == rows


@pytest.mark.parametrize(
    ("code", "op"),
    [("28", READ), ("0x28", READ), ("8", READ), ("a8", READ), ("88", READ)]
    + [("2A", WRITE), ("0a", WRITE), ("aa", WRITE), ("8a", WRITE), ("2e", WRITE)]
    + [("42", TRIM)],
)
def test_cloudphysics__operation_codes(tmp_path: Path, code: str, op: int) -> None:
    path = write_lines(tmp_path, [CLOUDPHYSICS_LINES[0], f"1,0.5,{code},512,7"])
    assert read(path) == [(0, 7 * SECTOR, 512, "0", op)]


@pytest.mark.parametrize("code", ["35", "91"])
def test_cloudphysics__a_flush_has_no_bytes(tmp_path: Path, code: str) -> None:
    assert read(write_lines(tmp_path, [CLOUDPHYSICS_LINES[0], f"1,0,{code},0,99"])) == [(0, 0, 0, "0", FLUSH)]


@pytest.mark.parametrize("code", ["0", "12", "2b", "xx"])
def test_cloudphysics__other_operation_codes_are_refused(tmp_path: Path, code: str) -> None:
    path = write_lines(tmp_path, [*CLOUDPHYSICS_LINES, f"1,5633900,{code},512,0"])
    assert failure(path).startswith(f"line 5 has '{code}' as its op, which the format cloudphysics does not")


BAD_LINES = [
    ("1,2,3", "has 3 columns instead of 7"),
    ("word", "has 1 column instead of 7"),
    ("1,hm,0,Write,4096,4096,1,extra", "has 8 columns instead of 7"),
    ("soon,hm,0,Write,4096,4096,1", "has 'soon' as its time, which is not a number"),
    (",hm,0,Write,4096,4096,1", "has '' as its time, which is not a number"),
    ("1,hm,0,Erase,4096,4096,1", "has 'Erase' as its op, which the format msr does not know"),
    ("1,hm,0,Write,-4096,4096,1", "has -4096 as its offset, which is negative"),
    ("1,hm,0,Write,1e3,4096,1", "has '1e3' as its offset, which is not a whole decimal number"),
    ("1,hm,0,Write,0x10,4096,1", "has '0x10' as its offset, which is not a whole decimal number"),
    ("1,hm,0,Write,+5,4096,1", "has '+5' as its offset, which is not a whole decimal number"),
    (f"1,hm,0,Write,{2**63},4096,1", f"has '{2**63}' as its offset, which is beyond 64 bits"),
    (f"1,hm,0,Write,{2**63 - 1},4096,1", f"has {2**63 - 1} as its offset, beyond 2**62 bytes"),
    ("1,hm,0,Write,4096,0,1", "has 0 as its size, which is not positive"),
    ("1,hm,0,Write,4096,1099511627777,1", "has 1099511627777 as its size, which is beyond 1 TiB"),
    ("1,hm,0,Write,4096,4096,1", "has 1 as its time, more than 10 years from the first one"),
    ("1,hm,0,Wr\rite,4096,4096,1", "has 'Wr\\rite' as its op, which is empty or cannot be printed"),
    ("1,,0,Write,4096,4096,1", "has '' as its host, which is empty or cannot be printed"),
    ("1,\x1b[1m,0,Write,4096,4096,1", "has '\\x1b[1m' as its host, which is empty or cannot be printed"),
    ("1,hm,0,\udcff,4096,4096,1", "has '?' as its op, which is not UTF-8 text"),
]


@pytest.mark.parametrize(("line", "reason"), BAD_LINES, ids=[reason[:60] for _, reason in BAD_LINES])
def test_a_bad_line_is_named_with_its_reason(tmp_path: Path, line: str, reason: str) -> None:
    path = tmp_path / "trace"
    path.write_bytes("\n".join([*MSR_LINES[:2], line, MSR_LINES[2]]).encode(errors="surrogateescape"))
    assert failure(path).startswith(f"line 3 {reason}")
    assert read(path, skip_bad=1) == EXAMPLES["msr"][1]


@pytest.mark.parametrize("skip_bad", [0, 1000])
def test_a_nul_is_never_a_bad_line(tmp_path: Path, skip_bad: int) -> None:
    path = write_lines(tmp_path, [*MSR_LINES, "1,hm,0,Write,4096,4096,\x00", *MSR_LINES])
    assert failure(path, skip_bad=skip_bad).startswith(
        "line 4 holds a NUL byte, so the file is no text or was cut"
    )


QUOTED = [",".join(f'"{field}"' for field in line.split(",")) for line in MSR_LINES]
HEADING = "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime"


@pytest.mark.parametrize(
    "lines",
    [
        [HEADING, *MSR_LINES],
        [MSR_LINES[0], HEADING, *MSR_LINES[1:]],
        ["# by hand", MSR_LINES[0], "#1,2,3,4,5,6,7", *MSR_LINES[1:]],
        QUOTED,
        [f"\ufeff{line}" for line in QUOTED],
        [f"{line}," for line in MSR_LINES],
        [line.replace(",", " ,\t") for line in MSR_LINES],
        [line.replace(",", ", ") + " \r" for line in MSR_LINES],
    ],
    ids=["heading", "heading within", "comments", "quotes", "marks", "last separator", "blanks", "crlf"],
)
def test_what_programs_write_around_columns_makes_no_difference(tmp_path: Path, lines: list[str]) -> None:
    assert read(write_lines(tmp_path, lines)) == EXAMPLES["msr"][1]


def test_a_request_of_2_gib_and_more_is_split(tmp_path: Path) -> None:
    gib = 2**30
    rows = read(
        write_lines(tmp_path, [f"1,h,0,Write,4096,{2 * gib - 1},1", f"2,h,0,Read,0,{2 * gib + 512},1"])
    )
    assert [(offset, size, op) for _, offset, size, _, op in rows] == [
        (4096, 2 * gib - 1, WRITE),
        *((at * gib, gib, READ) for at in (0, 1)),
        (2 * gib, 512, READ),
    ]


def test_a_mebi_of_pieces_comes_in_parts(tmp_path: Path) -> None:
    path = write_lines(tmp_path, [f"{time},h,0,Read,0,{2**40},1" for time in range(200)])
    volumes = VolumeNumbers(path)
    blocks = [len(block) for block in format_of(path, "msr").read(path, BadLines(path, 0), volumes)]
    assert sum(blocks) == 200 * 1024
    assert max(blocks) < 100_000


def test_skip_bad_tolerates_so_many_and_no_more(tmp_path: Path) -> None:
    path = write_lines(tmp_path, ["1,2,3", *MSR_LINES, "4,5", *MSR_LINES, "1,h,0,Format,0,1,1"])
    assert len(read(path, skip_bad=3)) == 6
    assert failure(path, skip_bad=2).startswith("line 9 has 'Format' as its op")
    assert failure(path, skip_bad=2).endswith("more than the 2 bad lines that skip_bad allows.")
    assert failure(path, skip_bad=1).startswith("line 5 has 2 columns")


def test_a_request_may_end_at_so_many_bytes_and_no_further(tmp_path: Path) -> None:
    last = 2**62 - 4096
    assert read(write_lines(tmp_path, [f"1,h,0,Read,{last},4096,1"]))[0][1] == last
    assert "beyond 2**62 bytes" in failure(write_lines(tmp_path, [f"1,h,0,Read,{last + 1},4096,1"]))
    sector = 2**62 // SECTOR
    assert "beyond 2**62 bytes" in failure(write_lines(tmp_path, [f"0 0 {sector} 1 1"]))
    assert read(write_lines(tmp_path, [f"0 0 {sector - 1} 1 1"]))[0][1] == (sector - 1) * SECTOR


@pytest.mark.parametrize("time", ["nan", "inf", "1e999", "1e9999999", "0x1p3", "1_0"])
def test_a_decimal_time_that_is_no_number_is_refused(tmp_path: Path, time: str) -> None:
    path = write_lines(tmp_path, [*CLOUDPHYSICS_LINES, f"1,{time},2a,512,1"])
    assert failure(path).startswith(f"line 5 has '{time}' as its time, which is ")


@pytest.mark.parametrize(
    ("time", "time_ns"),
    [("0.000000001", 1), ("0.0000000019", 1), ("-0.0000000001", -1), ("1e-9", 1), ("1e-9999999", 0)]
    + [(".5", S // 2), ("1.E0", S), (f"1E+{'0' * 30}", S), ("+2", 2 * S), ("315360000", 315_360_000 * S)],
)
def test_decimal_times_are_whole_nanoseconds_rounded_down(tmp_path: Path, time: str, time_ns: int) -> None:
    path = write_lines(tmp_path, [CLOUDPHYSICS_LINES[0], "1,0,2a,512,1", f"1,{time},2a,512,1"])
    assert read(path)[1][0] == time_ns


@pytest.mark.parametrize("other", ["1", "1.5"])
def test_the_smallest_time_is_read_beside_whole_numbers_and_decimals(tmp_path: Path, other: str) -> None:
    path = write_lines(tmp_path, [f"{-(2**63)},h,0,Read,0,512,1", f"{other},h,0,Read,0,512,1"])
    assert failure(path, "msr").startswith("line 2 has 1 as its time, more than 10 years")


@pytest.mark.parametrize("start", [128166386783630075, 2**63 - 4 * 10**15, -(2**63)])
def test_large_times_lose_no_nanosecond(tmp_path: Path, start: int) -> None:
    elapsed = 3 * 10**15 + 1
    path = write_lines(tmp_path, [f"{time},h,0,Read,0,512,1" for time in (start, start + elapsed)])
    assert read(path, "msr")[1][0] == elapsed * 100


def test_volumes_are_numbered_as_they_appear_in_good_lines(tmp_path: Path) -> None:
    lines = ["5,x,9,Read,0,0,1", *(f"{time},{host},0,Read,0,512,1" for time, host in enumerate("bab"))]
    assert [row[3] for row in read(write_lines(tmp_path, lines), skip_bad=1)] == ["b_0", "a_0", "b_0"]


def test_many_hosts_and_disks_take_no_more_than_their_pairs(tmp_path: Path) -> None:
    lines = [f"{number},host{number},{number},Read,0,512,1" for number in range(30_000)]
    assert read(write_lines(tmp_path, lines))[-1][3] == "host29999_29999"


def test_too_many_volumes_are_refused(tmp_path: Path) -> None:
    path = write_lines(tmp_path, [f"{number},W,0,512,0" for number in range(2**16 + 1)])
    assert failure(path) == "the trace has more than 65536 volumes; split it."


@pytest.mark.parametrize("name", ["cloudphysics", "systor17"])
def test_a_missing_header_is_named(tmp_path: Path, name: str) -> None:
    path = write_lines(tmp_path, ["", *EXAMPLES[name][0][1:]])
    assert failure(path, name).startswith(f"line 2 is not the header '{EXAMPLES[name][0][0]}' of the format")

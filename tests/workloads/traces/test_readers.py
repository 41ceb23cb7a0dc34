"""Trace files become records; a line that cannot is named, with the reason."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any, get_args

import pytest

from ssdgym.config.workload import TraceConfig
from ssdgym.errors import SsdgymError
from ssdgym.workloads import READ, WRITE
from ssdgym.workloads.traces.loading import Trace, load_trace
from ssdgym.workloads.traces.registry import READERS

MSR_LINES = [
    "128166386783630075,hm,0,Write,3164164096,40960,2896",
    "128166386783630309,hm,0,Read,3164147712,16384,2663",
    "128166386783631602,hm,0,Write,3282006016,4096,1369",
]
CLOUDPHYSICS_LINES = [
    "version,time,op,size,lbn",
    "1,5633898,2a,512,42932745",
    "1,5633898,28,4096,42932746",
    "1,5633900,8A,1024,0",
]


def write_lines(folder: Path, lines: list[str], name: str = "trace.csv") -> Path:
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    return path


def load(path: Path, **fields: Any) -> Trace:
    return load_trace(TraceConfig(path=path, **fields))


def failure(path: Path, **fields: Any) -> str:
    """Return the one sentence with which loading fails, without the path that it starts with."""
    with pytest.raises(SsdgymError) as caught:
        load(path, **fields)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert text.endswith(".")
    assert "\n" not in text
    return text.removeprefix(f"{path}: ")


def test_the_configuration_knows_every_reader() -> None:
    assert set(get_args(TraceConfig.model_fields["format"].annotation)) == {"auto", *READERS}


def test_msr__times_are_100_ns_and_sizes_bytes(tmp_path: Path) -> None:
    trace = load(write_lines(tmp_path, MSR_LINES))
    assert trace.format == "msr"
    assert trace.records.tolist() == [
        (0, 3164164096, 40960, WRITE),
        (23_400, 3164147712, 16384, READ),
        (152_700, 3282006016, 4096, WRITE),
    ]


def test_cloudphysics__times_are_seconds_and_addresses_sectors(tmp_path: Path) -> None:
    trace = load(write_lines(tmp_path, CLOUDPHYSICS_LINES))
    assert trace.format == "cloudphysics"
    assert trace.records.tolist() == [
        (0, 42932745 * 512, 512, WRITE),
        (0, 42932746 * 512, 4096, READ),
        (2_000_000_000, 0, 1024, WRITE),
    ]


@pytest.mark.parametrize(
    ("code", "op"),
    [("28", READ), ("0x28", READ), ("8", READ), ("a8", READ), ("88", READ)]
    + [("2A", WRITE), ("0a", WRITE), ("aa", WRITE), ("8a", WRITE), ("2e", WRITE)],
)
def test_cloudphysics__operation_codes(tmp_path: Path, code: str, op: int) -> None:
    trace = load(write_lines(tmp_path, [CLOUDPHYSICS_LINES[0], f"1,0.5,{code},512,7"]))
    assert trace.records["op"].tolist() == [op]


@pytest.mark.parametrize("ending", ["\r\n", "\n\n"])
@pytest.mark.parametrize("lines", [MSR_LINES, CLOUDPHYSICS_LINES], ids=["msr", "cloudphysics"])
def test_line_endings_blank_lines_and_gzip_make_no_difference(
    tmp_path: Path, lines: list[str], ending: str
) -> None:
    plain = load(write_lines(tmp_path, lines)).records
    packed = tmp_path / "no_suffix"
    packed.write_bytes(gzip.compress(ending.join(lines).encode()))
    assert load(packed).records.tolist() == plain.tolist()


def test_a_file_of_several_blocks_is_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ssdgym.workloads.traces.files._BLOCK_BYTES", 100)
    lines = [f"{1000 + i},h,0,Write,{i * 512},512,1" for i in range(200)]
    assert load(write_lines(tmp_path, lines)).records["offset_bytes"].tolist() == [
        i * 512 for i in range(200)
    ]
    lines[150] = "1,2,3"
    assert failure(write_lines(tmp_path, lines, "bad.csv")).startswith("line 151 has 3 columns instead of 7")


BAD_LINES = [
    ("1,2,3", "has 3 columns instead of 7"),
    ("word", "has 1 column instead of 7"),
    ("1,hm,0,Write,4096,4096,1,extra", "has 8 columns instead of 7"),
    ("soon,hm,0,Write,4096,4096,1", "has 'soon' as its time, which is not a whole number"),
    (",hm,0,Write,4096,4096,1", "has '' as its time, which is not a whole number"),
    (
        "1,hm,0,Erase,4096,4096,1",
        "has 'Erase' as its op, which is neither a read nor a write in the format msr",
    ),
    ("1,hm,0,Write,-4096,4096,1", "has -4096 as its offset, which is negative"),
    ("1,hm,0,Write,1e3,4096,1", "has '1e3' as its offset, which is not a whole number"),
    (f"1,hm,0,Write,{2**63},4096,1", f"has '{2**63}' as its offset, which is beyond 64 bits"),
    (f"1,hm,0,Write,{2**63 - 1},4096,1", f"has {2**63 - 1} as its offset, which is beyond 2**63 bytes"),
    ("1,hm,0,Write,4096,0,1", "has 0 as its size, which is not positive"),
    ("1,hm,0,Write,4096,4294967296,1", "has 4294967296 as its size, which is 2 GiB or more"),
    ("1,hm,0,Write,4096,4096,1", "has 1 as its time, which is more than 10 years from the first one"),
    ("1,hm,0,Wr\rite,4096,4096,1", "has a carriage return in its middle"),
    ("\x00\x01,hm,0,Write,0,1,1", "has '\\x00\\x01' as its time, which is not a whole number"),
    ("1,hm,0,\udcff,4096,4096,1", "has '\\\\xff' as its op, which is not UTF-8 text"),
]


@pytest.mark.parametrize(("line", "reason"), BAD_LINES, ids=[reason[:60] for _, reason in BAD_LINES])
def test_a_bad_line_is_named_with_its_reason_and_can_be_skipped(
    tmp_path: Path, line: str, reason: str
) -> None:
    path = tmp_path / "trace.csv"
    text = "\n".join([*MSR_LINES[:2], line, MSR_LINES[2]])
    path.write_bytes(text.encode(errors="surrogateescape"))
    assert failure(path) == f"line 3 {reason}; correct it, or set skip_bad to leave out bad lines."
    trace = load(path, skip_bad=1)
    assert trace.skipped_lines == 1
    assert trace.records.tolist() == load(write_lines(tmp_path, MSR_LINES, "good.csv")).records.tolist()


def test_cloudphysics__a_sector_beyond_64_bit_bytes_is_refused(tmp_path: Path) -> None:
    path = write_lines(tmp_path, [*CLOUDPHYSICS_LINES, f"1,5633900,2a,512,{2**55}"])
    assert failure(path).startswith(f"line 5 has {2**55} as its offset, which is beyond 2**63 bytes")


def test_cloudphysics__a_time_that_is_no_number_is_refused(tmp_path: Path) -> None:
    for time in ("nan", "inf", "1e999"):
        assert failure(write_lines(tmp_path, [*CLOUDPHYSICS_LINES, f"1,{time},2a,512,1"])).startswith(
            "line 5 has"
        )


def test_skip_bad_tolerates_so_many_and_no_more(tmp_path: Path) -> None:
    lines = ["1,2,3", *MSR_LINES, "4,5", *MSR_LINES, "1,h,0,Format,0,1,1"]
    path = write_lines(tmp_path, lines)
    assert load(path, skip_bad=3).skipped_lines == 3
    assert len(load(path, skip_bad=3).records) == 6
    assert failure(path, skip_bad=2).startswith("line 9 has 'Format' as its op")
    assert failure(path, skip_bad=2).endswith("more than the 2 bad lines that skip_bad allows.")
    assert failure(path, skip_bad=1).startswith("line 5 has 2 columns")


def test_head_takes_the_first_good_requests_and_looks_no_further(tmp_path: Path) -> None:
    path = write_lines(tmp_path, [MSR_LINES[0], "bad", *MSR_LINES[1:], "bad"])
    assert len(load(path, head=1).records) == 1
    trace = load(path, head=3, skip_bad=1)
    assert len(trace.records) == 3
    assert trace.skipped_lines == 1


def test_earlier_times_wait_for_the_latest_and_are_counted(tmp_path: Path) -> None:
    times = (1000, 1500, 1200, 900, 1600)
    trace = load(write_lines(tmp_path, [f"{time},h,0,Read,0,512,1" for time in times]))
    assert trace.out_of_order == 2
    assert trace.records["time_ns"].tolist() == [0, 50_000, 50_000, 50_000, 60_000]


def test_large_times_lose_no_nanosecond(tmp_path: Path) -> None:
    start = 128166386783630075
    elapsed = 3 * 10**15 + 1
    lines = [f"{time},h,0,Read,0,512,1" for time in (start, start + elapsed)]
    assert load(write_lines(tmp_path, lines)).records["time_ns"][1] == elapsed * 100


def test_what_is_no_trace_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    assert failure(empty) == "the trace is empty; give a file with requests in it."
    garbage = tmp_path / "garbage"
    garbage.write_bytes(bytes(range(256)) * 40)
    assert failure(garbage).startswith("line 1 has binary data and the file looks like none of the formats")
    assert failure(garbage, format="msr").startswith("line 1 has 1 column instead of 7")
    long = tmp_path / "long"
    long.write_bytes(b"x" * 5_000_000)
    assert failure(long).startswith("line 1 is longer than")
    three_columns = write_lines(tmp_path, ["1,Write,4096"])
    assert failure(three_columns).startswith("line 1 has 3 columns and the file looks like none")
    only_header = write_lines(tmp_path, CLOUDPHYSICS_LINES[:1])
    assert failure(only_header).startswith("the trace has no request")
    no_header = write_lines(tmp_path, MSR_LINES)
    assert failure(no_header, format="cloudphysics").startswith("line 1 is not the header 'version,time,op,")


def test_damaged_gzip_names_the_line_it_ends_in(tmp_path: Path) -> None:
    data = gzip.compress("".join(f"{1000 + i},h,0,Write,{i},512,1\n" for i in range(2000)).encode())
    path = tmp_path / "cut.gz"
    path.write_bytes(data[: len(data) // 2])
    text = failure(path)
    line = int(text.split()[1])
    assert 500 < line < 2000
    assert text == f"line {line} is where the gzip data is cut off or damaged; get the file again."


def test_a_relative_path_is_looked_for_in_the_trace_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_lines(tmp_path, MSR_LINES, "somewhere.csv")
    monkeypatch.delenv("SSDGYM_TRACES", raising=False)
    assert "there is no such trace file" in failure(Path("somewhere.csv"))
    monkeypatch.setenv("SSDGYM_TRACES", str(tmp_path))
    assert len(load(Path("somewhere.csv")).records) == 3


def test_a_trace_is_kept_until_its_file_changes(tmp_path: Path) -> None:
    path = write_lines(tmp_path, MSR_LINES)
    assert load(path) is load(path)
    write_lines(tmp_path, MSR_LINES[:1])
    assert len(load(path).records) == 1

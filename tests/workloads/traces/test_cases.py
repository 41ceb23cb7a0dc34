"""Traces as people have them: each is read right, or refused with the reason and the remedy."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import threading
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from backports import zstd

from ssdgym.cli import main
from ssdgym.errors import SsdgymError
from ssdgym.workloads import READ, TRIM, WRITE, load_workload
from ssdgym.workloads.traces.recorded import PlayedConfig

SECTOR = 512
_DRAWS = np.random.default_rng(7)
#: Time in ns, read or write, offset and size in bytes.
REQUESTS = [
    (int(time) * 1000, int(op), 4096 * int(page), 4096 * int(pages))
    for time, op, page, pages in zip(
        np.cumsum(_DRAWS.integers(1, 90_000, 200)),
        _DRAWS.integers(0, 2, 200),
        _DRAWS.integers(0, 3000, 200),
        _DRAWS.integers(1, 9, 200),
        strict=True,
    )
]
#: Requests and bytes of each operation, and the time from the first to the last, in ns.
RIGHT = (
    {op: sum(request[1] == op for request in REQUESTS) for op in (READ, WRITE)},
    {op: sum(request[3] for request in REQUESTS if request[1] == op) for op in (READ, WRITE)},
    REQUESTS[-1][0] - REQUESTS[0][0],
)
Line = Callable[[int, int, int, int], str]


def file_of(folder: Path, line: Line, *around: str) -> Path:
    path = folder / "trace"
    path.write_text("\n".join([*around, *(line(*request) for request in REQUESTS)]) + "\n")
    return path


def figures(path: Path | list[str], **fields: object) -> tuple[dict[int, int], dict[int, int], int]:
    config = load_workload({"path": path if isinstance(path, list) else str(path), **fields})
    assert isinstance(config, PlayedConfig)
    chunks = []
    source = config.records()
    while len(chunk := source.chunk()):
        chunks.append(chunk)
    records = np.concatenate(chunks)
    ops = np.unique(records["op"]).tolist()
    count = {op: int((records["op"] == op).sum()) for op in ops}
    size = {op: int(records["size_bytes"][records["op"] == op].sum(dtype=np.int64)) for op in ops}
    return count, size, int(records["time_ns"].max() - records["time_ns"].min())


def refusal(path: Path, **fields: object) -> str:
    with pytest.raises(SsdgymError) as caught:
        figures(path, **fields)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def seconds(time: int) -> str:
    return f"{time // 10**9}.{time % 10**9:09}"


def msr(time: int, op: int, offset: int, size: int) -> str:
    return f"{128166372003061629 + time // 100},srv,0,{('Read', 'Write')[op]},{offset},{size},4000"


NAMELESS: dict[str, tuple[str, Line, tuple[str, ...]]] = {
    "milliseconds and bytes": (
        "time:ms disk offset:B size:B op:1=read",
        lambda t, op, at, size: f"{t / 10**6:.6f} 0 {at} {size} {1 - op}",
        (),
    ),
    "SSDsim in seconds": (
        "time:s device offset:sector size:sector op:1=read",
        lambda t, op, at, size: f"{seconds(t)} 0 {at // SECTOR} {size // SECTOR} {1 - op}",
        (),
    ),
    "SSDsim in microseconds": (
        "time:us device offset:sector size:sector op:1=read",
        lambda t, op, at, size: f"{t // 1000} 0 {at // SECTOR} {size // SECTOR} {1 - op}",
        (),
    ),
    "pages of 4 KiB": (
        "time:s op:0=read,1=write,3=trim offset:4KiB size:B",
        lambda t, op, at, size: f"{seconds(t)} {op} {at // 4096} {size} ",
        (),
    ),
    "biosnoop": (
        "time:s - - disk op offset:sector size:B -",
        lambda t, op, at, size: f"{t / 10**9:.6f} app 1000 vda {'RW'[op]} {at // SECTOR} {size} 1.16",
        ("TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  LAT(ms)",),
    ),
    "ftrace": (
        "- - - time:s - device op:rwbs size:B - offset:sector *",
        lambda t, op, at, size: (
            f" kworker/0:1H-100 [000] .... {t / 10**9:.6f}: block_rq_issue: 259,0 {('RA', 'WS')[op]} "
            f"{size} () {at // SECTOR} + {size // SECTOR} [kworker/0:1H]"
        ),
        (),
    ),
    "lines with a number": (
        "- time:s op offset:B size:B",
        lambda t, op, at, size: f"7,{t / 10**9:.6f},{('Read', 'Write')[op]},{at},{size}",
        (),
    ),
    "a cache's trace": (
        "- offset:B size:B time:s op:1=read,2=write - -",
        lambda t, op, at, size: f"1000 {at} {size} {seconds(t)} {op + 1} 0 0",
        (),
    ),
    "17 columns with a heading": (
        "- offset:B - op size:B time:s -",
        lambda t, op, at, size: f"f0,{at},bigtable,{('READ', 'WRITE')[op]},{size},{seconds(t)},0.1",
        ("filename,file_offset,application,op_type,request_io_size_bytes,start_time,disk_time",),
    ),
    "latency log of fio": (
        "time:us - op:0=read,1=write size:B offset:B -",
        lambda t, op, at, size: f"{t // 1000}, 62813, {op}, {size}, {at}, 0",
        (),
    ),
}


@pytest.mark.parametrize("name", NAMELESS)
def test_a_format_without_a_name_is_read_by_its_columns(name: str, tmp_path: Path) -> None:
    columns, line, around = NAMELESS[name]
    assert figures(file_of(tmp_path, line, *around), columns=columns) == RIGHT


@pytest.mark.parametrize("name", list(NAMELESS)[3:])
def test_an_unknown_format_is_refused_with_an_example_that_can_be_given(name: str, tmp_path: Path) -> None:
    columns, line, around = NAMELESS[name]
    path = file_of(tmp_path, line, *around)
    said = refusal(path)
    assert "name one, or the columns of the file, for example --columns '" in said
    example = said.partition("--columns '")[2].partition("'")[0]
    time = next(word for word in columns.split() if word.startswith("time"))
    assert example.split().index("time:s") == columns.split().index(time)
    load_workload({"path": str(path), "columns": example})


def test_a_heading_with_digits__is_passed_over_and_no_column_of_the_example(tmp_path: Path) -> None:
    heading = "timestamp_us;vol;op;lba512;size_kib"
    path = tmp_path / "headed.csv"
    path.write_text(heading + "".join(f"\n{k * 50};0;W;{8 * k};4" for k in range(20)))
    example = refusal(path).partition("--columns '")[2].partition("'")[0]
    assert example == "time:s offset:B op - size:B"
    assert figures(path, columns="time:us volume op offset:sector size:KiB")[0] == {WRITE: 20}


def test_a_file_of_words__has_an_example_of_as_many_columns(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("hello world\n")
    example = refusal(path).partition("--columns '")[2].partition("'")[0]
    assert example == "offset:B - time=0 size=4KiB op=write"


def test_without_operations__all_are_what_one_says(tmp_path: Path) -> None:
    path = file_of(tmp_path, lambda t, op, at, size: f"{at // SECTOR},{size},{seconds(t)}")
    count, size, duration = figures(path, columns="offset:sector size:B time:s op=write")
    assert (count, size) == ({WRITE: 200}, {WRITE: sum(RIGHT[1].values())})
    assert duration == RIGHT[2]


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ("offset:B size:B op", "lacks time; name its column, as in time:s, or write time=0"),
        ("time:s offset:B size:B", "lacks op; name its column, as in op:1=read, or write op=write"),
        ("time:year offset:B size:B op", "has 'year' as the unit of time; write one of ns, 100ns, us"),
        ("time:s offset size:B op", "lacks the unit of offset; write one of B, sector, KiB"),
        ("time:s time:ms offset:B size:B op", "has time twice"),
        ("time:s offset:B size:B op:1=wipe", "has '1=wipe' in op; write TEXT=MEANING"),
        (
            "time:s offst:B size:B op",
            "has 'offst:B', and only time, offset, size and op take more than a name",
        ),
    ],
)
def test_columns_that_say_nothing_are_refused(tmp_path: Path, columns: str, reason: str) -> None:
    assert reason in refusal(tmp_path / "trace", columns=columns)


def test_columns_and_a_format_are_refused(tmp_path: Path) -> None:
    columns = NAMELESS["pages of 4 KiB"][0]
    assert "has both columns and the format msr; leave one out" in refusal(
        tmp_path, columns=columns, format="msr"
    )


def event(time: int, action: str, flags: str, at: int, size: int) -> str:
    return f" 259,0 1 1 {seconds(time):>16} 1001  {action}  {flags} {at // SECTOR} + {size // SECTOR} [app]"


def test_blkparse__only_queued_events__says_so_and_reads_them_when_asked(tmp_path: Path) -> None:
    path = file_of(tmp_path, lambda t, op, at, size: event(t, "Q", "RW"[op], at, size))
    said = refusal(path)
    assert "no request that can be played (passed over: events Q: 200); set events to queued" in said
    assert figures(path, events="queued") == RIGHT


def test_blkparse__discards_of_2_gib_are_split(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    gib = 2**30
    path.write_text("\n".join(event(at, "D", "DS", 2 * gib * at, 2 * gib) for at in range(4)))
    assert figures(path)[:2] == ({TRIM: 8}, {TRIM: 8 * gib})


def test_zstd__a_window_of_2_gib_and_a_skippable_frame_are_read(tmp_path: Path) -> None:
    path = file_of(tmp_path, msr)
    options = {zstd.CompressionParameter.window_log: 31}
    skippable = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc"
    path.write_bytes(skippable + zstd.compress(path.read_bytes(), options=options))
    assert figures(path) == RIGHT


def test_zip__one_member_is_read_and_several_are_named(tmp_path: Path) -> None:
    text = file_of(tmp_path, msr).read_text()
    path = tmp_path / "trace.zip"
    for count in (1, 2):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for number in range(count):
                archive.writestr(f"part{number}.csv", text)
        if count == 1:
            assert figures(path) == RIGHT
    assert "is a zip archive of 2 files ('part0.csv, part1.csv'); unpack it" in refusal(path)


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_tar_is_named_and_not_offered_to_skip_bad(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "trace.tar"
    data = file_of(tmp_path, msr).read_bytes()
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        member = tarfile.TarInfo("trace.csv")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    said = refusal(path)
    assert "is a tar archive; unpack it" in said
    assert "skip_bad" not in said


ODD_UNITS: list[tuple[str, Line, str]] = [
    (
        "ssdsim",
        lambda t, op, at, size: f"{t // 1000} 0 {at // SECTOR} 8 {1 - op}",
        "requests a second; the unit",
    ),
    (
        "disksim",
        lambda t, op, at, size: f"{seconds(t)} 0 {at // SECTOR} 8 {1 - op}",
        "requests a second; the",
    ),
    (
        "disksim",
        lambda t, op, at, size: f"{t / 10**6:.6f} 0 {at} {size} {1 - op}",
        "512 sectors; they may be",
    ),
]


@pytest.mark.parametrize(("name", "line", "said"), ODD_UNITS)
def test_columns_of_simulators_in_odd_units_are_refused_until_named(
    name: str, line: Line, said: str, tmp_path: Path
) -> None:
    path = file_of(tmp_path, line)
    other = {"ssdsim": "disksim (times in ms)", "disksim": "ssdsim (times in ns)"}[name]
    reason = refusal(path)
    assert f"fits {name} and {other} and the same columns with other units or bytes equally well" in reason
    assert said in reason
    assert f"give --set format={name}" in reason
    with pytest.warns(UserWarning, match=said):
        assert sum(figures(path, format=name)[0].values()) == 200


def test_a_fast_trace_of_a_simulator_is_not_doubted(tmp_path: Path) -> None:
    path = file_of(tmp_path, lambda t, op, at, size: f"{t // 10**6 * 1000} 0 {at // SECTOR} 8 {1 - op}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sum(figures(path)[0].values()) == 200


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (lambda t, op, at, size: f"12816637,h,0,Write,{at},{size},1", "all requests have the same time"),
        (lambda t, op, at, size: f"{t % 50_000},h,0,Write,{at},{size},1", "use the transform sort"),
        (lambda t, op, at, size: f"{t // 10**9},{at // SECTOR},{size // SECTOR},1,{t}", "200 volumes and"),
    ],
)
def test_figures_that_make_no_sense_are_doubted(tmp_path: Path, line: Line, said: str) -> None:
    path = file_of(tmp_path, line)
    with pytest.warns(UserWarning, match=said):
        figures(path)


def test_volumes_one_after_the_other_are_sorted(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    lines = [msr(*request).replace("srv", name) for name in ("a", "b") for request in REQUESTS]
    path.write_text("\n".join(lines))
    with pytest.warns(UserWarning, match=r"199 arrivals \(49.8%\) are earlier than one before them"):
        transforms = [{"kind": "sort"}, {"kind": "head", "requests": 4}]
        config = load_workload({"path": str(path), "transforms": transforms})
        assert isinstance(config, PlayedConfig)
        records = config.records().chunk()
    assert records["volume"].tolist() == [0, 1, 0, 1]
    assert (np.diff(records["time_ns"]) >= 0).all()


def test_what_was_understood_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns, line, _ = NAMELESS["milliseconds and bytes"]
    path = file_of(tmp_path, line, "# by hand")
    assert main(["trace", "info", str(path), "--columns", columns]) == 0
    said = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    time, op, at, size = REQUESTS[0]
    assert f"columns {columns}" in said
    offset = f"{at / 2**20:.1f} MiB of volume 0, {time / 10**6:.3f} ms"
    assert f"first_request {('read', 'write')[op]} {size // 1024} KiB at {offset}" in said
    assert "passed_over comment 1" in said


def test_standard_input_is_a_trace(tmp_path: Path) -> None:
    text = file_of(tmp_path, msr).read_bytes()
    command = [sys.executable, "-m", "ssdgym", "trace", "info", "-", "--json"]
    done = subprocess.run(command, input=text, capture_output=True, check=True)
    facts = json.loads(done.stdout)
    assert (facts["requests"], facts["bytes_read"]) == (200, RIGHT[1][READ])


def test_a_pipe_is_a_trace(tmp_path: Path) -> None:
    text = file_of(tmp_path, msr).read_bytes()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(text,))
    writer.start()
    assert figures(pipe) == RIGHT
    writer.join()

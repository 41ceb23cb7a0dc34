"""`ssdgym trace`: what is in a trace, and the same trace in another format."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ssdgym.workloads.synthetic.config import SyntheticTraceConfig
from tests.cli.conftest import Run

GIB = 2**30
START = 128166386783630075
#: Time in units of 100 ns, volume, operation, offset and size in bytes; the fourth goes on after the third.
REQUESTS = [
    (0, "hm,0", "Write", 0, 8192),
    (10_000_000, "hm,1", "Read", 4096, 4096),
    (20_000_000, "hm,0", "Write", 0, 4096),
    (30_000_000, "hm,0", "Write", 4096, 512),
    (30_000_000, "hm,0", "Read", 1 << 20, 65536),
]


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Five requests on two volumes, in a folder where the cache is empty."""
    monkeypatch.setenv("SSDGYM_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "made.csv"
    lines = [f"{START + at},{disk},{op},{offset},{size},100" for at, disk, op, offset, size in REQUESTS]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_info__json_has_the_figures_of_the_file(trace: Path, printed: Callable[..., Any]) -> None:
    found = printed("trace", "info", trace)
    assert found["format"] == "msr" and found["skipped_lines"] == 0
    assert (found["requests"], found["reads"], found["writes"]) == (5, 2, 3)
    assert (found["bytes_read"], found["bytes_written"]) == (69632, 12800)
    assert (found["unique_bytes_written"], found["exact_unique_bytes_written"]) == (8192, 8192)
    assert found["duration_s"] == 3.0
    assert found["sequential_share"] == 0.2
    assert found["volumes"] == {"hm_0": 4, "hm_1": 1}
    assert found["write_sizes_bytes"]["p50"] == 4096
    assert found["gaps_ns"]["mean"] == 3e9 / 4 and found["gaps_ns"]["max"] == 10**9


def test_info__text_gives_every_number_under_its_name(trace: Path, run: Run) -> None:
    lines = [" ".join(line.split()) for line in run(["trace", "info", trace]).out.splitlines()]
    assert lines[0] == f"{trace} (msr)"
    assert {"writes 3", "bytes_written 12,800", "sequential_share 0.2"} <= set(lines)
    assert {"volumes in all 2", "volumes requests on hm_0 4", "gaps_ns max 1,000,000,000"} <= set(lines)


def test_info__a_volume_with_square_brackets__is_printed_as_it_is(trace: Path, run: Run) -> None:
    trace.write_text(trace.read_text().replace("hm", "[/red]"))
    assert "requests on [/red]_0" in run(["trace", "info", trace]).out


def test_info__takes_transforms_in_order(trace: Path, printed: Callable[..., Any]) -> None:
    changed = printed(
        "trace", "info", trace, "--transform", "only(ops=write)", "--transform", "head(requests=2)"
    )
    assert (changed["requests"], changed["bytes_written"], changed["duration_s"]) == (2, 12288, 2.0)


def test_info__of_volumes_over_each_other__counts_a_place_once(
    trace: Path, printed: Callable[..., Any]
) -> None:
    apart, over = (
        printed("trace", "info", trace, "--set", f"volumes={how}") for how in ("end_to_end", "overlay")
    )
    assert apart["unique_bytes"] - over["unique_bytes"] == 4096
    assert over["volumes"] == apart["volumes"] == {"hm_0": 4, "hm_1": 1}


def test_info__of_a_yaml_file(trace: Path, tmp_path: Path, printed: Callable[..., Any]) -> None:
    path = tmp_path / "workload.yaml"
    path.write_text(f"kind: trace\npath: {trace}\ntransforms: [{{kind: volumes, keep: hm_1}}]\n")
    assert printed("trace", "info", path)["volumes"] == {"hm_1": 1}


def test_info__of_a_name_in_the_folder_of_traces(
    trace: Path, monkeypatch: pytest.MonkeyPatch, printed: Callable[..., Any]
) -> None:
    monkeypatch.setenv("SSDGYM_TRACES", str(trace.parent))
    assert printed("trace", "info", "trace:made")["requests"] == 5


def test_info__counts_the_bad_lines_that_it_may_skip(
    trace: Path, refusal: Callable[..., str], printed: Callable[..., Any]
) -> None:
    with trace.open("a") as file:
        file.write(",,\n")
    assert "line 6" in refusal("trace", "info", trace)
    assert printed("trace", "info", trace, "--set", "skip_bad=1")["skipped_lines"] == 1


def test_info__draws_and_names_the_picture(trace: Path, tmp_path: Path, run: Run) -> None:
    picture = tmp_path / "new" / "trace.png"
    assert run(["trace", "info", trace, "--plot", picture]).out.splitlines()[-1] == str(picture)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_info__refuses_what_is_no_trace(trace: Path, refusal: Callable[..., str]) -> None:
    assert "zipf99: is a generated workload of the kind zipf, not a trace; give" in refusal(
        "trace", "info", "zipf99"
    )
    assert "missing.csv" in refusal("trace", "info", trace.parent / "missing.csv")
    said = refusal("trace", "info", trace, "--transform", "only(ops=trim)")
    assert "no request is left after the transforms" in said


REAL = [
    # file, requests, writes in %, decimals of it, written GiB, unique written GiB, decimals of both
    ("cloudphysics-w92.csv.gz", 113_872, 58.7, 1, 2.243, 0.796, 3),
    ("cloudphysics-w92.vscsi.gz", 113_872, 58.7, 1, 2.243, 0.796, 3),
    ("msr-hm_0-head.csv.gz", 7_016, 17, 0, None, None, 0),
    ("msr-mds_0-head.csv.gz", 1_000, 100, 0, None, None, 0),
    ("msr-proj_0-head.csv.gz", 1_000, 100, 0, None, None, 0),
    ("msr-wdev_1.csv", 1_055, 100, 0, None, None, 0),
    ("msr-wdev_3.csv", 682, 98, 0, None, None, 0),
    ("msr-prn_0-nosize.csv.gz", 96_568, 61, 0, None, None, 0),
    ("ssdsim-fin1-head.ascii.gz", 10_000, 59, 0, 0.028, 0.014, 3),
    ("mqsim-tpcc-small.trace.gz", 6_999, 37, 0, None, None, 0),
    ("disksim-postmark.trace.gz", 62_257, 16.8, 1, 8.3, 5.8, 1),
    ("systor17-sample.csv.gz", 999, 17, 0, None, None, 0),
    ("tencent-sample.csv.bz2", 50_000, 51, 0, 0.81, None, 2),
    ("blkparse-sample.txt.gz", 673, 76, 0, 0.125, None, 3),
]


@pytest.mark.skipif("SSDGYM_TRACES" not in os.environ, reason="SSDGYM_TRACES names no folder with traces")
@pytest.mark.parametrize(
    ("name", "requests", "writes_percent", "decimals", "written_gib", "unique_gib", "gib_decimals"),
    REAL,
    ids=[row[0] for row in REAL],
)
def test_info__of_real_traces(
    name: str,
    requests: int,
    writes_percent: float,
    decimals: int,
    written_gib: float | None,
    unique_gib: float | None,
    gib_decimals: int,
    printed: Callable[..., Any],
) -> None:
    path = Path(os.environ["SSDGYM_TRACES"]) / name
    if not path.is_file():
        pytest.skip(f"there is no {name} in SSDGYM_TRACES")
    found = printed("trace", "info", path, "--set", f"skip_bad={int(name == 'msr-prn_0-nosize.csv.gz')}")
    assert found["requests"] == requests
    assert round(100 * found["writes"] / requests, decimals) == writes_percent
    for column, published in (("bytes_written", written_gib), ("unique_bytes_written", unique_gib)):
        if published is not None:
            assert round(found[column] / GIB, gib_decimals) == published


def test_convert__prints_the_file_and_its_requests(trace: Path, printed: Callable[..., Any]) -> None:
    out = trace.parent / "new" / "out.csv.zst"
    found = printed("trace", "convert", trace, out, "--to", "msr")
    assert (found["file"], found["format"], found["requests"]) == (str(out), "msr", 5)
    assert found["not in the new file"] == ["the time of the first request", "response"]
    assert found["the same for every request of the new file"] == {"response": "0"}
    before, after = printed("trace", "info", trace), printed("trace", "info", out)
    apart = {"source", "first_request"}  # times of the new file count from the first request
    assert {**after, **dict.fromkeys(apart)} == {**before, **dict.fromkeys(apart)}


def test_convert__carries_out_transforms_rounds_times_and_says_what_changed(trace: Path, run: Run) -> None:
    out = trace.parent / "out.csv"
    arguments = ["trace", "convert", trace, out, "--to", "tencent", "--round-times"]
    transforms = ["--transform", "only(ops=write)", "--transform", "scale_time(factor=0.25)"]
    lines = [" ".join(line.split()) for line in run([*arguments, *transforms]).out.splitlines()]
    assert {"requests 3", "times rounded down to the clock of the format 2"} <= set(lines)
    assert {"volumes renamed 1", "new name of volume hm_0 0"} <= set(lines)


def test_convert__says_how_many_bad_lines_were_left_out(trace: Path, run: Run) -> None:
    trace.write_text(trace.read_text() + "what is this\n")
    out = trace.parent / "out.csv"
    said = run(["trace", "convert", trace, out, "--to", "msr", "--set", "skip_bad=3"]).out
    assert "bad lines left out 1" in " ".join(said.split())


def test_convert__of_a_synthetic_trace_leaves_nothing_out(tmp_path: Path, run: Run) -> None:
    out = tmp_path / "out.fio"
    arguments = ["trace", "convert", "synthetic:hm_0", out, "--to", "fio_v3", "--round-times"]
    assert "not in the new file" not in run([*arguments, "--transform", "head(requests=3)"]).out


SYNTHETIC = """\
kind: synthetic
name: small
reads: {requests: 20000, bytes: 160MiB, unique_bytes: 60MiB}
writes: {requests: 30000, bytes: 240MiB, unique_bytes: 30MiB}
duration_s: 100
address_space_bytes: 256MiB
sources: {reads.requests: table 1, reads.bytes: table 1, writes.unique_bytes: table 1}
assumed:
"""


def test_info__of_a_synthetic_trace_stands_beside_what_is_published(
    tmp_path: Path, printed: Callable[..., Any], run: Run
) -> None:
    path = tmp_path / "small.yaml"
    sourced = ("reads.requests", "reads.bytes", "writes.unique_bytes")
    assumed = [name for name in SyntheticTraceConfig.noted_names() if name not in sourced]
    path.write_text(SYNTHETIC + "".join(f"  {name}: made up\n" for name in assumed))
    found = printed("trace", "info", path)
    columns = {row["column"]: row for row in found["published"]}
    assert set(columns) == {"reads", "bytes_read", "unique_bytes_written"}
    assert columns["reads"]["generated"] == columns["reads"]["published"] == 20_000
    assert abs(columns["unique_bytes_written"]["deviation_percent"]) < 2
    assert sorted(found["assumed"]) == sorted(assumed)
    text = run(["trace", "info", path]).out
    assert "deviation" in text and "made up" in text


#: A small device that only counts.
SMALL = ("--device", "tiny", "--timing", "none")


def test_run__tells_what_was_left_out_of_a_trace(trace: Path, printed: Callable[..., Any]) -> None:
    trace.write_text(trace.read_text() + "what is this\n")
    options = ["--transform", "only(ops=write)"]
    for field in ("skip_bad=1", "addresses=fold", "loops=2"):
        options += ["--set", field]
    found = printed("run", *SMALL, "--workload", trace, *options)
    assert found["metrics"]["workload"]["skipped_lines"] == 1
    assert found["metrics"]["workload"]["requests"] == 3
    assert found["metrics"]["requests"] == 6


def test_run_and_info__a_window_of_a_trace(trace: Path, printed: Callable[..., Any]) -> None:
    whole = printed("trace", "info", trace)["requests"]
    parts = [
        printed("trace", "info", trace, "--set", f"window={ends}")["requests"]
        for ends in ([0, 0.5], [0.5, 1])
    ]
    assert sum(parts) == whole and min(parts) > 0
    found = printed("run", *SMALL, "--workload", trace, "--set", "window=[0, 0.5]", "--set", "start=1")
    assert found["metrics"]["workload"]["requests"] == parts[0]
    assert found["metrics"]["requests"] == parts[0] - 1


def test_convert__refuses_to_replace_files(trace: Path, refusal: Callable[..., str], run: Run) -> None:
    text = trace.read_text()
    said = refusal("trace", "convert", trace, trace, "--to", "msr", "--overwrite")
    assert "is the trace that is read" in said
    taken = trace.parent / "taken.csv"
    taken.write_text("kept")
    assert "give --overwrite" in refusal("trace", "convert", trace, taken, "--to", "msr")
    assert (trace.read_text(), taken.read_text()) == (text, "kept")
    said = run(["trace", "convert", trace, taken, "--to", "msr", "--overwrite"]).out
    assert "requests 5" in " ".join(said.split())


def test_convert__refuses_what_the_format_cannot_hold(trace: Path, refusal: Callable[..., str]) -> None:
    out = trace.parent / "out.csv"
    assert "volume" in refusal("trace", "convert", trace, out, "--to", "cloudphysics")
    said = refusal("trace", "convert", trace, out, "--to", "tencent", "--transform", "scale_time(factor=0.3)")
    assert "request 2" in said
    assert "write one of alibaba" in refusal("trace", "convert", trace, out, "--to", "blkparse")
    assert not out.exists()


def test_info__of_a_synthetic_trace_names_assumptions(trace: Path, printed: Callable[..., Any]) -> None:
    found = printed("trace", "info", "synthetic:hm_0", "--transform", "head(requests=1000)")
    assert found["format"] == "synthetic" and found["requests"] == 1000
    assert found["published"] == []  # the published figures are of the whole trace
    assert found["assumed"]

"""Which format a file is in: recognised from what it holds, or named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ssdgym.errors import SsdgymError
from ssdgym.workloads import WRITE
from ssdgym.workloads.traces.loading import TraceConfig
from ssdgym.workloads.traces.reading.text import TextFormat
from ssdgym.workloads.traces.registry import format_of, formats, recognise
from tests.workloads.traces.formats.reading import failure, read, write_lines
from tests.workloads.traces.test_any_file import rows_of


def test_the_configuration_knows_every_format(tmp_path: Path) -> None:
    for name in ("auto", *formats()):
        assert TraceConfig(path=tmp_path, format=name).format == name


def test_a_named_format_is_not_recognised_but_believed(tmp_path: Path) -> None:
    path = write_lines(tmp_path, ["1,Write,4096"])
    assert recognise(path).name == "msr_no_size"
    assert format_of(path, "msr").name == "msr"
    assert failure(path, "msr").startswith("line 1 has 3 columns instead of 7")


def test_columns__words_with_semicolons__and_too_few_of_them(tmp_path: Path) -> None:
    path = write_lines(tmp_path, ["7.5;postgres;W;632;4", "8.5;cron job;R;240;4"])
    columns = "time:ms;process;op;offset:sector;size:KiB"
    assert len(TraceConfig(path=path, columns=columns).records().chunk()) == 2
    fewer = TraceConfig(path=path, columns="time:ms op offset:sector size:KiB")
    with pytest.raises(SsdgymError, match="line 1 has 5 columns instead of 4"):
        fewer.records().chunk()


def test_the_format_that_most_lines_fit_is_recognised(tmp_path: Path) -> None:
    lines = ["0 0 8 8 1", "# a comment", "7,R,0,512,5", "8,W,0,512,6", "1,2,3"]
    assert recognise(write_lines(tmp_path, lines)).name == "alibaba"


def test_whole_times_are_ssdsim_and_decimal_ones_disksim(tmp_path: Path) -> None:
    assert recognise(write_lines(tmp_path, ["7 0 8 8 1", "8 0 8 8 0"])).name == "ssdsim"
    assert recognise(write_lines(tmp_path, ["7.5 0 8 8 1", "8.5 0 8 8 0"])).name == "disksim"


def test_only_whole_lines_of_a_long_file_are_looked_at(tmp_path: Path) -> None:
    lines = [f"{time} 0 {time} 8 1" for time in range(20_000)]
    assert recognise(write_lines(tmp_path, lines)).name == "ssdsim"


def test_a_doubtful_case_is_refused_with_the_candidates(tmp_path: Path) -> None:
    path = write_lines(tmp_path, ["7,R,0,512,5", "0,8,512,r,0.5"])
    assert failure(path) == (
        "the first lines fit the formats alibaba and spc equally well; name one as format."
    )
    assert read(path, "spc", skip_bad=1)[0][3] == "0"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "the trace is empty; give a file with requests in it."),
        (b"1,2\n", "the first line has 2 columns and the file looks like none of the formats alibaba, "),
        (b"one two three\n", "the first line has 3 columns and the file looks like none of the formats "),
        (bytes(range(256)) * 40, "the first line has binary data and the file looks like none of "),
        (b"x" * 5_000_000, "the first line has 1 column and the file looks like none of the formats "),
    ],
    ids=["empty", "commas", "blanks", "binary", "one line"],
)
def test_what_is_no_trace_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "trace"
    path.write_bytes(content)
    assert failure(path).startswith(said)


def test_comments_before_the_first_line__are_passed_over_by_advice_and_reader(tmp_path: Path) -> None:
    path = write_lines(tmp_path, ["# of our tool", "seq;timestamp;host;len_kb;action;lba", "1;17.5;a;4;WR;8"])
    assert "the first line has 6 columns" in failure(path)
    assert "--columns '- time:s - size:B op offset:B'" in failure(path)
    columns = "- time:s host size:KiB op:WR=write offset:sector"
    (row,) = rows_of(path, TextFormat(name="columns", text=columns, separator=None))
    assert row[1:] == (8 * 512, 4096, WRITE)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SsdgymError, match="cannot be read"):
        recognise(tmp_path)


@pytest.mark.skipif(
    "SSDGYM_TRACES" not in os.environ, reason="SSDGYM_TRACES does not name a folder of traces"
)
@pytest.mark.parametrize(
    ("file", "name", "requests", "write_percent", "bad"),
    [
        ("cloudphysics-w92.csv.gz", "cloudphysics", 113_872, 58.7, 0),
        ("cloudphysics-w92.vscsi.gz", "vscsi", 113_872, 58.7, 0),
        ("msr-hm_0-head.csv.gz", "msr", 7_016, 17.0, 0),
        ("msr-wdev_1.csv", "msr", 1_055, 100.0, 0),
        ("msr-prn_0-nosize.csv.gz", "msr_no_size", 96_568, 61, 1),
        ("ssdsim-fin1-head.ascii.gz", "ssdsim", 10_000, 59, 0),
        ("mqsim-tpcc-small.trace.gz", "ssdsim", 6_999, 37, 0),
        ("disksim-postmark.trace.gz", "disksim", 62_257, 16.8, 0),
        ("systor17-sample.csv.gz", "systor17", 999, 17, 0),
        ("tencent-sample.csv.bz2", "tencent", 50_000, 51, 0),
        ("blkparse-sample.txt.gz", "blkparse", 673, 76, 0),
    ],
)
def test_real_traces_are_recognised_and_have_their_known_counts(
    file: str, name: str, requests: int, write_percent: float, bad: int
) -> None:
    path = Path(os.environ["SSDGYM_TRACES"]) / file
    assert recognise(path).name == name
    rows = read(path, skip_bad=bad)
    assert len(rows) == requests
    writes = sum(row[4] == WRITE for row in rows)
    assert 100 * writes / len(rows) == pytest.approx(write_percent, abs=0.05 if write_percent % 1 else 0.6)

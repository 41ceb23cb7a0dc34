"""Trace formats that others add: one file with a call of `register_format`, found by an entry point."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ssdgym.errors import SsdgymError
from ssdgym.workloads import load_workload, register_format
from ssdgym.workloads.traces.formats.csv import FORMATS
from ssdgym.workloads.traces.loading import TraceConfig

FORMAT = '''
"""Lines of a time in us, R or W, and a page of 4 KiB, between semicolons."""

from ssdgym.workloads import register_format
from ssdgym.workloads.traces.reading.text import TextFormat

register_format(TextFormat(name="pages", text="time:us op offset:4KiB size=4KiB", separator=";"))
'''

USE = """
from ssdgym.workloads import load_workload, open_workload

for source in ("trace.txt", {"kind": "trace", "path": "trace.txt", "format": "pages"}):
    stream = open_workload(load_workload(source), logical_pages=10, page_size=4096, seed=0)
    print(stream.next(9)[["arrival_ns", "lpn", "op"]].tolist())
"""


def test_entry_point__adds_a_format_that_is_recognised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSDGYM_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "pages_format.py").write_text(FORMAT)
    metadata = tmp_path / "pages_format-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: pages-format\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text("[ssdgym.trace_formats]\npages = pages_format\n")
    (tmp_path / "trace.txt").write_text("5;R;3\n7;W;9\n")
    script = tmp_path / "use.py"
    script.write_text(USE)
    outputs = []
    for unit in ("time:us", "time:100ns"):  # the cache is not used for a format that has changed
        (tmp_path / "pages_format.py").write_text(FORMAT.replace("time:us", unit))
        done = subprocess.run([sys.executable, "-B", script], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout.splitlines())
    assert outputs == [["[(0, 0, 0), (2000, 1, 1)]"] * 2, ["[(0, 0, 0), (200, 1, 1)]"] * 2]


def test_register__a_name_that_is_taken__refused() -> None:
    with pytest.raises(SsdgymError, match="the trace format msr is registered already; choose another name"):
        register_format(FORMATS[0])


@pytest.mark.parametrize("name", ["mrs", 5, None, ["msr"]])
def test_format__of_no_known_name__refused_with_the_known_ones(name: object) -> None:
    with pytest.raises(SsdgymError, match=r"field format must be 'auto', 'alibaba', .* or 'vscsi'"):
        load_workload({"kind": "trace", "path": "x", "format": name})
    assert load_workload({"kind": "trace", "path": "x"}) == TraceConfig(path=Path("x"), format="auto")

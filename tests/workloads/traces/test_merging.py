"""Several files, or those in a folder, are one trace in order of time."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ssdgym  # noqa: F401
from ssdgym.cli import main
from ssdgym.workloads import load_workload
from ssdgym.workloads.traces import loading
from ssdgym.workloads.traces.loading import merged
from ssdgym.workloads.traces.reading.fields import VolumeNumbers
from ssdgym.workloads.traces.record import RECORD, Records, Volumes
from tests.workloads.traces.test_cases import NAMELESS, REQUESTS, RIGHT, figures, file_of, msr, refusal


def parts(folder: Path) -> list[str]:
    """Write every third request to one of three files, each with a volume of its own."""
    paths = []
    for number, host in enumerate(("one", "two", "six")):
        path = folder / f"part{number}.csv"
        lines = [msr(*request).replace("srv", host) for request in REQUESTS[number::3]]
        path.write_text("\n".join(lines))
        paths.append(str(path))
    return paths


@pytest.mark.parametrize("how", ["list", "reversed list", "folder", "text"])
def test_files_are_one_trace_in_order_of_time(how: str, tmp_path: Path) -> None:
    paths = parts(tmp_path)
    (tmp_path / ".hidden").write_text("no trace")
    path = {"list": paths, "reversed list": paths[::-1], "folder": str(tmp_path), "text": ",".join(paths)}[
        how
    ]
    if how != "text":
        assert figures([path] if isinstance(path, str) else path) == RIGHT
    config = load_workload(path if isinstance(path, str) else {"path": path})
    records = config.records().chunk()  # type: ignore[attr-defined]
    assert (
        records["time_ns"] // 100 == [request[0] // 100 - REQUESTS[0][0] // 100 for request in REQUESTS]
    ).all()
    assert (records["offset_bytes"] == [request[2] for request in REQUESTS]).all()
    names = config.records().volumes.names  # type: ignore[attr-defined]
    assert [names[volume] for volume in records["volume"][:4]] == ["one_0", "two_0", "six_0", "one_0"]


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    paths = parts(tmp_path)
    before = load_workload({"path": paths}).trace_hashes()
    (tmp_path / "part1.csv").write_text(msr(*REQUESTS[1]))
    assert load_workload({"path": paths}).trace_hashes() != before
    assert sum(figures(paths)[0].values()) == 200 - len(REQUESTS[1::3]) + 1


def test_files_of_two_formats_are_refused(tmp_path: Path) -> None:
    paths = parts(tmp_path)
    (tmp_path / "part1.csv").write_text("1.5,8,8,1,0\n" * 3)
    said = refusal(tmp_path)
    assert said == (
        f"{paths[1]}: is read as tencent and {paths[0]} as msr; give files of one format, or name it."
    )


def test_clocks_that_differ_are_refused(tmp_path: Path) -> None:
    paths = parts(tmp_path)
    (tmp_path / "part2.csv").write_text("5,a,0,Read,0,512,1\n")
    said = refusal(tmp_path)
    assert said.startswith(f"{paths[1]}: begins more than 10 years after {paths[2]}, so their clocks differ")


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path) == f"{tmp_path}: the folder holds no file; name one that holds traces."


@pytest.mark.parametrize("path", [[], 5, [5]])
def test_what_is_no_path_is_refused(path: object) -> None:
    with pytest.raises(Exception, match="must be a file, a folder or a list of files"):
        load_workload({"path": path})


def test_bad_lines_of_all_files_are_counted(tmp_path: Path) -> None:
    paths = parts(tmp_path)
    for path in paths:
        with Path(path).open("a") as file:
            file.write("\nnonsense\n")
    config = load_workload({"path": paths, "skip_bad": 1})
    assert config.origin()["skipped_lines"] == 3  # type: ignore[attr-defined]


def test_an_environment_plays_files_by_their_columns(tmp_path: Path) -> None:
    columns, line, around = NAMELESS["pages of 4 KiB"]
    path = str(file_of(tmp_path, line, *around))
    envs = [
        gymnasium.make("ssdgym/EraseVictim-v0", workload=workload, horizon=20)
        for workload in ({"path": path, "columns": columns}, {"path": [path], "columns": columns})
    ]
    first, second = (env.reset(seed=3)[0] for env in envs)
    assert all(np.array_equal(first[name], second[name]) for name in first)
    for env in envs:
        env.close()


def test_evaluate_and_fit_read_by_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns, line, around = NAMELESS["pages of 4 KiB"]
    path = str(file_of(tmp_path, line, *around))
    command = ["evaluate", "-d", "demo", "-w", path, "--columns", columns, "-p", "greedy", "--seeds", "1"]
    command += ["--host-pages", "100", "--warmup", "0", "--workers", "1", "--out", str(tmp_path / "out")]
    assert main([*command, "--json"]) == 0
    assert '"trace"' in capsys.readouterr().out
    assert main(["evaluate", "--columns", columns]) == 2
    assert "--set and --columns change the workloads of --workload" in capsys.readouterr().err
    assert main(["trace", "fit", path]) == 2
    assert "looks like none of the formats" in capsys.readouterr().err


class Kept:
    """Records in memory."""

    def __init__(self, records: Records, first_ns: int, name: str) -> None:
        self.volumes = Volumes((name,), (2**40,))
        self.first_ns = first_ns
        self._records = records

    def records(self, first: int, count: int) -> Records:
        return self._records[first : first + count].copy()


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 50), st.lists(st.integers(-9, 30), min_size=1, max_size=12)),
        min_size=1,
        max_size=5,
    ),
    st.integers(1, 20),
)
def test_any_files_are_merged_as_by_sorting_their_arrivals(
    files: list[tuple[int, list[int]]], held: int
) -> None:
    kept, expected = [], []
    base = min(first for first, _ in files)
    for number, (first, times) in enumerate(files):
        times = [0, *times]
        rows = [(time, 0, 512, 0, 1) for time in times]
        kept.append(Kept(np.array(rows, RECORD), first, f"v{number}"))
        arrivals = np.maximum.accumulate(times) + first - base
        expected += [
            (arrival, number, place, time + first - base)
            for place, (arrival, time) in enumerate(zip(arrivals.tolist(), times, strict=True))
        ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loading, "_HELD", held)
        blocks = list(merged([Path("a")] * len(kept), kept, VolumeNumbers(Path("a"))))
    records = np.concatenate(blocks)
    assert len(records) == len(expected)
    arrivals = [arrival for arrival, *_ in sorted(expected)]
    place = [0] * len(files)
    own = {(number, where): (arrival, time) for arrival, number, where, time in expected}
    for row, arrival in zip(records, arrivals, strict=True):
        number = int(row["volume"])
        assert own[number, place[number]] == (arrival, int(row["time_ns"]))
        place[number] += 1

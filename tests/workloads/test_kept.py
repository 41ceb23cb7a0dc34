"""Workloads whose requests are drawn once."""

from __future__ import annotations

import copy
import errno
from pathlib import Path

import numpy as np
import pytest

from ssdgym.errors import SsdgymError
from ssdgym.experiments.runs.run import run_policy
from ssdgym.experiments.runs.spec import RunSpec
from ssdgym.requests import Requests
from ssdgym.workloads import RequestStream
from ssdgym.workloads import kept as keeping
from ssdgym.workloads.base import WorkloadConfig
from ssdgym.workloads.kept import kept, pages_read_first
from ssdgym.workloads.stream import load_workload
from ssdgym.workloads.synthetic.config import SyntheticTraceConfig

SHORT = ({"kind": "scale_space", "factor": 200},)


def short(name: str = "stg_0-memory") -> WorkloadConfig:
    return load_workload({**load_workload(f"synthetic:{name}").model_dump(), "transforms": SHORT})


def opened(workload: WorkloadConfig, seed: int, pages: int = 5000) -> RequestStream:
    return workload.open(pages, 16384, seed)


def all_of(stream: RequestStream) -> Requests:
    return stream.take(1 << 30)


@pytest.mark.parametrize("pages", [5000, 70_000])
def test_kept__has_the_requests_that_are_drawn_of_each_seed(pages: int) -> None:
    for seed in (1, 2, 1):
        found, drawn = (opened(workload, seed, pages) for workload in (kept(short()), short()))
        assert found.report == drawn.report
        np.testing.assert_array_equal(all_of(found), all_of(drawn))


def test_kept__an_endless_workload__goes_on_behind_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "_MOST_REQUESTS", 100_000)
    for _ in range(2):
        found, drawn = (
            opened(workload, 4) for workload in (kept(load_workload("mixed")), load_workload("mixed"))
        )
        for count in (1, 70_000, 50_000, 40_000):
            np.testing.assert_array_equal(found.take(count), drawn.take(count))
            np.testing.assert_array_equal(copy.deepcopy(found).take(count), copy.deepcopy(drawn).take(count))


def test_kept__a_portion_can_be_changed_and_a_stream_copied() -> None:
    stream = opened(kept(short()), 3)
    stream.next(10)["lpn"] = 0
    np.testing.assert_array_equal(all_of(copy.deepcopy(stream)), all_of(stream))
    assert opened(kept(short()), 3).next(10)["lpn"].any()


def test_pages_read_first__kept_are_those_of_the_workload() -> None:
    for seed in (1, 2, 1):
        found, drawn = (
            np.concatenate(list(pages_read_first(workload, 5000, 16384, seed)))
            for workload in (kept(short()), short())
        )
        np.testing.assert_array_equal(found, drawn)
        assert len(found)


def test_kept__a_trace_file_and_a_workload_in_python_are_not(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("128166372003061629,hm,0,Write,0,4096,10\n")
    array = opened(load_workload("mixed"), 0).take(10)
    for workload in (load_workload(trace), load_workload(array), load_workload(lambda seed, pages: array)):
        assert kept(workload) is workload


def test_kept__others_are_told_apart_by_their_fields() -> None:
    """By which a preconditioned device is kept."""
    one, other = (kept(load_workload(name)).model_dump_json() for name in ("hot80", "hot90"))
    assert one != other and kept(load_workload("hot80")).model_dump_json() == one


def test_kept__is_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []
    draw = SyntheticTraceConfig.source
    monkeypatch.setattr(SyntheticTraceConfig, "source", lambda *args: drawn.append(args) or draw(*args))
    for preconditioning in ("reads", "repeat", "reads_repeat"):
        for policy in ("greedy", "fifo"):
            run = RunSpec("tiny", short("src2_0-memory"), policy, seed=9, preconditioning=preconditioning)
            assert run_policy(run).metrics["unmapped_reads"] == 0 or preconditioning == "repeat"
    assert len(drawn) == 1


def test_kept__elsewhere_with_a_warning_if_the_cache_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SSDGYM_CACHE_DIR", str(tmp_path / "file"))
    with pytest.warns(RuntimeWarning, match="file: cannot be written to .* set SSDGYM_CACHE_DIR"):
        stream = opened(kept(short()), 11)
    np.testing.assert_array_equal(all_of(stream), all_of(opened(short(), 11)))


def test_kept__says_where_there_is_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(keeping.tempfile, "TemporaryFile", refuse)
    monkeypatch.setattr(keeping, "cache_is_writable", lambda folder: True)
    with pytest.raises(SsdgymError, match="requests cannot be kept there"):
        opened(kept(short()), 12)

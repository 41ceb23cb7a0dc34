"""Synthetic traces whose records are drawn once."""

from __future__ import annotations

import copy
import errno
from pathlib import Path

import numpy as np
import pytest

from ssdgym.errors import SsdgymError
from ssdgym.experiments.runs.run import run_policy
from ssdgym.experiments.runs.spec import RunSpec
from ssdgym.workloads.stream import load_workload
from ssdgym.workloads.synthetic.config import SyntheticTraceConfig
from ssdgym.workloads.synthetic.twin import kept
from ssdgym.workloads.traces.record import RecordSource

SHORT = ({"kind": "scale_space", "factor": 200},)


def short(name: str = "stg_0-memory") -> SyntheticTraceConfig:
    trace = load_workload({**load_workload(f"synthetic:{name}").model_dump(), "transforms": SHORT})
    assert isinstance(trace, SyntheticTraceConfig)
    return trace


def all_of(source: RecordSource) -> np.ndarray:
    parts = []
    while len(chunk := source.chunk()):
        parts.append(chunk)
    return np.concatenate(parts)


def test_kept__has_the_records_that_are_drawn_of_each_seed() -> None:
    trace = short()
    for seed in (1, 2, 1):
        np.testing.assert_array_equal(all_of(kept(trace).records(seed)), all_of(trace.records(seed)))


def test_kept__a_chunk_can_be_changed_and_a_cursor_copied() -> None:
    source = kept(short()).records(3)
    source.chunk()["offset_bytes"] = 0
    np.testing.assert_array_equal(all_of(copy.deepcopy(source)), all_of(source))
    assert all_of(kept(short()).records(3))["offset_bytes"][:100].any()


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
        source = kept(short()).records(11)
    np.testing.assert_array_equal(all_of(source), all_of(short().records(11)))


def test_kept__says_where_there_is_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("ssdgym.workloads.synthetic.twin.tempfile.TemporaryFile", refuse)
    monkeypatch.setattr("ssdgym.workloads.synthetic.twin.cache_is_writable", lambda folder: True)
    with pytest.raises(SsdgymError, match="a synthetic trace cannot be kept there"):
        kept(short()).records(12)

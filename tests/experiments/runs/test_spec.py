"""What a run depends on: complete, the same wherever it is written, and enough to run it again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ssdgym
from ssdgym.config.device import load_device
from ssdgym.config.loading import available
from ssdgym.errors import SsdgymError
from ssdgym.experiments.runs import spec
from ssdgym.experiments.runs.spec import RunSpec, run_key, runs_of_spec, spec_of, spec_text
from ssdgym.workloads import page_writes
from ssdgym.workloads.stream import load_workload

BASE: dict[str, Any] = {
    "device": "tiny",
    "workload": "uniform",
    "policy": "greedy",
    "seed": 1,
    "host_pages": 100,
}


def key(**changes: Any) -> str:
    return run_key(spec_of(RunSpec(**(BASE | changes))))


def test_key__a_seed_of_numpy_is_its_number() -> None:
    assert key(seed=np.uint64(2**64 - 1)) == key(seed=2**64 - 1)
    with pytest.raises(SsdgymError, match="the seed of a run must be a whole number from 0 to"):
        key(seed=2**64)


@pytest.mark.parametrize(
    "changes",
    [
        {"device": "demo"},
        {"workload": "zipf99"},
        {"policy": "fifo"},
        {"seed": 2},
        {"host_pages": 101},
        {"warmup": 1},
        {"preconditioning": "fill"},
        {"ftl": (("gc.free_blocks", 3),)},
        {"days": 3},
        {"day_requests": 5},
        {"sample_pages": 7},
    ],
    ids=lambda changes: ",".join(changes),
)
def test_key__changes_with_everything_that_matters(changes: dict[str, Any]) -> None:
    assert key(**changes) != key()


def test_key__a_preconditioning_is_the_same_as_text_and_as_a_mapping() -> None:
    texts = {key(preconditioning=how) for how in ("fill(share=0.95)", {"kind": "fill", "share": 0.95})}
    assert len(texts) == 1
    assert key(preconditioning={"kind": "workload"}) == key(preconditioning="workload")


@pytest.mark.parametrize(
    "changes",
    [
        {"label": "another name"},
        {"device_label": "another name"},
        {"device": load_device("tiny").model_copy(update={"name": "mine", "description": "of mine"})},
        {"ftl": (("gc.free_blocks", 2),)},
    ],
    ids=["workload's label", "device's label", "device's name", "the device's own FTL"],
)
def test_key__is_the_same_whatever_things_are_called(changes: dict[str, Any]) -> None:
    assert key(**changes) == key()


def test_key__defaults_of_a_policy_s_parameters_may_be_written_out() -> None:
    assert key(policy="d_choices") == key(policy="d_choices(d=10)") != key(policy="d_choices(d=9)")


def test_key__changes_with_the_version_and_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key()
    monkeypatch.setattr(ssdgym, "__version__", "99")
    other_version = key()
    monkeypatch.setattr("ssdgym.experiments.runs.spec.engine_hash", lambda: "another")
    assert len({before, other_version, key()}) == 3


@pytest.mark.parametrize(
    ("changes", "file"),
    [
        ({}, "policy/block_order.py"),
        ({"policy": None, "agent": "random_action"}, "policy/block_order.py"),
        ({"policy": None, "agent": "random_action"}, "baselines/victims/greedy.py"),
    ],
)
def test_key__changes_with_code_that_rules_and_proposers_run(
    changes: dict[str, Any], file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources_hash, read = spec._sources_hash, Path.read_bytes
    before = key(**changes)
    sources_hash.cache_clear()
    monkeypatch.setattr(Path, "read_bytes", lambda path: read(path) + b"#" * path.as_posix().endswith(file))
    after = key(**changes)
    sources_hash.cache_clear()
    assert after != before


def test_key__changes_with_the_content_of_a_trace(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("128166372003061629,hm,0,Write,0,4096,100\n")
    changes = {"workload": str(trace), "host_pages": None}
    before = key(**changes)
    trace.write_text("128166372003061629,hm,0,Write,4096,4096,100\n" * 2)
    assert key(**changes) != before


@pytest.mark.parametrize("name", available("workloads"))
def test_spec__of_every_workload_is_read_back_from_json(name: str) -> None:
    run = RunSpec(**(BASE | {"workload": name}))
    spec = json.loads(spec_text(spec_of(run)))
    (again,) = runs_of_spec(spec, "here")
    assert again.workload == load_workload(name) and again.device == load_device("tiny")
    assert spec_of(again) == spec_of(run)
    assert (again.workload_name, again.device_name) == (name, "tiny")


@pytest.mark.parametrize("name", ["days", "day_requests", "sample_pages"])
def test_spec__has_some_fields_only_where_they_are_given(name: str) -> None:
    assert name not in spec_of(RunSpec(**BASE))
    (again,) = runs_of_spec(spec_of(RunSpec(**BASE, **{name: 3})), "row 1")
    assert getattr(again, name) == 3


def test_spec__of_an_agent_names_its_batch_and_the_hash_of_its_file(tmp_path: Path) -> None:
    agent = tmp_path / "agent.zip"
    agent.write_bytes(b"weights")
    run = RunSpec(**(BASE | {"policy": "mine", "agent": agent}))
    spec = spec_of(run, [1, 2])
    assert [again.seed for again in runs_of_spec(spec, "here")] == [1, 2]
    assert run_key(spec) != run_key(spec_of(run, [1]))
    agent.write_bytes(b"others")
    assert run_key(spec) != run_key(spec_of(run, [1, 2]))
    with pytest.raises(SsdgymError, match="row 3: the agent .* has changed"):
        runs_of_spec(spec, "results.csv, row 3")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": 99}, "another version"),
        ({"traces": ["0"]}, "a trace that it played has changed"),
        ({"names": None}, "does not describe a run"),
        ({"ftl": 3}, "does not describe a run"),
        ({"device": {"name": "x"}}, "field geometry is missing"),
    ],
)
def test_spec__a_damaged_one_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(SsdgymError, match=said):
        runs_of_spec({**spec_of(RunSpec(**BASE)), **change}, "results.csv, row 1")


def test_spec__of_a_workload_made_in_python__refused() -> None:
    """Nobody could run it again from what is written."""
    with pytest.raises(SsdgymError, match="a workload made in Python cannot be named in results; reg"):
        spec_of(RunSpec(**(BASE | {"workload": page_writes([1, 2]), "label": "mine"})))


def test_name__of_a_trace__is_that_of_its_file() -> None:
    """Two recorded traces of one grid are two tasks."""
    traces = [{"kind": "trace", "path": f"traces/{name}", "loops": None} for name in ("a.csv.gz", "b.csv")]
    names = [RunSpec(**(BASE | {"workload": trace, "label": None})).workload_name for trace in traces]
    assert names == ["a.csv.gz", "b.csv"]

"""Ray: the same results on a cluster, also when one of its nodes is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ssdgym.errors import SsdgymError
from ssdgym.experiments.runs.evaluate import run_all
from ssdgym.experiments.runs.grid import Grid, run_grid, write_grid
from ssdgym.experiments.runs.ray_runner import run_on_ray
from ssdgym.experiments.runs.spec import RunSpec
from ssdgym.experiments.runs.store import Store

pytest.importorskip("ray", reason="needs Ray: pip install 'ssdgym[tune]'")

RUNS = [
    RunSpec(
        device="tiny",
        workload="uniform",
        policy=policy,
        seed=seed,
        host_pages=100_000,
        preconditioning="none",
    )
    for policy in ("greedy", "fifo", "cost_benefit")
    for seed in range(6)
]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A head node that takes no work, and this process connected to it."""
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    import ray
    from ray.cluster_utils import Cluster

    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    try:
        ray.init(address=nodes.address, log_to_driver=False, logging_level="error")
        yield nodes
    finally:
        ray.shutdown()
        nodes.shutdown()


@pytest.mark.slow
def test_ray__a_node_killed_half_way_changes_nothing(cluster: Any, tmp_path: Path) -> None:
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    short = {"kind": "uniform", "requests": 10}
    broken = RunSpec(device="tiny", workload=short, policy="greedy", seed=9, host_pages=50)

    def kill_one(done: int, total: int) -> None:
        if done == len(RUNS) // 2 and len(nodes) == 2:
            cluster.remove_node(nodes.pop(), allow_graceful=False)

    with Store(tmp_path / "ray") as store:
        found = run_grid(Grid.of([*RUNS, broken]), store, lambda jobs: run_on_ray(jobs, None, 2), kill_one)
    assert len(nodes) == 1
    assert [failure.run for failure in found.failures] == [broken]
    assert found.failures[0].sentence.startswith("the workload ended after 10 of 50 host pages")
    expected = run_all(RUNS, workers=1)
    for results, folder in ((found.results, "ray"), (expected, "here")):
        (tmp_path / folder).mkdir(exist_ok=True)
        write_grid(results, tmp_path / folder)
    for name in ("results.csv", "results.parquet"):
        assert (tmp_path / "ray" / name).read_bytes() == (tmp_path / "here" / name).read_bytes()


def test_ray__an_address_where_nobody_answers_is_refused_at_once() -> None:
    with pytest.raises(SsdgymError, match="--address 127.0.0.1:1: there is no answer"):
        next(run_on_ray([[RUNS[0]]], "127.0.0.1:1", 1))


def test_ray__where_it_is_not_installed_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(SsdgymError, match=r"pip install 'ssdgym\[tune\]'"):
        next(run_on_ray([[RUNS[0]]], None, 1))

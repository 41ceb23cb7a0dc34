"""Grids: results in the order of the runs, the same in any process."""

from __future__ import annotations

import multiprocessing
from dataclasses import replace

import pytest

from ssdgym.agents.training.config import EnvironmentConfig
from ssdgym.config.page import PageFtl
from ssdgym.errors import SsdgymError
from ssdgym.experiments.runs.evaluate import jobs_of, run_all
from ssdgym.experiments.runs.spec import RunSpec, ftl_changes, ftl_label
from ssdgym.workloads.stream import load_workload

OPTIONS = (("gc.free_blocks", 3), ("placement", "sep_gc"), ("timing", "none"))


def spec(policy: str, seed: int, **changes: object) -> RunSpec:
    values = {"device": "tiny", "workload": "uniform", "ftl": OPTIONS, "host_pages": 4_000}
    values["preconditioning"] = "none"
    return RunSpec(policy=policy, seed=seed, **(values | changes))  # type: ignore[arg-type]


def test_jobs__runs_of_an_agent_go_together_if_they_differ_only_in_the_seed() -> None:
    agent = spec("agent", 1, agent="random")
    changes = {
        "device": "demo",
        "workload": "hot90",
        "ftl": (),
        "host_pages": 5_000,
        "warmup": 1_000,
        "preconditioning": "fill",
        "agent": "greedy",
        "environment": EnvironmentConfig(id="ssdgym/Placement-v0"),
    }
    runs = [
        agent,
        replace(agent, seed=2),
        *(replace(agent, **{name: value}) for name, value in changes.items()),
    ]
    assert jobs_of(runs) == [[0, 1], *([number] for number in range(2, len(runs)))]
    assert jobs_of([spec("greedy", 1), spec("greedy", 2)]) == [[0], [1]]


def test_run_all__returns_results_in_the_order_of_the_runs() -> None:
    runs = [spec("greedy", 2), spec("fifo", 1), spec("greedy", 1)]
    progress: list[tuple[int, int]] = []
    results = run_all(runs, workers=1, progress=lambda done, total: progress.append((done, total)))
    assert [(result.policy, result.seed) for result in results] == [("greedy", 2), ("fifo", 1), ("greedy", 1)]
    assert progress == [(1, 3), (2, 3), (3, 3)]
    assert all(result.metric("host_pages_written") == 4_000 for result in results)
    assert {result.ftl for result in results} == {"gc.free_blocks=3,placement=sep_gc,timing=none"}


def test_run_all__greedy_relocates_less_than_random() -> None:
    greedy, random = run_all([spec("greedy", 1), spec("random", 1)], workers=1)
    assert greedy.metric("relocated_pages") < random.metric("relocated_pages")


@pytest.mark.slow
def test_run_all__spawned_workers_find_the_same_as_this_process() -> None:
    runs = [spec(policy, seed) for policy in ("greedy", "random") for seed in (1, 2)]
    assert run_all(runs, workers=2) == run_all(runs, workers=1)


@pytest.mark.slow
def test_run_all__an_error_in_a_worker_is_its_sentence_and_stops_the_others() -> None:
    # The other run would run for hours; this test ends because nothing waits for it.
    endless = spec("greedy", 1, host_pages=10**12)
    others = set(multiprocessing.active_children())
    with pytest.raises(SsdgymError, match="no-such-trace.csv"):
        run_all([endless, spec("greedy", 1, workload="no-such-trace.csv")], workers=2)
    assert set(multiprocessing.active_children()) <= others


def test_run_all__a_wrong_policy_is_refused_before_anything_runs() -> None:
    progress: list[int] = []
    with pytest.raises(SsdgymError, match="policy absent does not exist"):
        run_all([spec("greedy", 1), spec("absent", 1)], progress=lambda done, total: progress.append(done))
    assert not progress


def test_run_all__compact_addresses_are_refused_where_whole_blocks_are_mapped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(PageFtl, "keeps_addresses", True)
    compact = load_workload("synthetic:src1_2").model_copy(update={"addresses": "compact"})
    with pytest.raises(SsdgymError, match="maps whole blocks.* set addresses to fold"):
        run_all([spec("greedy", 1, workload="uniform"), spec("greedy", 1, workload=compact)])


def test_run_all__requests_of_the_workload_limit_the_run() -> None:
    workload = {"kind": "uniform", "requests": 1_234}
    (result,) = run_all([spec("greedy", 1, host_pages=None, workload=workload)], workers=1)
    assert result.metric("host_pages_written") == 1_234


def test_run_all__until_gc__differs_by_policy_and_seed_and_is_repeated() -> None:
    runs = [
        spec(policy, seed, preconditioning="until_gc") for policy in ("greedy", "fifo") for seed in (1, 2, 1)
    ]
    found = [result.metrics for result in run_all(runs, workers=1)]
    for one, other, same in (found[:3], found[3:]):
        assert one == same and one["relocated_pages"] != other["relocated_pages"]
        assert one["host_pages_written"] == 4_000 and one["erases"] > 0
    assert found[0] != found[3]


def test_run_all__reads__are_of_what_the_run_itself_plays() -> None:
    workload = {"kind": "uniform", "requests": 2_000, "read_fraction": 0.5}
    runs = [
        spec("greedy", seed, workload=workload, host_pages=None, preconditioning=kind)
        for seed in (5, 6)
        for kind in ("none", "reads")
    ]
    unmapped = [result.metrics["unmapped_reads"] for result in run_all(runs, workers=1)]
    assert unmapped[0] > 0 and unmapped[2] > 0
    assert unmapped[1] == unmapped[3] == 0


def test_run_all__refuses_no_workers() -> None:
    with pytest.raises(SsdgymError, match="workers must be at least 1, not 0"):
        run_all([], workers=0)


def test_ftl__dotted_names_become_nested_changes() -> None:
    assert ftl_changes(OPTIONS) == {"gc": {"free_blocks": 3}, "placement": "sep_gc", "timing": "none"}
    assert ftl_changes(()) is None
    assert ftl_label(()) == ""

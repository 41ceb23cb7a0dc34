"""The demonstration compares like with like."""

from __future__ import annotations

from pathlib import Path

from ssdgym.cli.demo import BASELINE, HEURISTICS, LEARNED, Demo
from ssdgym.experiments.runs.evaluate import check_runs


def test_demo__everybody_meets_the_same_devices_workloads_and_seeds() -> None:
    runs = Demo().runs(Path("agent.zip"), "write_amplification")
    met = {
        policy: {
            (run.device, run.workload, run.seed, run.ftl, run.host_pages, run.preconditioning)
            for run in runs
            if run.policy == policy
        }
        for policy in (LEARNED, BASELINE, *HEURISTICS, *Demo.tuned)
    }
    assert len(runs) == len(met) * len(met[LEARNED]) == len(met) * len(Demo.workloads) * len(Demo.seeds)
    assert all(tasks == met[LEARNED] for tasks in met.values())


def test_demo__only_the_agent_is_an_agent_and_everybody_separates_gc_writes() -> None:
    for run in Demo().runs(Path("agent.zip"), ""):
        assert (run.agent is not None) == (run.policy in (LEARNED, BASELINE))
        assert dict(run.ftl)["placement"] == "sep_gc"


def test_demo__its_devices_workloads_and_policies_exist() -> None:
    check_runs(Demo().runs(Path("agent.zip"), ""))

"""The demonstration compares like with like."""

from __future__ import annotations

from pathlib import Path

from ssdgym.experiments.runs.demo import HEURISTICS, LEARNED, Demo
from ssdgym.experiments.runs.evaluate import check_cells


def test_demo__everybody_meets_the_same_devices_workloads_and_seeds() -> None:
    cells = Demo().cells(Path("agent.zip"), "write_amplification")
    met = {
        policy: {
            (cell.device, cell.workload, cell.seed, cell.ftl, cell.host_pages, cell.preconditioning)
            for cell in cells
            if cell.policy == policy
        }
        for policy in (LEARNED, *HEURISTICS, *Demo.tuned)
    }
    assert len(cells) == 8 * len(met[LEARNED]) == 8 * len(Demo.workloads) * len(Demo.seeds)
    assert all(tasks == met[LEARNED] for tasks in met.values())


def test_demo__only_the_agent_is_an_agent_and_everybody_separates_gc_writes() -> None:
    for cell in Demo().cells(Path("agent.zip"), ""):
        assert (cell.agent is not None) == (cell.policy == LEARNED)
        assert dict(cell.ftl)["placement"] == "sep_gc"


def test_demo__its_devices_workloads_and_policies_exist() -> None:
    check_cells(Demo().cells(Path("agent.zip"), ""))

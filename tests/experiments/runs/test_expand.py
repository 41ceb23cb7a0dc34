"""From an experiment to its runs: which, in which order, and what they are called."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ssdgym.errors import SsdgymError
from ssdgym.experiments.runs.config import CLOSED_LOOP_DEPTH, agent_labels, expand, load_experiment
from ssdgym.experiments.runs.evaluate import check_runs
from ssdgym.experiments.runs.spec import RunSpec, ftl_label

FIELDS: dict[str, Any] = {
    "devices": ["tiny"],
    "workloads": ["uniform"],
    "policies": ["greedy"],
    "seeds": [1],
    "host_pages": 1_000,
}


def runs(**changes: Any) -> list[RunSpec]:
    return expand(load_experiment({**FIELDS, **changes}))


def test_order__seeds_run_fastest_and_devices_slowest() -> None:
    found = runs(
        devices=["tiny", "demo"],
        ftls=[{}, {"timing": "none"}],
        workloads=["uniform", "zipf99"],
        policies=["greedy", "cost_benefit(exponent=0.5)"],
        seeds="1-2",
    )
    rows = [(run.device_name, ftl_label(run.ftl), run.workload_name, run.policy, run.seed) for run in found]
    closed = f"queue_depth={CLOSED_LOOP_DEPTH}"
    assert len(rows) == len(set(rows)) == 32
    assert rows[:2] == [("tiny", closed, "uniform", "greedy", 1), ("tiny", closed, "uniform", "greedy", 2)]
    assert rows[2][3] == "cost_benefit(exponent=0.5)" and rows[4][2] == "zipf99"
    assert rows[8][1] == "timing=none" and rows[16][0] == "demo"


def test_vary__take_every_combination_of_device_and_ftl_fields() -> None:
    found = runs(vary={"capacity.over_provisioning": [0.1, 0.2], "ftl.gc.free_blocks": [2, 3]})
    assert [(run.device_name, dict(run.ftl)["gc.free_blocks"]) for run in found] == [
        ("tiny(capacity.over_provisioning=0.1)", 2),
        ("tiny(capacity.over_provisioning=0.1)", 3),
        ("tiny(capacity.over_provisioning=0.2)", 2),
        ("tiny(capacity.over_provisioning=0.2)", 3),
    ]
    assert found[0].device.capacity.over_provisioning == 0.1


def test_vary__a_number_of_logical_pages_replaces_the_over_provisioning() -> None:
    (run,) = runs(vary={"capacity.logical_pages": [700], "geometry.blocks_per_plane": [40]})
    assert run.device.logical_pages == 700 and run.device.geometry.blocks_per_plane == 40
    assert run.device_name == "tiny(capacity.logical_pages=700, geometry.blocks_per_plane=40)"


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("geometry.blocks", "tiny(geometry.blocks=1): field geometry.blocks is unknown"),
        ("name.first", "a device has no field name.first"),
        ("colour", "field colour is unknown"),
    ],
)
def test_vary__of_a_field_that_a_device_has_not_are_refused(field: str, said: str) -> None:
    with pytest.raises(SsdgymError, match="vary.*" + re.escape(said)):
        runs(vary={field: [1]})


def test_queue_depth__is_the_experiment_s_where_it_says_one() -> None:
    (run,) = runs(queue_depth=4)
    assert dict(run.ftl) == {"queue_depth": 4}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"policies": ["gredy"]}, "did you mean greedy"),
        ({"policies": ["d_choices(k=3)"]}, "has no parameter 'k'"),
        ({"host_pages": None}, "workload uniform never ends: set host_pages or requests"),
        ({"vary": {"ftl.gc.free_block": [1]}}, "device tiny: field ftl.gc.free_block is unknown"),
        ({"preconditioning": "fill", "vary": {"ftl.gc.free_blocks": [32]}}, "GC"),
    ],
)
def test_check_runs__refuses_before_anything_runs(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(SsdgymError, match=said):
        check_runs(runs(**changes))


def test_agents__need_names_of_their_own(tmp_path: Path) -> None:
    paths = [tmp_path / name / "agent.zip" for name in ("a", "b")]
    for path in paths:
        path.parent.mkdir()
        path.write_bytes(b"")
    labels = agent_labels([*paths, "random_action"])
    assert {name: (source.text, source.learns) for name, source in labels.items()} == {
        "a/agent": (str(paths[0]), True),
        "b/agent": (str(paths[1]), True),
        "random_action": ("random_action", False),
    }
    with pytest.raises(SsdgymError, match="goes by the name a/agent, too"):
        agent_labels([paths[0], paths[0]])
    with pytest.raises(SsdgymError, match="there is no such agent"):
        agent_labels([tmp_path / "missing.zip"])

"""Experiments: what a grid's YAML may say, what is refused, and the runs that one stands for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ssdgym.agents.training.config import EnvironmentConfig
from ssdgym.config.fields import read_seeds
from ssdgym.config.loading import available
from ssdgym.errors import SsdgymError
from ssdgym.experiments.leaderboard.suites import load_suite
from ssdgym.experiments.runs.config import (
    CLOSED_LOOP_DEPTH,
    ExperimentConfig,
    agent_labels,
    expand,
    load_experiment,
)
from ssdgym.experiments.runs.evaluate import check_runs
from ssdgym.experiments.runs.spec import RunSpec, ftl_label
from ssdgym.workloads.stream import load_workload


def experiment(**changes: Any) -> ExperimentConfig:
    fields = {"devices": ["tiny"], "workloads": ["uniform"], "policies": ["greedy"], "seeds": "1-3"}
    return load_experiment({**fields, **changes})


@pytest.mark.parametrize("name", available("experiments"))
def test_every_named_experiment__is_valid(name: str) -> None:
    assert load_experiment(name).run_count > 0


@pytest.mark.parametrize(
    ("changes", "warmup"),
    [
        ({"host_pages": 1000}, 100),
        ({"host_pages": 500_000}, 50_000),
        ({"host_pages": 5_000_000}, 50_000),
        ({"host_pages": "1000"}, 100),
        ({"host_pages": 1000, "warmup": 7}, 7),
        ({"seeds": 1}, 50_000),
    ],
)
def test_load_experiment__fewer_host_pages__shorten_the_warm_up(changes: dict[str, Any], warmup: int) -> None:
    assert load_experiment("evaluate", changes).warmup == warmup


def test_load_experiment__negative_host_pages__are_refused() -> None:
    with pytest.raises(SsdgymError, match="field host_pages must be greater than 0, not -5"):
        load_experiment("evaluate", {"host_pages": -5})


def test_suite__fewer_host_pages__shorten_the_warm_up() -> None:
    deciders = {"policies": ("greedy",)}
    assert load_suite("wa").experiment(["test"], deciders, {"host_pages": 3000}).warmup == 3000
    assert load_suite("wa").experiment(["test"], deciders, {}).warmup == 300_000


def test_classic__is_six_policies_on_five_workloads_and_five_seeds() -> None:
    classic = load_experiment("classic")
    assert (len(classic.policies), len(classic.workloads), len(classic.seeds)) == (6, 5, 5)
    assert classic.run_count == 150


@pytest.mark.parametrize("seeds", ["1-3", [1, 2, 3], "1,2-3"])
def test_seeds__are_a_list_or_text(seeds: object) -> None:
    assert experiment(seeds=seeds).seeds == (1, 2, 3)


def test_seeds__may_be_one_number() -> None:
    assert experiment(seeds=5).seeds == (5,)


def test_runs__count_every_combination() -> None:
    found = experiment(
        ftls=[{}, {"placement": "single"}],
        vary={"ftl.gc.free_blocks": [2, 3, 4]},
        policies=["greedy", "fifo"],
    )
    assert found.run_count == 2 * 3 * 2 * 3


def test_ftl_options__nested_and_dotted_are_the_same() -> None:
    nested = experiment(ftls=[{"timing": "none", "gc": {"free_blocks": 3}}])
    assert nested.ftls == experiment(ftls=[{"gc.free_blocks": 3, "timing": "none"}]).ftls
    assert nested.ftls[0] == {"gc.free_blocks": 3, "timing": "none"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"polices": ["greedy"]}, "field polices is unknown"),
        ({"policies": []}, "at least one of policies and agents"),
        ({"policies": ["greedy", "greedy"]}, "field policies names 'greedy' twice"),
        ({"devices": [5]}, "field devices.0 must be a name, a path or a mapping"),
        ({"devices": []}, "field devices"),
        ({"seeds": "9-1"}, "field seeds give the lower seed first"),
        ({"seeds": [1, 1]}, "field seeds names 1 twice"),
        ({"seeds": [-1]}, "field seeds.0 must be greater than or equal to 0"),
        ({"seeds": [True]}, "field seeds.0"),
        ({"requests": 5}, "field requests is unknown"),
        (
            {"ftls": [{"gc": {"free_blocks": 2}, "gc.free_blocks": 3}]},
            "gives gc.free_blocks and gc.free_blocks",
        ),
        ({"ftls": [{"gc.free_blocks": [2, 3]}]}, "vary ftl.gc.free_blocks"),
        (
            {"ftls": [{"gc.free_blocks": 2}], "vary": {"ftl.gc.free_blocks": [3]}},
            "sets gc.free_blocks in ftls.0 and once more",
        ),
        ({"queue_depth": 8, "ftls": [{"queue_depth": 4}]}, "sets queue_depth in ftls.0 and once more"),
        ({"queue_depth": 8, "vary": {"ftl.queue_depth": [4]}}, "varies ftl.queue_depth"),
        ({"vary": {"over_provisioning": []}}, "field vary.over_provisioning"),
        ({"seeds": "0-999999", "vary": {"geometry.blocks_per_plane": list(range(20))}}, "20000000 runs"),
    ],
)
def test_wrong_experiments__are_one_sentence(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(SsdgymError) as caught:
        experiment(**changes)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_a_yaml_file__is_named_in_errors(tmp_path: Path) -> None:
    path = tmp_path / "grid.yaml"
    path.write_text("devices: [tiny]\nworkloads: [uniform]\npolicies: [greedy]\nseeds: 1\nspeed: 3\n")
    with pytest.raises(SsdgymError, match="grid.yaml: field speed is unknown, did you mean seeds"):
        load_experiment(path)


@pytest.mark.parametrize("text", ["", "a", "3-", "1,1", "5-3", "-1", f"{2**64}"])
def test_read_seeds__refuses_anything_else(text: str) -> None:
    with pytest.raises(ValueError, match="seeds|seed"):
        read_seeds(text)


def runs(**changes: Any) -> list[RunSpec]:
    return expand(experiment(**{"seeds": [1], "host_pages": 1_000, **changes}))


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
        ("name.first", "field name.first does not exist, since name has no fields."),
        ("colour", "field colour is unknown: choose one of name, "),
        (
            "over_provisioning",
            "field over_provisioning is unknown, did you mean capacity.over_provisioning",
        ),
    ],
)
def test_vary__of_a_field_that_a_device_has_not_are_refused(field: str, said: str) -> None:
    with pytest.raises(SsdgymError, match="vary.*" + re.escape(said)):
        runs(vary={field: [1]})


def test_environment__of_the_agent_s_class_is_accepted__another_is_refused() -> None:
    agent = {"devices": ["subftl-tiny"], "policies": [], "agents": ["subftl-v2-seed1"]}
    check_runs(runs(**agent, environment={"id": "ssdgym/SubpageRegion-v0"}))
    with pytest.raises(SsdgymError, match="its file names the environment and the arguments"):
        runs(**agent, environment={"id": "ssdgym/EraseVictim-v0"})


@pytest.mark.parametrize("split", ["training", "test"])
def test_workloads__may_name_a_split_of_a_suite(split: str) -> None:
    named = load_suite("subftl").splits[split]
    found = runs(workloads=["uniform", f"{split}:subftl"], devices=["subftl-tiny"], policies=["greedy"])
    assert len(found) == 1 + len(named) and found[1].workload == load_workload(named[0])


def test_queue_depth__is_the_experiment_s_where_it_says_one() -> None:
    (run,) = runs(queue_depth=4)
    assert dict(run.ftl) == {"queue_depth": 4}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"policies": ["gredy"]}, "did you mean greedy"),
        ({"policies": ["d_choices(k=3)"]}, "has no parameter 'k'"),
        ({"host_pages": None}, "workload uniform never ends: set host_pages, or its requests"),
        ({"vary": {"ftl.gc.free_block": [1]}}, "device tiny: field ftl.gc.free_block is unknown"),
        ({"preconditioning": "fill", "vary": {"ftl.gc.free_blocks": [32]}}, "GC"),
        (
            {"devices": ["subftl-tiny"], "agents": ["random_action"]},
            "random_action in ssdgym/EraseVictim-v0: .* never waits for .*by --environment",
        ),
        ({"devices": ["subftl-tiny"], "agents": ["victim-v1-seed1"]}, "EraseVictim-v0: .* mapping page.$"),
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
    with pytest.raises(SsdgymError, match="also goes by the name a/agent"):
        agent_labels([paths[0], paths[0]])
    with pytest.raises(SsdgymError, match="there is no such agent"):
        agent_labels([tmp_path / "missing.zip"])


def test_environment__of_agents_whose_files_name_theirs__refused_or_left_to_the_others() -> None:
    own = experiment(agents=["placement-v2"], environment={"kwargs": {"candidates": 4}})
    with pytest.raises(SsdgymError, match="placement-v2: its file names the environment and the arguments"):
        expand(own)
    same = own.model_copy(update={"environment": EnvironmentConfig(id="ssdgym/Placement-v0")})
    assert {run.environment for run in expand(same)} == {None}
    mixed = expand(own.model_copy(update={"agents": ("placement-v2", "random_action")}))
    given = {run.policy: run.environment is not None for run in mixed}
    assert given == {"placement-v2": False, "random_action": True, "greedy": False}

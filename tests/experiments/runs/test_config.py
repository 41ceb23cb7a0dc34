"""Experiments: what a grid's YAML may say, and what is refused before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ssdgym.config.fields import read_seeds
from ssdgym.config.loading import available
from ssdgym.errors import SsdgymError
from ssdgym.experiments.runs.config import ExperimentConfig, load_experiment


def experiment(**changes: Any) -> ExperimentConfig:
    fields = {"devices": ["tiny"], "workloads": ["uniform"], "policies": ["greedy"], "seeds": "1-3"}
    return load_experiment({**fields, **changes})


@pytest.mark.parametrize("name", available("experiments"))
def test_every_named_experiment__is_valid(name: str) -> None:
    assert load_experiment(name).run_count > 0


def test_classic__is_six_policies_on_five_workloads_and_five_seeds() -> None:
    classic = load_experiment("classic")
    assert (len(classic.policies), len(classic.workloads), len(classic.seeds)) == (6, 5, 5)
    assert classic.run_count == 150


@pytest.mark.parametrize("seeds", ["1-3", [1, 2, 3], "1,2-3"])
def test_seeds__are_a_list_or_text(seeds: object) -> None:
    assert experiment(seeds=seeds).seeds == (1, 2, 3)


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
        ({"seeds": "9-1"}, "field seeds ranges from low to high"),
        ({"seeds": [1, 1]}, "field seeds names 1 twice"),
        ({"seeds": [-1]}, "field seeds.0 must be greater than or equal to 0"),
        ({"seeds": [True]}, "field seeds.0"),
        ({"host_pages": 5, "requests": 5}, "at most one of host_pages and requests"),
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
    with pytest.raises(SsdgymError, match=r"grid.yaml: field seeds must be a valid tuple.*1 more problem"):
        load_experiment(path)


@pytest.mark.parametrize("text", ["", "a", "3-", "1,1", "5-3", "-1", f"0-{2**63}"])
def test_read_seeds__refuses_anything_else(text: str) -> None:
    with pytest.raises(ValueError, match="seeds|seed"):
        read_seeds(text)

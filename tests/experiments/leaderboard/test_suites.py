"""Suites: what their fields may be, and the runs that they make."""

from __future__ import annotations

import pytest

from ssdgym.config.loading import available
from ssdgym.errors import SsdgymError
from ssdgym.experiments.leaderboard.suites import SuiteConfig, load_suite
from ssdgym.experiments.runs.spec import source_name
from ssdgym.workloads.stream import load_workload

SUITE = load_suite(
    {
        "devices": ["tiny"],
        "splits": {"training": ["uniform"], "test": ["zipf99", "hot90"]},
        "baseline": "fixed",
        "ceilings": ["bound", "other_bound"],
        "seeds": [1, 2],
        "host_pages": 100,
    }
)


def test_fields__a_workload_in_two_splits__refused() -> None:
    fields = SUITE.model_dump() | {"splits": {"training": ["zipf99"], "test": ["hot90", "zipf99"]}}
    with pytest.raises(SsdgymError, match="has 'zipf99' in training and in test; keep it in one"):
        load_suite(fields)


def test_fields__what_has_learned__a_policy_or_several_of_one_name() -> None:
    suite = load_suite(SUITE.model_dump() | {"agents": ["a", {"name": "b", "policies": ["b1", "b2"]}]})
    assert [(entry.name, entry.policies) for entry in suite.agents] == [("a", ("a",)), ("b", ("b1", "b2"))]
    assert suite.learned == ("a", "b1", "b2")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"agents": ["bound"]}, "has 'bound' in ceilings and in agents; keep it in one"),
        ({"policies": ["other_bound"]}, "has 'other_bound' in ceilings and in policies; keep it in one"),
        ({"agents": ["a", {"name": "b", "policies": ["a"]}]}, "has 'a' twice in agents"),
        ({"agents": ["a", {"name": "a", "policies": ["c"]}]}, "gives two entries of agents the same name"),
        ({"rivals": ["absent"]}, "has 'absent' in rivals and not in policies or rules; add it there"),
    ],
)
def test_fields__a_policy_in_two_places__refused(fields: dict[str, object], expected: str) -> None:
    with pytest.raises(SsdgymError, match=expected):
        load_suite(SUITE.model_dump() | fields)


def test_experiment__runs_what_the_scores_are_made_of_once() -> None:
    experiment = SUITE.experiment(["test"], {"policies": ("ours", "bound")}, {"host_pages": 7})
    assert experiment.policies == ("fixed", "bound", "other_bound", "ours")
    assert (experiment.workloads, experiment.host_pages, experiment.seeds) == (("zipf99", "hot90"), 7, (1, 2))


def test_experiment__preconditions_as_the_suite_says() -> None:
    found = [
        load_suite(SUITE.model_dump() | fields).experiment(["test"], {}, {}).preconditioning
        for fields in ({}, {"preconditioning": "uniform"})
    ]
    assert found == ["workload", "uniform"]


@pytest.mark.parametrize("name", available("suites"))
def test_suites__their_splits_share_no_workload_and_name_them_all(name: str) -> None:
    suite = load_suite(name)
    models: dict[str, str] = {}
    for split, workloads in suite.splits.items():
        for workload in workloads:
            assert source_name(workload)
            model = load_workload(workload).model_dump_json()
            assert models.setdefault(model, split) == split, workload
    assert set(suite.splits) == {"training", "validation", "test"}
    assert isinstance(suite, SuiteConfig)


PLAYED = load_suite(
    SUITE.model_dump()
    | {
        "ceilings": (),
        "rules": ["random_action"],
        "environment": {"id": "ssdgym/SubFTL-v0"},
        "agents": ["a", {"name": "b", "agents": ["b1.zip", "b2.zip"]}],
    }
)


def test_experiment__lets_rules_and_agents_play_the_environment_of_the_suite() -> None:
    experiment = PLAYED.experiment(["test"], PLAYED.deciders, {})
    assert experiment.policies == ("fixed", "a")
    assert experiment.agents == ("random_action", "b1.zip", "b2.zip")
    assert experiment.environment == PLAYED.environment


def test_experiment__an_environment_that_is_named__is_played_instead() -> None:
    other = {"id": "ssdgym/SubpageRegion-v0"}
    named = PLAYED.experiment(["test"], {"agents": ["random_action"], "environment": other}, {})
    assert named.environment is not None and named.environment.id == other["id"]


def test_fields__what_has_learned__is_a_policy_or_plays() -> None:
    for entry in ({"name": "b"}, {"name": "b", "policies": ["x"], "agents": ["y"]}):
        with pytest.raises(SsdgymError, match="must give b either policies or agents"):
            load_suite(SUITE.model_dump() | {"agents": [entry]})

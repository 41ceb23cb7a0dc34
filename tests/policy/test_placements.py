"""Policies as compositions of a victim rule and a placement: their names, and the devices they run on."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from ssdgym import baselines
from ssdgym.config.device import DeviceConfig, with_ftl
from ssdgym.config.page import PageFtl
from ssdgym.policy import (
    available_policies,
    available_rules,
    choose_block,
    device_for,
    get_policy,
    policy_alias,
    victim_policy,
)
from ssdgym.simulator import Simulator
from tests.engine.devices import device
from tests.policy.test_refusals import refusal

#: 4 layers of 4 pages in each of 4 sub-blocks; as many blocks as the default groups need.
LAYERED = {"blocks_per_plane": 80, "pages_per_block": 64, "layers_per_block": 16, "sub_blocks_per_block": 4}


def layered(placement: str = "single", **fields: Any) -> DeviceConfig:
    return device(LAYERED, {"placement": placement}, over_provisioning=1.0, **fields)


# -- names


PLACEMENTS = [
    "dac",
    "fadac(inclusive=0)",
    "hints",
    "hints_isolated",
    "hot_cold",
    "hot_to_victims",
    "hotness_groups",
    "mida",
    "mida_hot",
    "midas",
    "multi_log",
    "oracle_k(k=8, first=0.02, ratio=3)",
    "oracle_rate(k=6, first=0.03125, ratio=4)",
    "sep_gc",
    "sepbit(nc=16)",
    "sfs(period=16)",
    "single",
    "td_lifetime(rate=0.01, apart=0.05, bootstrap=1, planned=1)",
]


def test_bundled_placements__all_with_their_source() -> None:
    folder = Path(baselines.__file__).parent
    rules = [
        rule
        for rule in available_rules("placement").values()
        if rule.function is None or folder in Path(rule.function.__code__.co_filename).parents
    ]
    assert [rule.label for rule in rules] == PLACEMENTS
    assert all(rule.source for rule in rules)


@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("rule", ["greedy", "gsm", "d_choices(d=3)", "cost_benefit(exponent=1e+2)"])
def test_composition__any_rule_with_any_placement__keeps_its_label(rule: str, placement: str) -> None:
    policy = get_policy(f" {rule} + {placement} ")
    assert "placement" in policy.beside
    assert policy.beside["placement"].label == placement
    assert policy.label == f"{get_policy(rule).label}+{placement}" == policy.composition
    assert get_policy(f"{placement}+{rule}") == policy
    assert policy.main.parameters == get_policy(rule).main.parameters
    for copied in (get_policy(policy.label), pickle.loads(pickle.dumps(policy))):
        assert copied == policy
    assert "placement" not in get_policy(rule).beside


@pytest.mark.parametrize(
    ("name", "rule", "placement"),
    [
        ("baseline", "greedy", "single"),
        ("gsm_plus", "gsm", "hot_to_victims"),
        ("speedupgc", "gsm", "hotness_groups"),
        ("speedupgc_pb", "pb", "hotness_groups"),
    ],
)
def test_named__stands_for_its_composition_and_keeps_its_name(name: str, rule: str, placement: str) -> None:
    policy = get_policy(name)
    assert policy.victim.function is get_policy(rule).victim.function
    assert policy.beside["placement"] == available_rules("placement")[placement]
    assert policy.label == policy.name == name
    assert policy.composition == f"{rule}+{placement}"
    assert "SpeedupGC" in policy.source
    assert pickle.loads(pickle.dumps(policy)) == policy
    assert available_policies()[name] == policy


def test_with_parameters__of_a_composition__go_to_the_rule_that_has_them() -> None:
    policy = get_policy("cost_benefit+td_lifetime").with_parameters({"rate": 0.05, "exponent": 0.5})
    assert policy.label == get_policy("cost_benefit(exponent=0.5)+td_lifetime(rate=0.05)").label
    said = refusal(get_policy("greedy+td_lifetime").with_parameters, {"rat": 1})
    assert said.endswith("has no parameter 'rat'; its rules have: rate, apart, bootstrap, planned.")


def test_named__by_a_user__with_parameters_and_a_rule_that_comes_later() -> None:
    policy_alias("few", "d_choices(d=3)", source="a test")
    few = get_policy("few")
    assert (few.label, few.composition, few.source) == ("few", "d_choices(d=3)", "a test")
    assert few.victim.vector[0] == 3
    placed = get_policy("few+sep_gc")
    assert (placed.label, placed.composition) == ("few+sep_gc", "d_choices(d=3)+sep_gc")
    assert pickle.loads(pickle.dumps(placed)) == placed

    policy_alias("early", "mine+sep_gc", source="a test")
    expected = "policy early (mine+sep_gc): rule mine does not exist; "
    assert expected in refusal(get_policy, "early")
    victim_policy("mine", source="a test")(choose_block)
    assert get_policy("early").victim.function is choose_block


@pytest.mark.parametrize(
    ("name", "composition", "expected"),
    [
        ("two words", "greedy", "policy name 'two words' must start with a letter"),
        (
            "greedy",
            "fifo+single",
            "policy greedy is registered already; choose another name for fifo+single.",
        ),
        ("speedupgc", "fifo+single", "policy speedupgc is registered already; choose another name"),
        ("fresh", "fifo(", "is not of the form NAME"),
    ],
)
def test_named__what_cannot_be_registered__refused(name: str, composition: str, expected: str) -> None:
    assert expected in refusal(policy_alias, name, composition, source="a test")


def test_named__with_the_name_of_its_placement__alone_means_the_composition() -> None:
    """A placement that needs a victim rule of its own has one under its name."""
    midas = get_policy("midas")
    assert midas.composition == "chain+midas"
    assert (midas.label, midas.victim.name) == ("midas", "chain")
    assert midas.beside["placement"] == available_rules("placement")["midas"]
    assert pickle.loads(pickle.dumps(midas)) == midas
    assert available_policies()["midas"] == midas
    assert "write chain+midas" in refusal(Simulator, layered(), policy="chain+sep_gc")
    text = refusal(policy_alias, "sep_gc", "greedy+single", source="a test")
    assert text == "policy sep_gc is registered already; choose another name for greedy+single."


def test_named__a_second_time_the_same__is_no_error() -> None:
    for _ in range(2):
        policy_alias("again", "fifo+single", source="a test")
    assert get_policy("again").composition == "fifo+single"
    rule = refusal(lambda: victim_policy("again", source="a test")(choose_block))
    assert rule == "policy again stands for fifo+single; choose another name."


def test_named__for_a_name__refused() -> None:
    policy_alias("other", "speedupgc", source="a test")
    expected = "policy other (speedupgc): speedupgc stands for gsm+hotness_groups; name that instead."
    assert refusal(get_policy, "other") == expected
    policy_alias("itself", "itself", source="a test")
    assert "itself stands for itself; name that instead" in refusal(get_policy, "itself")


def test_named__with_a_placement_that_does_not_exist__refused_when_it_is_looked_up() -> None:
    policy_alias("fresh", "fifo+nowhere", source="a test")
    assert "rule nowhere does not exist" in refusal(get_policy, "fresh")


# -- devices


@pytest.mark.parametrize(
    ("policy", "erase_unit", "isolation", "placement"),
    [
        ("greedy", "block", "none", "sep_gc"),
        ("greedy+single", "block", "none", "single"),
        ("baseline", "block", "none", "single"),
        ("gsm", "sub_block_run", "software", "sep_gc"),
        ("gsm_plus", "sub_block_run", "software", "hot_to_victims"),
        ("speedupgc", "sub_block_run", "software", "hotness_groups"),
        ("pb", "sub_block_set", "hardware", "sep_gc"),
        ("speedupgc_pb", "sub_block_set", "hardware", "hotness_groups"),
    ],
)
def test_device__of_whole_blocks__as_each_policy_runs_it(
    policy: str, erase_unit: str, isolation: str, placement: str
) -> None:
    config = layered("sep_gc")
    sim = Simulator(config, policy=policy)
    assert (sim.device.erase_unit, sim.device.isolation) == (erase_unit, isolation)
    assert sim.device.ftl.placement == placement
    assert sim.device == device_for(config, None, policy)
    assert sim.device.logical_pages == config.logical_pages
    others: Any = {"erase_unit": ..., "isolation": ..., "ftl": {"placement", "victim"}}
    assert sim.device.model_dump(exclude=others) == config.model_dump(exclude=others)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("greedy", ("sub_block_run", "none")),
        ("gsm", ("sub_block_run", "none")),
        ("speedupgc", ("sub_block_run", "none")),
        ("pb", ("sub_block_set", "hardware")),
        ("baseline", ("block", "none")),
    ],
)
def test_device__isolation_is_kept_where_the_erase_unit_is(policy: str, expected: tuple[str, str]) -> None:
    config = layered(erase_unit="sub_block_run", isolation="none")
    ran = get_policy(policy).adapt(config)
    assert (ran.erase_unit, ran.isolation) == expected


def test_device__that_suits_the_policy__is_itself() -> None:
    config = layered(erase_unit="sub_block_run", isolation="software")
    with_memory = get_policy("gsm").adapt(config)
    but: Any = {"ftl": {"victim"}}
    assert with_memory.model_dump(exclude=but) == config.model_dump(exclude=but)
    assert get_policy("gsm+single").adapt(with_memory) is with_memory
    assert get_policy("greedy").adapt(config) is config


@pytest.mark.parametrize(
    ("config", "policy", "expected"),
    [
        (device(), "gsm", "policy gsm erases sub-blocks, and device small has one per block; set geometry."),
        (
            device(),
            "speedupgc_pb",
            "policy speedupgc_pb erases sub-blocks, and device small has one per block",
        ),
        (
            device(),
            "greedy+hotness_groups",
            "policy greedy+hotness_groups cannot run on device small: ftl.placement hotness_groups needs an",
        ),
        (
            device({"sub_blocks_per_block": 4}),
            "pb",
            "policy pb cannot run on device small: isolation hardware needs geometry.layers_per_block.",
        ),
        (
            device({"sub_blocks_per_block": 4}),
            "speedupgc",
            "policy speedupgc cannot run on device small: geometry.blocks_per_plane = 16 is too small for",
        ),
        (
            device(LAYERED, over_provisioning=0.2),
            "pb",
            "policy pb cannot run on device small: isolation hardware leaves 7680 of 10240 physical pages",
        ),
    ],
)
def test_device__that_a_policy_cannot_run_on__refused(
    config: DeviceConfig, policy: str, expected: str
) -> None:
    assert expected in refusal(Simulator, config, policy=policy)


def test_ftl_placement__goes_with_the_erase_unit_of_the_policy() -> None:
    sim = Simulator(layered(), policy="gsm", ftl={"placement": "hotness_groups", "hotness": {"hashes": 3}})
    assert sim.device.erase_unit == "sub_block_run"
    assert sim.device.ftl.placement == "hotness_groups"
    assert sim.device.ftl.hotness.hashes == 3
    assert Simulator(layered(), policy="speedupgc", ftl={"placement": "hotness_groups"}).device == (
        Simulator(layered(), policy="speedupgc").device
    )


def test_ftl_placement__other_than_the_policy_s__refused() -> None:
    text = refusal(Simulator, layered(), policy="speedupgc", ftl={"placement": "sep_gc"})
    assert "has the placement hotness_groups and cannot also be given sep_gc; leave one of them out" in text
    for policy in ("gsm", None):
        assert "device small: ftl.placement somewhere does not exist; known: " in refusal(
            Simulator, layered(), policy=policy, ftl={"placement": "somewhere"}
        )
    # A whole FTL is that of a device, which a policy adapts.
    whole = PageFtl(placement="sep_gc", timing="none")
    assert Simulator(layered(), policy="baseline", ftl=whole).device.ftl.placement == "single"


def test_no_policy__the_device_as_it_is() -> None:
    config = layered("sep_gc")
    assert Simulator(config, policy=None).device is config
    assert device_for(config, {"placement": "single"}) == with_ftl(config, {"placement": "single"})


def test_age__by_its_own_policy__changes_neither_erase_unit_nor_placement() -> None:
    sim = Simulator(layered(), policy="speedupgc")
    before = sim.device
    assert sim.precondition(cache=False).host_pages > 0
    assert sim.device is before
    assert sim.policy is not None
    assert sim.policy.label == "speedupgc"
    metrics = sim.run("zipf99", host_pages=5000)
    assert metrics["hot_pages_written"] > 0
    assert metrics["lost_pages"] == 0

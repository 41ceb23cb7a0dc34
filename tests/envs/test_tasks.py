"""Tasks of papers are as their file says; by default rules are ahead of random actions."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from ssdgym import registration
from ssdgym.config.device import load_device
from ssdgym.envs import SubpageRegionEnv
from ssdgym.envs.decisions import SIZES
from ssdgym.envs.sources import named_workloads
from ssdgym.errors import SsdgymError
from ssdgym.experiments.leaderboard.suites import load_suite

TASKS = registration.tasks()


@pytest.mark.parametrize("name", TASKS)
def test_task__is_an_environment_with_the_training_split_and_device_of_its_suite(name: str) -> None:
    arguments = TASKS[name]
    suite = load_suite(arguments["workload"].removeprefix("training:"))
    assert suite.environment is not None and suite.environment.id == f"ssdgym/{name}"
    assert list(suite.devices) == [arguments["device"][SIZES[0]]]
    assert named_workloads(arguments["workload"]) == list(suite.splits["training"])
    small, paper = (load_device(arguments["device"][size]) for size in SIZES)
    assert small.ftl.mapping == paper.ftl.mapping
    assert small.geometry.physical_pages < paper.geometry.physical_pages
    spec = gymnasium.spec(f"ssdgym/{name}")
    assert spec.kwargs == {key: value for key, value in arguments.items() if key != "environment"}


def test_size__chooses_the_device_of_a_task_alone() -> None:
    devices = {"small": "subftl-tiny", "paper": "subftl-tlc-small"}
    small, paper = (
        SubpageRegionEnv(device=devices, size=size).episodes.devices[0].name for size in (None, "paper")
    )
    assert (small, paper) == ("subftl-tiny", "subftl-tlc-small")
    for arguments, said in (
        ({"size": "paper"}, "size chooses among the devices of a paper's task"),
        ({"device": devices, "size": "large"}, "size must be small or paper, not 'large'"),
    ):
        with pytest.raises(SsdgymError, match=said):
            SubpageRegionEnv(**arguments)


def test_named_workloads__a_split_by_all_that_it_has__but_never_the_test_split() -> None:
    training = list(load_suite("subftl").splits["training"])
    assert named_workloads(["zipf99", "training:subftl"]) == ["zipf99", *training]
    assert named_workloads("trace:hm_0") == ["trace:hm_0"]
    with pytest.raises(SsdgymError, match="test:subftl: the test split is for results alone"):
        named_workloads("test:subftl")
    with pytest.raises(SsdgymError, match="there is no suite named 'none'"):
        named_workloads("training:none")


def test_speedupgc__more_write_amplification_pays_less() -> None:
    """A run that takes sub-blocks which hold nothing is no gain: "spent" had more reward than `gsm`."""
    env = gymnasium.make("ssdgym/SpeedupGC-v0", horizon=8192)
    spent = env.get_wrapper_attr("metadata")["features"]["candidates"].index("spent")
    found = {}
    for player in ("gsm", "spent"):
        observation, info = env.reset(seed=3)
        paid, over = 0.0, False
        while not over:
            mask = observation["action_mask"] != 0
            most = np.where(mask, observation["candidates"][:, spent], -np.inf).argmax()
            action = info["proposed"][0] if player == "gsm" else most
            observation, reward, _, over, info = env.step(action)
            paid += reward
        found[player] = paid, info["metrics"]["write_amplification"]
    env.close()
    assert found["spent"][1] > found["gsm"][1]
    assert found["spent"][0] < found["gsm"][0]

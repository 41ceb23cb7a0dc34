"""By default a random action is behind the rule that an environment is about."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest

from ssdgym.agents.playing.agents import RandomAction
from ssdgym.agents.playing.stumps import Stump
from ssdgym.registration import ENVIRONMENTS, tasks
from tests.docs.pages import ROOT

#: Of each environment the proposer that it is about, and a stump that is behind it.
ABOUT = {
    "EraseVictim-v0": (1, "-log_age"),
    "ParallelErase-v0": (1, "-log_age"),
    "Placement-v0": (0, "stream_gap"),
    "JointGC-v0": (2, "-log_age"),
    "BackgroundGC-v0": (0, "-answer_number"),
    "SubpageRegion-v0": (0, "-way_number"),
    "MergePlan-v0": (0, "plan_cost"),
    "WearLevel-v0": (0, "-log_age_closed"),
    "SpeedupGC-v0": (0, "-log_age"),
    "IPPBE-v0": (2, "-log_age"),
    "BlockSize-v0": (0, "answer_number"),
    "SubFTL-v0": (0, "-way_number"),
    "PEN-v0": (0, "plan_cost"),
}


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "docs" / "examples")
    return import_module("sound_tasks")


def test_environments__each_has_its_order() -> None:
    assert set(ABOUT) == {*ENVIRONMENTS, *tasks()}


@pytest.mark.slow
@pytest.mark.parametrize("name", ABOUT)
def test_random_action__is_behind_the_rule__and_so_is_a_bad_stump(name: str, script: Any) -> None:
    number, feature = ABOUT[name]
    env = script.make(name, 4)
    rule = script.returns(env, script.proposer(number)).mean()
    random = script.returns(env, script.agent(RandomAction())).mean()
    stump = script.returns(env, script.agent(Stump(env, feature))).mean()
    env.close()
    assert random < rule and stump < rule
    if name in tasks():
        assert -100 < random - rule < 0 and abs(rule) < 20


def test_stumps__are_of_every_feature_and_both_ways(script: Any) -> None:
    env = script.make("SubpageRegion-v0", 1, horizon=64)
    names = env.metadata["features"]
    context = np.random.default_rng(0).random((64, len(names["context"])))
    found = list(script.stumps(env, context))
    features = {feature.removeprefix("-") for feature, _ in found}
    assert features == {name for part in names.values() for name in part if "proposed_by" not in name}
    assert len(found) == 2 * (len(features) - len(names["context"])) + 6 * len(names["context"])


@pytest.mark.slow
def test_script__writes_the_best_of_each_kind(script: Any, tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(script, "TABLE", tmp_path / "sound.csv")
    monkeypatch.setattr(
        "sys.argv", ["sound_tasks.py", "SubpageRegion-v0", "--episodes", "2", "--seconds", "1"]
    )
    script.main()
    header, row = (tmp_path / "sound.csv").read_text().splitlines()
    assert header == "environment,random action,best rule proposed,best stump"
    assert row.startswith("`SubpageRegion-v0`") and "`region_rule`" in row

"""`--import`: what a module of the user registers is known to a command and to its worker processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ssdgym.agents.playing.files import source_of
from ssdgym.errors import SsdgymError
from ssdgym.own_code import IMPORTED

MODULE = '''
from ssdgym.envs.features import feature
from ssdgym.envs.rewards import reward_term
import numpy as np

@feature(low=0, high=1)
def stale(view, candidate, decision):
    """Return the invalid share of a candidate."""
    return candidate.invalid / (view.params[0].pages_per_block * candidate.pairs)

@reward_term("erase_cost", "erases")
def _erases(device):
    return {"erased_sub_blocks": 1.0}

class Stalest:
    def __init__(self, env):
        self.column = list(env.metadata["features"]["candidates"]).index("stale")

    def act(self, observation, mask, rng):
        return np.where(mask, observation["candidates"][..., self.column], -1).argmax(-1)
'''
FIELDS = (
    "{device: tiny, ftl: {timing: none}, horizon: 256, features: [default, stale],"
    " objective: {erase_cost: 1}}"
)


def ssdgym(folder: Path, *words: str) -> Any:
    """Return what a command prints as JSON, run as a user does in a folder of their own."""
    environment = {name: value for name, value in os.environ.items() if name != IMPORTED}
    done = subprocess.run(
        [sys.executable, "-m", "ssdgym", *words, "--json"],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my_lab.py").write_text(MODULE)
    (tmp_path / "training.yaml").write_text(
        f"base: ppo-smoke\ntotal_decisions: 512\nenvironment: {{kwargs: {FIELDS}}}\n"
    )
    (tmp_path / "experiment.yaml").write_text(
        "devices: [tiny]\nworkloads: [zipf99]\npolicies: [greedy]\nseeds: [1, 2]\nhost_pages: 500\n"
        "ftls: [{timing: none}]\nagents: []\n"
        "environment: {id: ssdgym/EraseVictim-v0, kwargs: {features: [stale], objective: {erase_cost: 1}}}\n"
    )
    return tmp_path


def evaluated(folder: Path, *words: str) -> dict[str, set[float]]:
    """Return the write amplifications of both policies of the experiment."""
    found = ssdgym(
        folder, "evaluate", "experiment.yaml", "-a", "my_lab:Stalest", "--import", "my_lab", *words
    )
    values: dict[str, set[float]] = {}
    for row in found["results"]:
        values.setdefault(row["policy"], set()).add(row["metrics"]["write_amplification"])
    return values


def test_evaluate__own_feature_and_reward__in_worker_processes(folder: Path) -> None:
    own = evaluated(folder, "--workers", "2")
    assert own["my_lab:Stalest"] == own["greedy"]  # without time, the stalest block is greedy's


@pytest.mark.slow
def test_evaluate__own_feature_and_reward__as_ray_tasks(folder: Path) -> None:
    own = evaluated(folder, "--address", "local")
    assert own["my_lab:Stalest"] == own["greedy"]


@pytest.fixture
def here(
    folder: Path, monkeypatch: pytest.MonkeyPatch, own_registrations: None, printed: Callable[..., Any]
) -> Callable[..., Any]:
    """What a command prints as JSON, run in the folder, but in the process of the test."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv(IMPORTED, "")
    monkeypatch.delitem(sys.modules, "my_lab", raising=False)
    return printed


def test_train__own_feature_and_reward__on_two_workloads(here: Callable[..., Any]) -> None:
    words = ("--import", "my_lab", "-w", "zipf99", "-w", "hot90", "--out", "run")
    config = here("train", "training.yaml", *words)["config"]
    assert config["environment"]["kwargs"]["workload"] == ["zipf99", "hot90"]
    shown = here("zoo", "show", "run/agent.zip", "--import", "my_lab")
    assert "stale" in shown["features"] and shown["command"].endswith(" --import=my_lab")


def test_list__has_what_a_module_registers(here: Callable[..., Any]) -> None:
    rows = here("list", "features", "--import", "my_lab")
    assert rows[-1]["name"] == "stale" and rows[-1]["of a"] == "candidate"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (None, "--import my_broken_lab: there is no module my_broken_lab"),
        (
            "1 / 0",
            "--import my_broken_lab: the module my_broken_lab raises ZeroDivisionError (division by zero); "
            "correct it.",
        ),
    ],
)
def test_module__that_cannot_be_imported__is_one_sentence(
    source: str | None,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    refusal: Callable[..., str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(IMPORTED, raising=False)
    if source is not None:
        (tmp_path / "my_broken_lab.py").write_text(source)
    assert said in refusal("run", "--import", "my_broken_lab", "--device", "tiny")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def f(:", "raises SyntaxError (invalid syntax (my_half_rule.py, line 1)); correct it."),
        ("from ssdgym.policy import victim_policy\nvictim_policy('f')", "raises TypeError ("),
    ],
)
def test_module_of_a_rule_or_an_agent__that_cannot_be_imported__is_one_sentence(
    source: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: Callable[..., str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my_half_rule.py").write_text(source)
    tiny = ("--device", "tiny", "--host-pages", "100")
    sentence = refusal("run", "--policy", "my_half_rule:f", "--timing", "none", *tiny)
    assert "policy my_half_rule:f: the module my_half_rule " in sentence and said in sentence
    agent: Any = source_of("my_half_rule:f", trust=True)
    with pytest.raises(SsdgymError, match="agent my_half_rule:f: the module my_half_rule raises"):
        agent.build(None)  # an environment is not needed yet

"""Weights and policies in files: numbers only, or one sentence."""

from __future__ import annotations

import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

from ssdgym.agents.agent import Agent
from ssdgym.agents.card import AgentCard, unpack_weights, weight_shapes
from ssdgym.agents.networks import network_of
from ssdgym.agents.playing.sb3 import load_sb3
from ssdgym.agents.rules import rule_named
from ssdgym.envs import EraseVictimVectorEnv
from ssdgym.errors import SsdgymError
from tests.agents.rules.agents import CARDS, random_agent


class Dangerous:
    """An object whose unpickling leaves a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


CARD = AgentCard.model_validate({"algorithm": "none", "decisions": 0, **CARDS["linear victims"]})


def with_weights(path: Path, **changed: np.ndarray | None) -> Path:
    """Save an agent, some parts of whose weights are others, or None and so missing."""
    weights = {name: part.numpy() for name, part in network_of(CARD).state_dict().items()} | changed
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("agent.json", CARD.model_dump_json())
        archive.writestr("weights.safetensors", save({k: v for k, v in weights.items() if v is not None}))
    return path


def refusals(path: Path) -> set[str]:
    """Return what is said of an agent's file, where it is loaded and where it is a rule."""
    said = set()
    for load in (lambda: Agent.load(path), lambda: rule_named(f"agent:{path}")):
        with pytest.raises(SsdgymError) as caught:
            load()
        said.add(str(caught.value).removeprefix("policy agent:").removeprefix(f"{path}: "))
    return said


@pytest.mark.parametrize("kind", CARDS)
def test_shapes__by_the_card__are_those_of_the_network(kind: str) -> None:
    agent = random_agent(kind)
    parts = agent.scorer.state_dict()
    assert weight_shapes(agent.card) == {name: tuple(part.shape) for name, part in parts.items()}


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("unknown", np.zeros(3, np.float32)),
        ("linear.weights", None),
        ("linear.weights", np.float32(1.0)),
        ("linear.weights", np.zeros(99, np.float32)),
        ("linear.weights", np.zeros(len(CARD.candidate_features), np.float64)),
        ("linear.log_sharpness", np.int32(1)),
    ],
    ids=["unknown", "missing", "no dimension", "too many", "float64", "int32"],
)
def test_weights__that_do_not_fit__are_refused_alike(
    name: str, part: np.ndarray | None, tmp_path: Path
) -> None:
    changed = None if part is None else np.asarray(part)
    path = with_weights(tmp_path / "a.zip", **{name: changed})
    assert refusals(path) == {f"its weights do not fit its description ({name}); train it again."}


def test_agent__a_named_pipe__refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    said = refusals(tmp_path / "pipe")
    assert said == {"this is no file but a pipe or a device; give the path of a file."}


@pytest.mark.parametrize("kind", ["pickle", "cut", "empty", "huge header"])
def test_weights__of_another_format__refused_and_not_run(kind: str, tmp_path: Path) -> None:
    trace, whole = tmp_path / "it ran", save({"a": np.zeros(100, np.float32)})
    data = {
        "pickle": pickle.dumps(Dangerous(trace)),
        "cut": whole[:-8],
        "empty": b"",
        "huge header": b"\xff" * 64,
    }[kind]
    with pytest.raises(SsdgymError, match=r"agent\.zip: its weights are damaged"):
        unpack_weights(data, CARD, "agent.zip")
    assert not trace.exists()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights__not_finite__refused(value: float, tmp_path: Path) -> None:
    path = with_weights(tmp_path / "a.zip", **{"linear.log_sharpness": np.asarray(value, np.float32)})
    assert refusals(path) == {"its weights linear.log_sharpness are not all finite; train it again."}


def test_policy_of_stable_baselines__damaged_or_missing__is_one_sentence(tmp_path: Path) -> None:
    env = EraseVictimVectorEnv(1, device="tiny")
    with pytest.raises(SsdgymError, match=r"nothing\.zip: there is no such file; correct the path"):
        load_sb3(tmp_path / "nothing.zip", env)
    (tmp_path / "model.zip").write_bytes(b"no zip")
    with pytest.raises(SsdgymError, match=r"model\.zip: cannot be loaded \("):
        load_sb3(tmp_path / "model.zip", env)

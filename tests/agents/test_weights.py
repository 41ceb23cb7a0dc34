"""Weights and policies in files: numbers only, or one sentence."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save

from ssdgym.agents.card import unpack_weights
from ssdgym.agents.playing.sb3 import load_sb3
from ssdgym.envs import EraseVictimVectorEnv
from ssdgym.errors import SsdgymError


class Dangerous:
    """An object whose unpickling leaves a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("kind", ["pickle", "cut", "empty", "huge header"])
def test_weights__of_another_format__refused_and_not_run(kind: str, tmp_path: Path) -> None:
    trace, whole = tmp_path / "it ran", save({"a": torch.zeros(100)})
    np.testing.assert_array_equal(unpack_weights(whole, "agent.zip")["a"], np.zeros(100, np.float32))
    data = {
        "pickle": pickle.dumps(Dangerous(trace)),
        "cut": whole[:-8],
        "empty": b"",
        "huge header": b"\xff" * 64,
    }[kind]
    with pytest.raises(SsdgymError, match=r"agent\.zip: its weights are damaged"):
        unpack_weights(data, "agent.zip")
    assert not trace.exists()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights__not_finite__refused(value: float) -> None:
    with pytest.raises(SsdgymError, match=r"agent\.zip: its weights a are not all finite; train it again"):
        unpack_weights(save({"a": torch.tensor([0.0, value])}), "agent.zip")


def test_policy_of_stable_baselines__damaged_or_missing__is_one_sentence(tmp_path: Path) -> None:
    env = EraseVictimVectorEnv(1, device="tiny")
    with pytest.raises(SsdgymError, match=r"nothing\.zip: there is no such file; correct the path"):
        load_sb3(tmp_path / "nothing.zip", env)
    (tmp_path / "model.zip").write_bytes(b"no zip")
    with pytest.raises(SsdgymError, match=r"model\.zip: cannot be loaded \("):
        load_sb3(tmp_path / "model.zip", env)

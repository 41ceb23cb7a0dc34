"""`ssdgym train`: options replace what is configured, and nothing else of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ssdgym.agents.training.config import TrainConfig
from ssdgym.config.loading import load_config


def test_train__options_replace_what_is_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: Callable[..., Any]
) -> None:
    monkeypatch.setattr("ssdgym.agents.training.train.train", lambda *_, **__: tmp_path / "agent.zip")
    own = load_config(TrainConfig, "ppo-smoke", "training").model_dump(mode="json")
    command = ["train", "ppo-smoke", "--out", tmp_path]
    assert printed(*command)["config"] == own
    changed = printed(*command, "--seed", 7, "--decisions", 512, "--device", "tiny")["config"]
    environment = own["environment"]
    kwargs = {**environment["kwargs"], "device": "tiny"}
    assert changed == {
        **own,
        "seed": 7,
        "total_decisions": 512,
        "environment": {**environment, "kwargs": kwargs},
    }

"""A training can end at a checkpoint, and go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from ssdgym.agents.agent import Agent
from ssdgym.agents.training.checkpoint import Checkpoint
from ssdgym.agents.training.train import train
from ssdgym.agents.training.validation import LAST_AGENT
from tests.agents.toy import train_to_a_checkpoint


def weights_in(folder: Path) -> dict[str, torch.Tensor]:
    return Agent.load(folder / LAST_AGENT).scorer.state_dict()


def same(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> bool:
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


def test_train__ended_at_a_checkpoint_and_resumed__equals_one_that_was_not(
    make_config: Any, tmp_path: Path
) -> None:
    config = make_config()
    train(config, tmp_path / "whole", progress=False)
    train_to_a_checkpoint(config, tmp_path / "half")
    assert [row["decisions"] for row in Checkpoint.load(tmp_path / "half").evaluations] == [0, 512]
    train(config, tmp_path / "rest", resume=tmp_path / "half", progress=False)
    assert same(weights_in(tmp_path / "whole"), weights_in(tmp_path / "rest"))

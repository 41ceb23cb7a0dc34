"""A training can end at a checkpoint, and go on from that of another run with other settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from ssdgym.agents.agent import Agent
from ssdgym.agents.training.checkpoint import Checkpoint
from ssdgym.agents.training.train import train
from ssdgym.agents.training.validation import LAST_AGENT
from ssdgym.errors import SsdgymError

ALGORITHMS = pytest.mark.parametrize("algorithm", ["ppo", "fast_ppo"])


def weights_in(folder: Path) -> dict[str, torch.Tensor]:
    return Agent.load(folder / LAST_AGENT).scorer.state_dict()


def same(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> bool:
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


def with_learning_rate(config: Any, rate: float, **fields: Any) -> Any:
    algorithm = {**config.model_dump()[config.algorithm], "learning_rate": rate}
    return type(config).model_validate({**config.model_dump(), config.algorithm: algorithm, **fields})


@ALGORITHMS
def test_train__ended_at_a_checkpoint_and_resumed__equals_one_that_was_not(
    make_config: Any, tmp_path: Path, algorithm: str
) -> None:
    config = make_config(algorithm)
    train(config, tmp_path / "whole", progress=False)
    train(config, tmp_path / "half", progress=False, checkpoints=1)
    assert [row["decisions"] for row in Checkpoint.load(tmp_path / "half").evaluations] == [0, 512]
    train(config, tmp_path / "rest", resume=tmp_path / "half", progress=False)
    assert same(weights_in(tmp_path / "whole"), weights_in(tmp_path / "rest"))


@ALGORITHMS
def test_branch__begins_with_the_weights_and_learns_with_its_own_settings(
    make_config: Any, tmp_path: Path, algorithm: str
) -> None:
    config = make_config(algorithm)
    train(config, tmp_path / "half", progress=False, checkpoints=1)
    slow = with_learning_rate(config, 1e-12, seed=5)
    train(slow, tmp_path / "slow", resume=tmp_path / "half", progress=False, branch=True)
    half, slow_weights = weights_in(tmp_path / "half"), weights_in(tmp_path / "slow")
    # it has learned for as long as the other one, with a learning rate that changes next to nothing
    assert all(torch.allclose(half[name], slow_weights[name], atol=1e-6) for name in half)
    train(config, tmp_path / "fast", resume=tmp_path / "half", progress=False)
    assert not all(
        torch.allclose(half[name], weights_in(tmp_path / "fast")[name], atol=1e-6) for name in half
    )


def test_branch__what_the_checkpoint_depends_on_cannot_change(make_config: Any, tmp_path: Path) -> None:
    config = make_config("ppo")
    train(config, tmp_path / "half", progress=False, checkpoints=1)
    with pytest.raises(SsdgymError, match="was made with another 'scorer'"):
        wider = make_config("ppo", scorer={"hidden": [8]})
        train(wider, tmp_path / "a", resume=tmp_path / "half", progress=False, branch=True)
    smaller = make_config("ppo", ppo={**config.model_dump()["ppo"], "rollout_steps": 16})
    with pytest.raises(SsdgymError, match="was made with another 'ppo'"):
        train(smaller, tmp_path / "b", resume=tmp_path / "half", progress=False, branch=True)
    with pytest.raises(SsdgymError, match="was made with another 'ppo'"):
        other = with_learning_rate(config, 0.5)
        train(other, tmp_path / "c", resume=tmp_path / "half", progress=False)

"""DQN from credit: what scores are moved towards, and a run that learns, repeats itself and goes on."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from stable_baselines3.common.logger import Logger

from ssdgym.agents.agent import Agent
from ssdgym.agents.features import FeatureNames
from ssdgym.agents.training.checkpoint import Checkpoint
from ssdgym.agents.training.config import DqnConfig, TrainConfig
from ssdgym.agents.training.dqn_learner import Dqn, rows_of, targets_of
from ssdgym.agents.training.stages import Segments
from ssdgym.agents.training.train import TrainingRun, train
from ssdgym.config.loading import load_config
from ssdgym.envs.credit import Credit, Transitions
from ssdgym.errors import SsdgymError


def config_of(**changes: Any) -> TrainConfig:
    """Return a run of a few thousand decisions on the smallest device."""
    return TrainConfig.model_validate(
        {
            "algorithm": "dqn",
            "environment": {
                "id": "ssdgym/Placement-v0",
                "kwargs": {
                    "device": {"base": "demo-placement", "geometry.blocks_per_plane": 64},
                    "ftl": {"timing": "none"},
                    "workload": "hot80",
                    "credit": {"kind": "page", "price": 10},
                    "features": [
                        "page_relocated",
                        "page_age",
                        "page_updates",
                        "stream_number",
                        "stream_intake",
                    ],
                    "horizon": 1 << 20,
                },
            },
            "n_envs": 8,
            "total_decisions": 12_800,
            "checkpoint_decisions": 6400,
            "scorer": {"hidden": [8], "start": "none", "pooling": "none"},
            "dqn": {"learning_starts": 50, "target_every": 50},
            "evaluation": {"episodes": 1, "kwargs": {"horizon": 512}},
            **changes,
        }
    )


def test_targets__are_minus_what_was_paid_and_what_the_best_candidate_will_cost() -> None:
    seen = np.zeros((4, 1), np.float32)
    costs, done = np.array([1.0, 0.5, 9.0, 1.0], np.float32), np.array([False, True, True, False])
    batch = Transitions(seen, np.zeros(4, np.int64), costs, seen, done)
    following = torch.tensor([-2.0, -2.0, -2.0, 0.3])
    found = targets_of(batch, following, DqnConfig(gamma=0.5, most_cost=5.0))
    assert found.tolist() == [-2.0, -0.5, -5.0, -1.0]


def test_rows__hold_the_context_and_then_candidate_by_candidate() -> None:
    candidates = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    observation = {"context": np.array([[-1.0], [-2.0]], np.float32), "candidates": candidates}
    assert rows_of(observation).tolist() == [[-1, 0, 1, 2, 3, 4, 5], [-2, 6, 7, 8, 9, 10, 11]]


class OneEnvironment:
    """Eight decisions whatever is done, of four candidates each."""

    def reset(self, seed: int) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        self.rng = np.random.default_rng(seed)
        return self._observation(), {"decision": np.arange(8)}

    def step(self, actions: np.ndarray) -> tuple[Any, ...]:
        """Let candidate 3 cost nothing where the context is above 0, candidate 0 where it is below."""
        free = np.where(self.context[:, 0] > 0, 3, 0)
        credits = np.empty(8, object)
        credits[:] = [[Credit(i, float(one), -1)] for i, one in enumerate(actions != free)]
        return self._observation(), None, None, None, {"decision": np.arange(8), "credits": credits}

    def _observation(self) -> dict[str, np.ndarray]:
        self.context = self.rng.choice([-1.0, 1.0], size=(8, 1)).astype(np.float32)
        numbers = np.tile(np.linspace(-1, 1, 4, dtype=np.float32)[:, None], (8, 1, 1))
        return {"context": self.context, "candidates": numbers, "action_mask": np.ones((8, 4), np.int8)}


def test_dqn__candidates_that_cost_nothing__have_the_best_scores() -> None:
    settings = {"learning_starts": 64, "train_every": 1, "learning_rate": 0.01, "decay": 1.0}
    config = config_of(total_decisions=2400, checkpoint_decisions=2400, dqn=settings)
    learner = Dqn(config, OneEnvironment(), FeatureNames(("number",), ("context",)))
    learner.set_logger(Logger(None, []))
    learner.learn(Segments(2400, lambda: None, lambda decisions: None), 0.0)
    observation, _ = OneEnvironment().reset(5)
    tensors = [torch.from_numpy(observation[name]) for name in ("candidates", "context", "action_mask")]
    with torch.no_grad():
        found = learner.scorer(*tensors).argmax(1)
    assert found.tolist() == np.where(observation["context"][:, 0] > 0, 3, 0).tolist()


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train without a stop."""
    return train(config_of(), tmp_path_factory.mktemp("dqn") / "whole", progress=False)


def test_dqn__stopped_and_resumed__equals_a_run_without_a_stop(trained: Path, tmp_path: Path) -> None:
    def stop(run: TrainingRun) -> None:
        if run.decisions:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(config_of(), tmp_path, progress=False, report=stop)
    assert Agent.load(tmp_path / "agent-last.zip").card.decisions == 6400
    train(config_of(), tmp_path, resume=tmp_path, progress=False)
    whole, resumed = (Checkpoint.load(folder).algorithm for folder in (trained.parent, tmp_path))
    assert whole["counters"] == resumed["counters"] and whole["counters"]["updates"] > 50
    assert all(torch.equal(part, resumed["scorer"][name]) for name, part in whole["scorer"].items())


def test_dqn__says_on_its_card_what_has_trained_it(trained: Path) -> None:
    with trained.with_name("evaluations.csv").open() as file:
        assert [row["stage"] for row in csv.DictReader(file)] == ["untrained", "dqn", "dqn"]
    card = Agent.load(trained.with_name("agent-last.zip")).card
    assert card.algorithm == "dqn" and card.how_trained.startswith("DQN (")
    assert card.scorer is not None and card.arguments["credit"] == {"kind": "page", "price": 10}


def test_dqn__without_credit__is_refused() -> None:
    with pytest.raises(SsdgymError, match="dqn learns from it"):
        load_config(TrainConfig, {"algorithm": "dqn"}, "training")

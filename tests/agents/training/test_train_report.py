"""Whoever trains can look at every checkpoint, without changing what comes after it."""

import torch

from ssdgym.agents.agent import Agent
from ssdgym.agents.training.train import TrainingRun, train


def test_train__report__is_called_at_every_checkpoint_when_its_files_are_there(make_config, tmp_path) -> None:
    seen = []

    def report(run: TrainingRun) -> None:
        assert Agent.load(tmp_path / "agent-last.zip").card.decisions == run.decisions
        assert Agent.load(tmp_path / "agent.zip").card.decisions == run.best_decisions
        seen.append(run.decisions)

    train(make_config(), tmp_path, progress=False, report=report)
    assert seen == [0, 512, 1024]


def test_train__report__that_draws_random_numbers_changes_no_bit(make_config, tmp_path) -> None:
    train(make_config(), tmp_path / "quiet", progress=False)
    train(make_config(), tmp_path / "reported", progress=False, report=lambda run: torch.rand(7))
    quiet, reported = (
        Agent.load(tmp_path / name / "agent-last.zip").scorer.state_dict() for name in ("quiet", "reported")
    )
    assert all(torch.equal(quiet[name], reported[name]) for name in quiet)

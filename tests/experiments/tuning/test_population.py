"""A member of a population goes on with its own network or that of another, and repeats no finished stage."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
import torch

from ssdgym.errors import SsdgymError
from ssdgym.experiments.tuning.config import SweepConfig, load_sweep
from ssdgym.experiments.tuning.measuring import records_of, run_member
from ssdgym.experiments.tuning.trials import Trial, plan_trial

METRIC = "write_amplification"
ALGORITHMS = pytest.mark.parametrize("algorithm", ["ppo", "dqn"])


class Stopped(Exception):
    """Ends a member where it reports, as Ray does."""


def population(algorithm: str) -> SweepConfig:
    changes: dict[str, Any] = {
        "algorithm": algorithm,
        "environment.kwargs": {"device": "tiny", "ftl": {"timing": "none"}, "horizon": 128},
        "n_envs": 2,
        "total_decisions": 192,
        "checkpoint_decisions": 64,
        "ppo.rollout_steps": 32,
        "ppo.batch_decisions": 32,
        "dqn.warm_up_decisions": 32,
        "dqn.buffer_decisions": 128,
        "dqn.batch_decisions": 16,
        "evaluation.episodes": 1,
    }
    return load_sweep(
        {
            "base": {"kind": "agent", "agent": "ppo-smoke", "changes": changes},
            "space": {f"{algorithm}.learning_rate": {"loguniform": [1e-12, 0.1]}},
            "evaluation": {"workloads": ["zipf80"], "seeds": 2, "host_pages": 256},
            "scheduler": {"kind": "pbt"},
            "trials": 2,
        }
    )


def member(number: int, rate: float, algorithm: str = "ppo") -> Trial:
    return plan_trial(population(algorithm), number, {f"{algorithm}.learning_rate": rate})


def run_stage(trial: Trial, folder: Path, begin_with: Path | None = None) -> Path:
    """Run one stage of a member and return its folder."""
    found: list[Path] = []

    def stop(_: object, own: Path) -> None:
        found.append(own)
        raise Stopped

    with pytest.raises(Stopped):
        run_member(trial, METRIC, folder / f"trials/{trial.number:04}", begin_with, stop)
    return found[0]


def weights_in(stage: Path) -> dict[str, torch.Tensor]:
    from ssdgym.agents.agent import Agent

    return Agent.load(stage / "agent-last.zip").scorer.state_dict()


def evaluations_in(stage: Path) -> list[dict[str, str]]:
    with (stage / "evaluations.csv").open(newline="") as file:
        return list(csv.DictReader(file))


@ALGORITHMS
def test_copy__goes_on_with_the_weights_of_the_other_and_its_own_settings(
    algorithm: str, tmp_path: Path
) -> None:
    good = run_stage(member(0, 0.01, algorithm), tmp_path)
    run_stage(member(1, 0.02, algorithm), tmp_path)
    copy = run_stage(member(1, 1e-12, algorithm), tmp_path, begin_with=good)
    # a learning rate that changes next to nothing leaves what was copied
    left, right = weights_in(good), weights_in(copy)
    assert all(torch.allclose(left[name], right[name], atol=1e-6) for name in left)
    assert evaluations_in(copy)[:-1] == evaluations_in(good)
    first, second = records_of(tmp_path / "trials/0001")
    assert (first.copied(1), second.copied(1)) == (None, 0)
    assert second.parameters == {f"{algorithm}.learning_rate": 1e-12}
    assert (second.number, second.percent, second.decisions) == (2, 66, 128)


def test_members__begin_with_networks_of_their_own(tmp_path: Path) -> None:
    one, other = (run_stage(member(number, 1e-12), tmp_path) for number in (0, 1))
    left, right = weights_in(one), weights_in(other)
    assert not all(torch.equal(left[name], right[name]) for name in left)


def test_member__run_to_its_end__reports_every_stage_and_equals_one_that_was_stopped(tmp_path: Path) -> None:
    trial = member(0, 0.01)
    told: list[tuple[int, int | None]] = []
    whole = tmp_path / "whole/trials/0000"
    run_member(
        trial, METRIC, whole, None, lambda report, _: told.append((report.percent, report.trained_for))
    )
    assert told == [(33, 64), (66, 128), (100, 192)]
    stage: Path | None = None
    for _ in told:
        stage = run_stage(trial, tmp_path / "stopped", stage)
    assert stage is not None
    assert evaluations_in(stage) == evaluations_in(whole / "stages/0003")


def test_finished_stage__is_not_repeated_unless_it_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run_stage(member(0, 0.01), tmp_path)
    second = run_stage(member(0, 0.01), tmp_path, first)
    with monkeypatch.context() as patch:
        patch.setattr(
            "ssdgym.agents.training.train.train", lambda *_, **__: pytest.fail("it was trained again")
        )
        assert run_stage(member(0, 0.01), tmp_path) == first
        assert run_stage(member(0, 0.01), tmp_path, first) == second
    run_stage(member(0, 0.02), tmp_path, first)
    assert records_of(tmp_path / "trials/0000")[1].parameters == {"ppo.learning_rate": 0.02}


def test_stage__killed_before_its_record__is_trained_again(tmp_path: Path) -> None:
    first = run_stage(member(0, 0.01), tmp_path)
    weights = weights_in(first)
    (first / "stage.json").unlink()
    (first / "agent-last.zip").write_bytes(b"half a file")
    again = weights_in(run_stage(member(0, 0.01), tmp_path))
    assert all(torch.equal(weights[name], again[name]) for name in weights)


def test_record__damaged__is_one_sentence(tmp_path: Path) -> None:
    first = run_stage(member(0, 0.01), tmp_path)
    (first / "stage.json").write_text("{")
    with pytest.raises(SsdgymError, match=r"stage.json: is missing or damaged; remove .*0001, then resume"):
        records_of(tmp_path / "trials/0000")

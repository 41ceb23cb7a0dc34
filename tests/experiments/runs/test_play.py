"""A learned agent is measured on the very devices and requests that the heuristics are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from gymnasium.vector import VectorEnv

from ssdgym.errors import SsdgymError
from ssdgym.experiments.runs import play
from ssdgym.experiments.runs.evaluate import check_runs, run_all
from ssdgym.experiments.runs.run_spec import RunSpec


class Greedy:
    """Stands for a network: plays the pick of `greedy`, which the environment's info names."""

    environment: VectorEnv | None
    card = SimpleNamespace(
        environment="ssdgym/EraseVictim-v0",
        training={"environment": {"kwargs": {"proposers": ("fifo", "greedy"), "horizon": 9}}},
    )

    @classmethod
    def load(cls, path: Path, environment: VectorEnv | None = None) -> Greedy:
        agent = cls()
        agent.environment = environment
        return agent

    def act(self, observation: dict[str, np.ndarray]) -> np.ndarray:
        # The environment is made with the proposers the agent was trained with, in their order.
        proposed = self.environment.episodes.view.proposed[:, 1]
        return np.maximum(proposed, 0)


def runs(agent: Path | None, seeds: Sequence[int] = (7, 8)) -> list[RunSpec]:
    return [
        RunSpec(
            device="tiny",
            workload="zipf99_rw",
            policy="greedy",
            seed=seed,
            ftl=(("placement", "sep_gc"), ("queue_depth", 4)),
            host_pages=3_000,
            warmup=1_000,
            agent=agent,
        )
        for seed in seeds
    ]


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    """A file whose hash the results keep; nobody reads it."""
    path = tmp_path / "agent.zip"
    path.write_bytes(b"")
    return path


def test_play__greedy_as_an_agent_equals_the_compiled_policy_in_every_metric(
    monkeypatch: pytest.MonkeyPatch, agent: Path
) -> None:
    monkeypatch.setattr(play, "Agent", Greedy)
    assert run_all(runs(agent), workers=1) == run_all(runs(None), workers=1)


def test_play__seeds_are_played_in_order_whatever_their_company(
    monkeypatch: pytest.MonkeyPatch, agent: Path
) -> None:
    monkeypatch.setattr(play, "Agent", Greedy)
    together = play.play_agent(runs(agent))
    alone = play.play_agent(runs(agent, seeds=[8]))
    assert [result.seed for result in together] == [7, 8]
    assert together[1] == alone[0] != together[0]


def test_check__an_agent_needs_a_number_of_host_pages() -> None:
    with pytest.raises(SsdgymError, match="agent.zip: an agent is evaluated for a number of host pages"):
        check_runs([RunSpec("tiny", "zipf99", "learned", 1, agent=Path("agent.zip"))])

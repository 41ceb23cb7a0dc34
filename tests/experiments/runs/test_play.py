"""A learned agent is measured on the very devices and requests that the heuristics are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import VectorEnv

from ssdgym.agents.playing import files as sources
from ssdgym.agents.playing.files import FileSource
from ssdgym.agents.training.config import EnvironmentConfig
from ssdgym.errors import SsdgymError
from ssdgym.experiments.runs.evaluate import check_runs, run_all
from ssdgym.experiments.runs.replay import replay
from ssdgym.experiments.runs.run import play_agent
from ssdgym.experiments.runs.spec import RunSpec


class Greedy:
    """Stands for a network: plays the pick of `greedy`, which the environment's info names."""

    def __init__(self, environment: VectorEnv) -> None:
        self.environment = environment

    def act(self, observation: Any, mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        # The environment is made with the proposers the agent was trained with, in their order.
        proposed = self.environment.episodes.view.proposed[:, 1]
        return np.maximum(proposed, 0)


class GreedyFile(FileSource):
    """Stands for the file of one."""

    def own_environment(self) -> EnvironmentConfig:
        return EnvironmentConfig(kwargs={"proposers": ("fifo", "greedy")})

    def build(self, env: VectorEnv) -> Greedy:
        return Greedy(env)


def runs(agent: Path | None, seeds: Sequence[int] = (7, 8), workload: Any = "zipf99_rw") -> list[RunSpec]:
    return [
        RunSpec(
            device="tiny",
            workload=workload,
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
    """A file whose hash the results keep; nothing reads it."""
    path = tmp_path / "agent.zip"
    path.write_bytes(b"")
    return path


def test_play__greedy_as_an_agent_equals_the_compiled_policy_in_every_metric(
    monkeypatch: pytest.MonkeyPatch, agent: Path
) -> None:
    monkeypatch.setattr(sources, "TrainedSource", GreedyFile)
    assert run_all(runs(agent), workers=1) == run_all(runs(None), workers=1)


@pytest.fixture
def trace(tmp_path: Path, own_cache: Path) -> dict[str, Any]:
    """A trace of 5,000 writes."""
    path = tmp_path / "trace.csv"
    pages = np.random.default_rng(0).integers(0, 700, 5000)
    path.write_text("".join(f"{1000 + n},h,0,Write,{p * 4096},4096,1\n" for n, p in enumerate(pages)))
    return {"kind": "trace", "path": str(path)}


@pytest.mark.parametrize("fields", [{}, {"window": [0.1, 0.7], "start": "random", "loops": None}])
def test_play__a_trace_from_where_the_policy_s_run_begins(
    monkeypatch: pytest.MonkeyPatch, agent: Path, trace: dict[str, Any], fields: dict[str, Any]
) -> None:
    """By itself from the first request; at random, if it says so, from that of the run's seed."""
    monkeypatch.setattr(sources, "TrainedSource", GreedyFile)
    workload = {**trace, **fields}
    learned = run_all(runs(agent, workload=workload), workers=1)
    assert learned == run_all(runs(None, workload=workload), workers=1)
    assert (learned[0].metrics == learned[1].metrics) == ("start" not in fields)


def test_play__a_trace_that_is_too_short__is_told(
    monkeypatch: pytest.MonkeyPatch, agent: Path, trace: dict[str, Any]
) -> None:
    monkeypatch.setattr(sources, "TrainedSource", GreedyFile)
    with pytest.raises(SsdgymError, match="the workload ended after 1[0-9]* of 3000 host pages; give it "):
        run_all(runs(agent, workload={**trace, "window": [0, 0.5]}), workers=1)


def test_play__seeds_are_played_in_order_whatever_their_company(
    monkeypatch: pytest.MonkeyPatch, agent: Path
) -> None:
    monkeypatch.setattr(sources, "TrainedSource", GreedyFile)
    together = play_agent(runs(agent))
    alone = play_agent(runs(agent, seeds=[8]))
    assert [result.seed for result in together] == [7, 8]
    assert together[1] == alone[0] != together[0]


@pytest.mark.parametrize("kind", ["workload", "reads", "until_gc_greedy", "reads_until_gc_greedy"])
def test_play__a_whole_trace__as_the_policy_does_after_the_same_preconditioning(
    monkeypatch: pytest.MonkeyPatch, agent: Path, tmp_path: Path, own_cache: Path, kind: str
) -> None:
    monkeypatch.setattr(sources, "TrainedSource", GreedyFile)
    pages = np.random.default_rng(0).integers(0, 700, 6000)
    lines = (
        f"{1000 + n},h,0,{'Read' if n % 3 else 'Write'},{p * 4096},4096,1\n" for n, p in enumerate(pages)
    )
    path = tmp_path / "mixed.csv"
    path.write_text("".join(lines))

    def whole(agent: Path | None) -> list[RunSpec]:
        workload = {"kind": "trace", "path": str(path), "loops": 3}
        ftl = (("queue_depth", 4),)
        changes = {"host_pages": None, "warmup": 0, "preconditioning": kind, "ftl": ftl}
        return [replace(run, **changes) for run in runs(agent, workload=workload)]

    learned = run_all(whole(agent), workers=1)
    assert learned == run_all(whole(None), workers=1)
    assert all(result.metrics["requests"] == 18_000 for result in learned)
    assert replay(learned, [2], "results.csv")[0].measured == learned[1]


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, "workload zipf99 never ends: set host_pages, or its requests"),
        (
            {"day_requests": 9},
            "agent.zip: an agent plays a number of host pages or a workload to its end: leave",
        ),
        (
            {"host_pages": 9, "preconditioning": "until_gc"},
            "agent.zip: an agent plays an environment, which has no preconditioning until_gc: set another",
        ),
        (
            {"preconditioning": "reads_repeat"},
            "agent.zip: an agent plays an environment, which has no preconditioning reads_repeat: set",
        ),
    ],
)
def test_check__what_no_environment_plays(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SsdgymError, match=sentence):
        check_runs([RunSpec("tiny", "zipf99", "learned", 1, agent=Path("agent.zip"), **fields)])


def own_runs(agent: str, **fields: Any) -> list[RunSpec]:
    settings = {"host_pages": 500, "agent": agent, "trust": True, **fields}
    return [RunSpec("tiny", "zipf99", "own", seed, (("timing", "none"),), **settings) for seed in (7, 8)]


def test_play__random_action_in_another_environment() -> None:
    parallel = EnvironmentConfig(
        id="ssdgym/ParallelErase-v0", kwargs={"candidates": 8, "objective": {"wear": 1}}
    )
    erase, together = (
        run_all(own_runs("random_action", environment=environment), workers=1)
        for environment in (None, parallel)
    )
    assert run_all(own_runs("random_action"), workers=1) == erase != together
    assert all("ParallelErase" in result.spec for result in together)


def test_play__on_devices_preconditioned_as_the_run_says() -> None:
    filled, steady = (
        run_all(own_runs("random_action", preconditioning=kind), workers=1) for kind in ("fill", "workload")
    )
    for one, other in zip(filled, steady, strict=True):
        assert one.metric("relocated_pages") != other.metric("relocated_pages")


def test_play__agent_that_returns_something_else__is_told(own_module: str) -> None:
    with pytest.raises(SsdgymError, match="has to return one whole number for each of 2 environments"):
        run_all(own_runs(f"{own_module}:OneForAll"), workers=1)


def test_check__environment_with_an_argument_of_the_run__is_refused() -> None:
    environment = EnvironmentConfig(kwargs={"horizon": 9})
    with pytest.raises(SsdgymError, match="environment.kwargs.horizon: every run of an evaluation sets it"):
        check_runs(own_runs("random_action", environment=environment))


def test_replay__own_agent__needs_trust_and_then_reproduces(own_module: str) -> None:
    results = run_all(own_runs(f"{own_module}:MostInvalid(sign=-1)"), workers=1)
    with pytest.raises(SsdgymError, match="give --trust"):
        replay(results, [1], "results.csv")
    (again,) = replay(results, [2], "results.csv", trust=True)
    assert again.reproduces


def test_replay__own_agent_whose_source_has_changed__is_refused(own_module: str, tmp_path: Path) -> None:
    results = run_all(own_runs(f"{own_module}:MostInvalid"), workers=1)
    with (tmp_path / f"{own_module}.py").open("a") as file:
        file.write("# changed")
    with pytest.raises(SsdgymError, match="MostInvalid has changed"):
        replay(results, [1], "results.csv", trust=True)

"""An evolution: what it searches, what it is judged by, what it writes, and what it may not look at."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ssdgym.agents.agent import Agent
from ssdgym.agents.playing.files import source_of
from ssdgym.agents.rules import register_trainable
from ssdgym.agents.training.evolution import WeightVectors, begin_with_lifetimes, mean_fitness
from ssdgym.agents.training.tasks import Play, Task
from ssdgym.errors import SsdgymError
from ssdgym.experiments.leaderboard.suites import load_suite, split_digest
from ssdgym.experiments.leaderboard.training import SuiteEvolutionConfig, evolution_tasks, evolve
from ssdgym.simulator import Simulator

SUITE: dict[str, Any] = {
    "devices": ["demo-placement"],
    "vary": {"capacity.over_provisioning": [0.15]},
    "ftls": [{"timing": "none"}],
    "splits": {
        "training": [{"kind": "zipf", "theta": 0.8}],
        "validation": [{"kind": "zipf", "theta": 0.9}],
        "test": [{"kind": "zipf", "theta": 0.99}],
    },
    "baseline": "cost_benefit(exponent=0.5, since_close=1)+sepbit",
    "ceilings": ["future_benefit+oracle_k"],
    "seeds": [1],
    "host_pages": 8000,
    "warmup": 8000,
}
PLACEMENT: dict[str, Any] = {
    "policy": "cost_benefit(since_close=1)+{agent}",
    "environment": "ssdgym/Placement-v0",
    "candidates": {"stream_number": {}},
    "context": {
        "page_relocated": {},
        "page_age": {"centre": 0.7, "spread": 1.5, "start": [0.5, 0.8]},
        "page_updates": {"centre": 1.5, "spread": 1.5, "start": [-0.6, -0.5]},
    },
    "ordinal": {"actions": 6, "ranges": [[0, 6], [3, 3]]},
}
VICTIMS: dict[str, Any] = {
    "policy": "{agent}+sep_gc",
    "environment": "ssdgym/EraseVictim-v0",
    "candidates": {"log_benefit": {"start": [1.0]}, "log_age_closed": {"start": [0.5]}},
    "context": {"log_spare": {}},
    "scorer": {"hidden": [4], "pooling": "none", "start": "none"},
}


@pytest.fixture
def make(tmp_path: Path) -> Any:
    """Make a small evolution; keyword arguments replace fields."""
    import yaml

    (tmp_path / "suite.yaml").write_text(yaml.safe_dump(SUITE))

    def make_config(kind: dict[str, Any] = PLACEMENT, **fields: Any) -> SuiteEvolutionConfig:
        small = {
            "suite": str(tmp_path / "suite.yaml"),
            "generations": 3,
            "members": 4,
            "tasks": {"count": 2, "per_generation": 1, "overwrites": 1.0, "warmup_overwrites": 1.0},
            "validation": {"every": 2},
        }
        return SuiteEvolutionConfig.model_validate({**small, **kind, **fields})

    return make_config


def plays_of(config: SuiteEvolutionConfig) -> list[Play]:
    """Return the training tasks of the one training workload."""
    (plays,) = evolution_tasks(config, load_suite(config.suite)).training
    return list(plays)


@pytest.mark.parametrize("kind", [PLACEMENT, VICTIMS])
def test_evolution__writes_an_agent_that_is_a_policy(make: Any, tmp_path: Path, kind: dict[str, Any]) -> None:
    agent = evolve(make(kind), tmp_path / "out", progress=False, command="ssdgym evolve --config x --seed 0")
    policy = kind["policy"].replace("{agent}", f"agent:{agent}")
    found = Simulator("demo-placement", ftl={"timing": "none"}, policy=policy).run("zipf80", host_pages=9_000)
    assert found["erases"] > 0
    card = Agent.load(agent).card
    assert card.command == "ssdgym evolve --config x --seed 0"
    assert card.split_digest == split_digest(load_suite(tmp_path / "suite.yaml"))
    with (tmp_path / "out" / "evaluations.csv").open() as file:
        assert [row["generation"] for row in csv.DictReader(file)] == ["0", "2", "3"]


@pytest.mark.parametrize("kind", [PLACEMENT, VICTIMS])
def test_evolved_agent__plays_its_environment__as_other_agents_do(
    make: Any, tmp_path: Path, kind: dict[str, Any]
) -> None:
    agent = evolve(make(kind, generations=1), tmp_path / "out", progress=False)
    env = source_of(agent).own_environment()
    assert env is not None and env.id == kind["environment"]
    assert set(env.kwargs) == ({"features", "streams"} if kind is PLACEMENT else {"features"})


@pytest.mark.parametrize("more", [{}, {"lifetimes": {"pages": 512}}])
def test_evolution__of_the_same_seed__has_the_same_bits(make: Any, tmp_path: Path, more: Any) -> None:
    files = [evolve(make(**more), tmp_path / name, progress=False) for name in ("first", "second")]
    last = [Agent.load(file.with_name("agent-last.zip")).scorer.state_dict() for file in files]
    assert {name for name in last[0] if not np.array_equal(last[0][name], last[1][name])} == set()


def test_evolution__finds_weights_that_are_better_than_a_bad_start(make: Any, tmp_path: Path) -> None:
    context = {
        **PLACEMENT["context"],
        "page_age": {"start": [0.0, 0.0]},
        "page_updates": {"start": [0.0, 0.0]},
    }
    config = make(context=context, generations=12, members=8, spread=0.5)
    evolve(config, tmp_path / "out", progress=False)
    with (tmp_path / "out" / "evaluations.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert min(float(row["change"]) for row in rows[1:]) < float(rows[0]["change"]) - 0.02


LIFETIMES: dict[str, Any] = {
    **PLACEMENT,
    "context": {name: {**one, "start": []} for name, one in PLACEMENT["context"].items()},
    "ordinal": {"hidden": [4], "actions": 6, "ranges": [[0, 6], [3, 3]]},
    "fixed": ["weights", "bias", "body.0.weight", "body.0.bias", "body.2.weight", "body.2.bias"],
    "lifetimes": {"pages": 4096, "epochs": 20, "learning_rate": 0.01},
}


def test_evolution__that_begins_with_lifetimes__is_better_at_once(make: Any, tmp_path: Path) -> None:
    changes = {}
    for name, given in (("with", LIFETIMES), ("without", {**LIFETIMES, "lifetimes": None})):
        card = Agent.load(evolve(make(given, generations=1), tmp_path / name, progress=False)).card
        assert [stage.method for stage in card.trained_by][:1] == (["lifetimes"] if name == "with" else [])
        with (tmp_path / name / "evaluations.csv").open() as file:
            changes[name] = float(next(csv.DictReader(file))["change"])
    assert changes["with"] < changes["without"] - 0.05


def test_evolution__of_fixed_weights__searches_thresholds_alone(make: Any, tmp_path: Path) -> None:
    config = make(LIFETIMES, validation={"every": 1})
    file = evolve(config, tmp_path / "out", progress=False)
    last = Agent.load(file.with_name("agent-last.zip")).scorer.state_dict()
    members = WeightVectors(config.card(), config.inputs, config.fixed, config.seed)
    assert config.lifetimes is not None
    begin_with_lifetimes(members, config, config.lifetimes, plays_of(config))
    begin = members.network.state_dict()
    assert {name for name in begin if not np.array_equal(begin[name], last[name])} == {
        "first_threshold",
        "log_gaps",
    }


def test_lifetimes__for_victims__are_refused(make: Any, tmp_path: Path) -> None:
    with pytest.raises(
        SsdgymError, match="lifetimes are for a placement with ordinal, not for ssdgym/EraseVictim"
    ):
        evolve(make(VICTIMS, lifetimes={}), tmp_path / "out", progress=False)


def test_evolution__keeps_what_is_best_on_validation(make: Any, tmp_path: Path) -> None:
    file = evolve(make(validation={"every": 1}), tmp_path / "out", progress=False)
    with (tmp_path / "out" / "evaluations.csv").open() as table:
        rows = list(csv.DictReader(table))
    best = min(rows, key=lambda row: float(row["validation"]))
    assert Agent.load(file).card.results["generation"] == float(best["generation"])
    assert Agent.load(file.with_name("agent-last.zip")).card.results["generation"] == 3


def test_task__of_the_baseline_itself__scores_0(make: Any) -> None:
    play, _ = plays_of(make(VICTIMS))
    pair = "cost_benefit+sep_gc"
    assert Task(play, pair, pair, "write_amplification", None).score().metric == 0.0


def test_task__plays_as_a_run_of_the_suite_does(make: Any) -> None:
    from ssdgym.experiments.runs.run import run_policy
    from ssdgym.experiments.runs.spec import RunSpec

    config = make(VICTIMS)
    [play] = evolution_tasks(config, load_suite(config.suite)).validation
    task = Task(play, "greedy+sepbit", SUITE["baseline"], "write_amplification", None)
    run = RunSpec(
        "demo-placement",
        {"kind": "zipf", "theta": 0.9},
        "greedy+sepbit",
        9000,
        (("timing", "none"),),
        host_pages=8000,
        warmup=8000,
    )
    assert task.run()["write_amplification"] == run_policy(run).metric("write_amplification")


def test_task__played_again__finds_the_same__whatever_was_played_between(make: Any) -> None:
    config = make()
    members = WeightVectors(config.card(), config.inputs, (), config.seed)
    name, network = register_trainable(members.card, members.weights(members.start))
    play, _ = plays_of(config)
    policy = config.policy.replace("{agent}", name)
    task = Task(play, policy, SUITE["baseline"], "write_amplification", None)
    first = task.run()["write_amplification"]
    network.replace_weights(members.weights(members.start + 0.5))
    assert task.run()["write_amplification"] != first
    network.replace_weights(members.weights(members.start))
    assert task.run()["write_amplification"] == first


def test_fitness__counts_losses_again() -> None:
    assert mean_fitness([-0.1, 0.05], above=0.02, weight=2.0) == pytest.approx((-0.1 + 0.05 + 2 * 0.03) / 2)


def test_workload__of_another_split__is_refused(make: Any) -> None:
    config = make(tasks={"workloads": SUITE["splits"]["validation"]})
    with pytest.raises(SsdgymError, match="of the split validation of the suite"):
        evolution_tasks(config, load_suite(config.suite))


def test_metric__that_runs_do_not_have__is_named(make: Any, tmp_path: Path) -> None:
    with pytest.raises(SsdgymError, match="a run has latency = None"):
        evolve(make(cap="latency"), tmp_path / "out", progress=False)


def test_folder__that_holds_an_agent__is_kept(make: Any, tmp_path: Path) -> None:
    (tmp_path / "agent.zip").write_text("kept")
    with pytest.raises(SsdgymError, match="already holds an agent"):
        evolve(make(), tmp_path, progress=False)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"policy": "greedy"}, "has to name {agent} once"),
        ({"ordinal": None}, "give either scorer or ordinal"),
        ({"context": {"page_relocated": {"start": [1.0]}}}, "start has 1 weights for 2 heads"),
    ],
)
def test_configuration__that_is_not_whole__says_what_is_missing(make: Any, fields: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        make(**fields)

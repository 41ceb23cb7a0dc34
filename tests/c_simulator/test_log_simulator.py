"""An independent simulator in C: rules cost there what they cost in ssdgym, and so do agents."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
import torch

from ssdgym.agents.agent import Agent
from ssdgym.agents.card import AgentCard, ScorerConfig
from ssdgym.agents.networks import CandidateScorer
from ssdgym.agents.training.config import TrainConfig
from ssdgym.agents.training.train import train
from ssdgym.experiments.runs.evaluate import run_all
from ssdgym.experiments.runs.spec import RunSpec
from ssdgym.simulator import Simulator
from tests.c_simulator.building import Outcome, compile_simulator, needs_compiler, pages_written, play

pytestmark = needs_compiler

UNTIMED = {"timing": "none"}
HOST_PAGES, WARMUP = 30_000, 20_000
SEED = 7
RULES = {
    "greedy": "greedy",
    "cost_benefit": "cost_benefit",
    "cost_benefit(since_close=1)": "cost_benefit_sealed",
}
ALL_BLOCKS = {"candidates": "all", "proposers": ["greedy"]}
OF_BLOCKS = (
    "valid_fraction",
    "log_benefit",
    "log_age",
    "log_age_closed",
    "wear",
    "gc_stream",
    "moves",
    "gain",
    "log_update_rate",
    "log_neighbour_rate",
)
OF_DECISIONS = (
    "host_pages",
    "open_room",
    "pool",
    "free",
    "utilisation",
    "log_pages_per_block",
    "log_blocks",
    "log_logical_pages",
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_simulator(tmp_path_factory.mktemp("log"))


def in_c(program: Path, rule: str, workload: str, free: tuple[int, int] = (2, 2), **ftl: Any) -> Outcome:
    """What the simulator in C counts; a device of ssdgym says how large everything is."""
    device = Simulator("demo", ftl={**UNTIMED, **ftl}).device
    written = pages_written(workload, device, SEED, WARMUP + HOST_PAGES)
    return play(program, device, rule, written, WARMUP, free)


@functools.cache
def played(policy: str, workload: str, agent: Path | None = None, ftl: tuple = ()) -> dict[str, Any]:
    """The metrics of ssdgym for the same."""
    run = RunSpec(
        "demo",
        workload,
        policy,
        SEED,
        ftl=(*UNTIMED.items(), *ftl),
        host_pages=HOST_PAGES,
        warmup=WARMUP,
        preconditioning="fill",
        agent=agent,
    )
    return run_all([run], workers=1)[0].metrics


# -- heuristics


@pytest.mark.parametrize("policy", RULES)
@pytest.mark.parametrize("workload", ["zipf99", "hot90"])
def test_heuristic__the_counts_of_ssdgym(policy: str, workload: str, program: Path) -> None:
    found, expected = in_c(program, RULES[policy], workload), played(policy, workload)
    assert found.user_pages == HOST_PAGES
    assert found.relocated_pages == expected["relocated_pages"]
    assert found.cleanings == expected["erases"]
    assert found.write_amplification == pytest.approx(expected["write_amplification"], abs=1e-6)


@pytest.mark.parametrize("policy", RULES)
def test_heuristic__user_and_relocated_pages_in_one_segment__the_counts_of_ssdgym(
    policy: str, program: Path
) -> None:
    found = in_c(program, RULES[policy], "hot90", placement="single")
    expected = played(policy, "hot90", ftl=(("placement", "single"),))
    assert found.relocated_pages == expected["relocated_pages"]


@pytest.mark.parametrize(
    ("gc", "free"),
    [
        ({"free_blocks": 4, "barrier_blocks": 8}, (4, 8)),
        # ssdgym keeps a block for the host and one for relocated pages, whatever the threshold
        ({"free_blocks": 1}, (2, 2)),
    ],
    ids=["begins below 4, ends with 8", "the floor"],
)
def test_heuristic__when_cleaning_begins_and_ends__the_counts_of_ssdgym(
    gc: dict[str, int], free: tuple[int, int], program: Path
) -> None:
    found = in_c(program, "cost_benefit", "zipf99", free, gc=gc)
    options = tuple((f"gc.{name}", value) for name, value in gc.items())
    expected = played("cost_benefit", "zipf99", ftl=options)
    assert found.relocated_pages == expected["relocated_pages"]


def test_greedy__which_of_equals__decides_more_than_two_per_cent(program: Path) -> None:
    lowest = in_c(program, "greedy_lowest", "hot90").write_amplification
    assert lowest > 1.05 * in_c(program, "greedy", "hot90").write_amplification


# -- agents


def with_all_features(seed: int, spread: float) -> Agent:
    """An agent with random weights around the start at cost-benefit."""
    torch.manual_seed(seed)
    config = ScorerConfig(start="cost_benefit", hidden=(8,), pooling="none")
    scorer = CandidateScorer(OF_BLOCKS, OF_DECISIONS, config)
    with torch.no_grad():
        for weights in (scorer.score_layer.weight, scorer.linear.weights):
            weights += spread * torch.randn(weights.shape)
    card = AgentCard(
        algorithm="none",
        environment="ssdgym/EraseVictim-v0",
        decisions=0,
        candidate_features=OF_BLOCKS,
        context_features=OF_DECISIONS,
        scorer=config,
        training={"environment": {"kwargs": ALL_BLOCKS}},
    )
    return Agent(scorer, card)


@pytest.mark.parametrize("seed", [1, 2])
def test_agent__random_weights__within_two_per_cent_of_ssdgym(seed: int, tmp_path: Path) -> None:
    agent = with_all_features(seed, 0.3)
    path = agent.save(tmp_path / "agent.zip")
    found = in_c(compile_simulator(tmp_path, agent), "agent", "zipf99")
    expected = played("agent", "zipf99", path)["write_amplification"]
    assert found.write_amplification == pytest.approx(expected, rel=0.02)


def test_agent__feature_that_the_simulator_does_not_make__is_named(tmp_path: Path) -> None:
    agent = with_all_features(1, 0.0)
    card = agent.card.model_copy(update={"candidate_features": ("mystery", *OF_BLOCKS[1:])})
    program = compile_simulator(tmp_path, Agent(agent.scorer, card))
    with pytest.raises(AssertionError, match="mystery: log_simulator: this feature is not made here"):
        in_c(program, "agent", "zipf99")


def trained(folder: Path) -> Path:
    """An agent that a search of a few seconds has made out of cost-benefit."""
    features = ["log_benefit", "log_age", "log_age_closed", "gc_stream", "open_room"]
    config = TrainConfig.model_validate(
        {
            "environment": {
                "kwargs": {
                    **ALL_BLOCKS,
                    "features": features,
                    "ftl": UNTIMED,
                    "workload": "zipf99",
                }
            },
            "n_envs": 12,
            "scorer": {"hidden": [8], "pooling": "none"},
            "cross_entropy": {"generations": 5},
            # one update, which is needed, and changes nothing
            "total_decisions": 1,
            "ppo": {"rollout_steps": 2, "batch_decisions": 24, "learning_rate": 1e-9},
            "evaluation": {"episodes": 2},
        }
    )
    return train(config, folder, progress=False)


def test_trained_agent__gains_over_cost_benefit_in_c_what_it_gains_in_ssdgym(
    program: Path, tmp_path: Path
) -> None:
    path = trained(tmp_path)
    rule = f"agent:{path}"
    before = in_c(program, "cost_benefit", "zipf99").write_amplification
    after = in_c(compile_simulator(tmp_path, Agent.load(path)), "agent", "zipf99").write_amplification
    expected_before = played("cost_benefit", "zipf99")["write_amplification"]
    expected = played(rule, "zipf99")["write_amplification"]
    assert after == pytest.approx(expected, rel=0.02)
    assert after < before and expected < expected_before
    assert after / before == pytest.approx(expected / expected_before, rel=0.02)

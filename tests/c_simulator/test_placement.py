"""Placements, learned ones among them: what they cost in ssdgym they cost in the simulator in C."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from ssdgym.agents.agent import Agent
from ssdgym.agents.card import AgentCard
from ssdgym.agents.networks import network_of
from ssdgym.agents.zoo import find_agent
from ssdgym.simulator import Simulator
from tests.c_simulator.building import (
    Outcome,
    as_requests,
    compile_simulator,
    needs_compiler,
    pages_written,
    play,
    zoo_of,
)

pytestmark = needs_compiler

SEED = 7
#: How often all logical pages are written, in size, before and while it is measured.
WARMUP, MEASURED = 3, 3
Counts = tuple[Outcome, dict[str, Any]]
#: The simulator in C calls it `cost_benefit_sealed`.
VICTIMS = "cost_benefit(since_close=1)"
OF_PAGES = (
    "page_relocated",
    "page_age",
    "page_new",
    "page_interval",
    "page_interval_before",
    "page_expected_interval",
    "page_expected_before",
    "page_updates",
    "page_slow_updates",
    "page_net_updates",
    "page_group_updates",
    "page_group_age",
    "page_moves",
    "page_block_age",
    "page_stream",
    "intervals_mean",
    "intervals_differ",
    "log_spare",
    "log_pages_per_block",
    "pool",
    "open_room",
)


def in_both(
    placement: str,
    workload: str,
    program: Path,
    name_in_c: str,
    victims: tuple[str, str] = (VICTIMS, "cost_benefit_sealed"),
) -> Counts:
    """What the simulator in C counts, and the metrics of ssdgym.

    Args:
        placement: in ssdgym.
        workload: that both play.
        program: the simulator.
        name_in_c: of the placement there.
        victims: the victim rule, as both call it.
    """
    simulator = Simulator("demo-placement", ftl={"timing": "none"}, policy=f"{victims[0]}+{placement}")
    device = simulator.device
    pages = device.logical_pages
    written = pages_written(workload, device, SEED, (WARMUP + MEASURED) * pages)
    metrics = simulator.run(
        iter([as_requests(written, pages)]), host_pages=MEASURED * pages, warmup=(1 + WARMUP) * pages
    )
    free = max(device.ftl.gc.free_blocks, 2 if device.ftl.relocation_streams == 1 else 3)
    return play(program, device, victims[1], written, WARMUP * pages, (free, free), name_in_c), metrics


def random_placement(seed: int, hidden: tuple[int, ...]) -> Agent:
    """An agent with random weights, of all features that the simulator in C makes."""
    card = AgentCard.model_validate(
        {
            "algorithm": "none",
            "decisions": 0,
            "environment": "ssdgym/Placement-v0",
            "candidate_features": ["stream_number"],
            "context_features": OF_PAGES,
            "ordinal": {"hidden": hidden, "actions": 6, "ranges": [[0, 6], [3, 3]]},
        }
    )
    torch.manual_seed(seed)
    network = network_of(card)
    for parameter in network.parameters():
        parameter.data += 0.4 * torch.randn_like(parameter)
    return Agent(network, card)


@pytest.mark.parametrize(("seed", "hidden"), [(1, ()), (2, (8,))])
def test_agent__random_weights__within_two_per_cent_of_ssdgym(
    seed: int, hidden: tuple[int, ...], tmp_path: Path
) -> None:
    agent = random_placement(seed, hidden)
    path = agent.save(tmp_path / "agent.zip")
    program = compile_simulator(tmp_path, placing=agent)
    for workload in ("zipf99", "hot90"):
        found, expected = in_both(f"agent:{path}", workload, program, "agent")
        assert found.write_amplification == pytest.approx(expected["write_amplification"], rel=0.02)


def random_victims(seed: int) -> Agent:
    """An agent that looks at streams, with random weights around the start at cost-benefit."""
    features = ("log_benefit", "log_age", "log_age_closed", "block_stream")
    card = AgentCard.model_validate(
        {
            "algorithm": "none",
            "decisions": 0,
            "environment": "ssdgym/EraseVictim-v0",
            "candidate_features": features,
            "context_features": ("log_spare", "log_pages_per_block"),
            "scorer": {"hidden": (6,), "pooling": "none"},
        }
    )
    torch.manual_seed(seed)
    network = network_of(card)
    for name, parameter in network.named_parameters():
        if name.startswith(("linear.weights", "score_layer")):
            parameter.data += 0.2 * torch.randn_like(parameter)
    return Agent(network, card)


@pytest.mark.parametrize("workload", ["zipf99", "hot90"])
def test_sepbit__the_counts_of_ssdgym(workload: str, tmp_path: Path) -> None:
    found, expected = in_both("sepbit", workload, compile_simulator(tmp_path), "sepbit")
    assert found.relocated_pages == expected["relocated_pages"]
    assert found.cleanings == expected["erases"]


@pytest.mark.parametrize("workload", ["zipf99", "hot90"])
def test_td_lifetime__the_counts_of_ssdgym(workload: str, tmp_path: Path) -> None:
    program = compile_simulator(tmp_path, learning=True)
    found, expected = in_both("td_lifetime", workload, program, "td_lifetime")
    assert found.relocated_pages == expected["relocated_pages"]
    assert found.cleanings == expected["erases"]


@pytest.mark.parametrize("workload", ["zipf99", "hot90"])
def test_agent_that_chooses_victims__with_sepbit__within_two_per_cent_of_ssdgym(
    workload: str, tmp_path: Path
) -> None:
    agent = random_victims(1)
    path = agent.save(tmp_path / "agent.zip")
    program = compile_simulator(tmp_path, victims=agent)
    found, expected = in_both("sepbit", workload, program, "sepbit", (f"agent:{path}", "agent"))
    assert found.write_amplification == pytest.approx(expected["write_amplification"], rel=0.02)


@pytest.fixture(scope="module")
def without_agent(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Counts]:
    """Return what a placement with cost-benefit costs in both, played once."""
    program = compile_simulator(tmp_path_factory.mktemp("rules"))
    return cache(lambda placement: in_both(placement, "zipf99", program, placement))


@pytest.mark.parametrize("name", zoo_of("ssdgym/Placement"))
def test_placement_of_the_zoo__gains_in_c_what_it_gains_in_ssdgym(
    name: str, tmp_path: Path, without_agent: Callable[[str], Counts]
) -> None:
    program = compile_simulator(tmp_path, placing=Agent.load(find_agent(name)))
    after = in_both(f"agent:{name}", "zipf99", program, "agent")
    for other in ("sep_gc", "sepbit"):
        _same_gain(without_agent(other), after)


@pytest.mark.parametrize("name", zoo_of("ssdgym/EraseVictim"))
def test_victims_of_the_zoo__gain_in_c_what_they_gain_in_ssdgym(
    name: str, tmp_path: Path, without_agent: Callable[[str], Counts]
) -> None:
    program = compile_simulator(tmp_path, victims=Agent.load(find_agent(name)))
    for placement in ("sep_gc", "sepbit"):
        after = in_both(placement, "zipf99", program, placement, (f"agent:{name}", "agent"))
        _same_gain(without_agent(placement), after)


def _same_gain(counted_before: Counts, counted_after: Counts) -> None:
    (before, expected_before), (after, expected) = counted_before, counted_after
    gain = after.write_amplification / before.write_amplification
    expected_gain = expected["write_amplification"] / expected_before["write_amplification"]
    assert after.write_amplification == pytest.approx(expected["write_amplification"], rel=0.02)
    assert gain == pytest.approx(expected_gain, rel=0.02)
    # The sign of a smaller one could turn by rounding.
    if abs(expected_gain - 1) > 0.005:
        assert (gain < 1) == (expected_gain < 1)

"""DQN with credit for subFTL's region of small writes; the learner is that of `credit_per_page.py`.

`python credit_region.py --seed 1` writes an agent, and prints a line for each validation workload of suite
`subftl`: the time that devices need with the agent, relative to the paper's rule. `ssdgym leaderboard subftl
--agent agent.zip` compares it on the test split. Comments that begin with "Here" name what learning in this
environment needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import gymnasium as gym
import numpy as np
import torch
from credit_per_page import QNetwork, arguments, learn
from torch import Tensor, nn

from ssdgym.agents.agent import Agent
from ssdgym.agents.card import AgentCard, ScorerConfig
from ssdgym.agents.networks import CandidateScorer
from ssdgym.experiments.leaderboard.suites import load_suite

ENVIRONMENT = "ssdgym/SubFTL-v0"
AREAS = ("way_number", "way_time", "way_room", "way_in_the_way", "way_valid")
CONTEXT = (
    *("asks_collected", "sector_leaving", "sector_in_region", "sector_updated", "sector_writes"),
    "region_passes",
)


@dataclass
class Args:
    """The settings of a run; each is an option of the command line."""

    seed: int = 1
    price: float = 1.5  # of a write to the main area, beside its own time, in page programs
    total_steps: int = 40_000  # steps; each has a decision in every environment
    num_envs: int = 16
    buffer_size: int = 200_000  # transitions
    learning_starts: int = 5_000  # transitions
    train_every: int = 4  # steps
    target_every: int = 500  # updates
    batch_size: int = 256
    learning_rate: float = 1e-3  # at the start; it falls to zero
    gamma: float = 0.98  # Here: discount per decision about the same sectors
    epsilon: float = 0.05  # share of random decisions after its decay
    decay: float = 0.1  # share of the steps in which epsilon decays
    hidden: int = 64  # units of each of two layers
    out: str = "agent.zip"
    test_pages: int = 8192  # host pages; the warm-up has as many


def flat(observation: dict[str, np.ndarray]) -> np.ndarray:
    """Return an observation as one row for each environment: the context, then both areas."""
    areas = observation["candidates"].reshape(-1, 2 * len(AREAS))
    return np.concatenate([observation["context"], areas], axis=1)


class CostNetwork(nn.Module):
    """Expected cost of both actions. Here: the scores of an agent are costs with the opposite sign."""

    cheapest = QNetwork.cheapest

    def __init__(self, shape: ScorerConfig) -> None:
        super().__init__()
        self.scorer = CandidateScorer(AREAS, CONTEXT, shape)

    def forward(self, rows: Tensor) -> Tensor:
        """Return costs (n, 2) of rows as `flat` makes them."""
        context, areas = rows.split([len(CONTEXT), 2 * len(AREAS)], dim=1)
        return -self.scorer(areas.unflatten(1, (2, len(AREAS))), context, None)


def train(args: Args) -> Agent:
    """Train, and return the agent."""
    torch.manual_seed(args.seed)
    # Here: a single endless episode, in the states that the network itself causes.
    options = {"horizon": 1 << 24, "warmup": 4096, "credit": args.price}
    envs = gym.make_vec(ENVIRONMENT, args.num_envs, features=AREAS + CONTEXT, **options)
    shape = ScorerConfig(hidden=(args.hidden, args.hidden), pooling="none", start="none", sharpness=1.0)
    network, target = CostNetwork(shape), CostNetwork(shape)
    learn(args, envs, network, target, flat, lambda step, infos: None)
    envs.close()
    card = AgentCard(
        environment=ENVIRONMENT, candidate_features=AREAS, context_features=CONTEXT, scorer=shape
    )
    return Agent(network.scorer, card)


def test(args: Args, agent: Agent | None, workload: object) -> np.ndarray:
    """Return the time that devices need, ns, on four seeds; without an agent, the paper's rule decides."""
    options = {"horizon": args.test_pages, "warmup": args.test_pages, "workload": workload}
    envs = gym.make_vec(ENVIRONMENT, 4, features=AREAS + CONTEXT, **options)
    observation, infos = envs.reset(seed=[*range(500, 504)])
    times = np.zeros(4)
    while not times.all():
        actions = infos["proposed"][:, 0] if agent is None else agent.act(observation)
        observation, _, _, over, infos = envs.step(actions)
        for i in np.flatnonzero(over & (times == 0)):
            times[i] = infos["metrics"]["duration_ns"][i]
    envs.close()
    return times


def main() -> None:
    """Train, save and compare."""
    args = arguments(Args, __doc__)
    agent = train(args)
    print(agent.save(Path(args.out)))
    for workload in load_suite("subftl").splits["validation"]:
        ratio = test(args, agent, workload) / test(args, None, workload)
        print(f"{ratio.mean():.3f}  {np.round(ratio, 3)}")


if __name__ == "__main__":
    main()

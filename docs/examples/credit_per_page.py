"""DQN with credit for each page, in one file, in the style of CleanRL: learn where to write, from scratch.

`python credit_per_page.py --workload zipf80 --price 15` ends with a table of the network and of placements on
the same device and seeds. Comments that begin with "Here" name what learning in this environment needs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from torch import Tensor, nn

from ssdgym.envs.rewards.credit import CreditBuffer, Transitions
from ssdgym.simulator import Simulator

#: Observed features of the page and of each stream. Here: the choices of placements are not observed.
FEATURES = (
    *("page_relocated", "page_age", "page_interval", "page_interval_before", "page_updates"),
    *("page_group_updates", "page_moves", "page_block_age", "page_stream"),
    *("stream_number", "stream_fill", "stream_valid", "stream_blocks", "stream_age", "stream_intake"),
    *("stream_relocated", "stream_gap", "stream_holds_page"),
)
PLACEMENTS = ("sep_gc", "sepbit", "dac", "fadac(inclusive=1)", "td_lifetime")


@dataclass
class Args:
    """The settings of a run; each is an option of the command line."""

    workload: str = "zipf80"
    price: float = 15.0  # price of spare space: see `ssdgym.envs.PlacementEnv`
    streams: int = 6
    seed: int = 1
    total_steps: int = 60_000  # steps; each has a decision in every environment
    num_envs: int = 16
    buffer_size: int = 200_000  # transitions
    learning_starts: int = 5_000  # transitions
    train_every: int = 4  # steps
    target_every: int = 500  # updates
    batch_size: int = 256
    learning_rate: float = 1e-3  # at the start; it falls to zero
    gamma: float = 0.95  # Here: discount per relocation of a page, not per decision
    epsilon: float = 0.05  # share of random decisions after its decay
    decay: float = 0.1  # share of the steps in which epsilon decays
    hidden: int = 64
    test_seeds: int = 4
    test_pages: int = 20_000  # host pages; the warm-up has as many


def make(args: Args, num_envs: int, **options: Any) -> gym.vector.VectorEnv:
    """Make an environment on the small device without time."""
    return gym.make_vec(
        "ssdgym/Placement-v0",
        num_envs=num_envs,
        ftl={"timing": "none"},
        workload=args.workload,
        streams=args.streams,
        features=FEATURES,
        reward="plain",
        **{"autoreset_mode": "SameStep", **options},
    )


def seen(observation: dict[str, np.ndarray]) -> np.ndarray:
    """Return an observation as one scaled row for each environment, page first, then stream by stream."""
    streams = observation["candidates"].reshape(len(observation["context"]), -1)
    return np.clip(np.concatenate([observation["context"], streams], axis=1) / 4, -4, 4)


class Curve(list[tuple[int, float]]):
    """Learning curve: write amplification in each twentieth of a training, under exploration."""

    def __init__(self, args: Args) -> None:
        super().__init__()
        self.every, self.envs = max(args.total_steps // 20, 1), args.num_envs
        self.before, self.begun = np.zeros(2), time.process_time()

    def note(self, step: int, infos: dict[str, Any]) -> None:
        """Add a point where a twentieth ends, and print it."""
        if step % self.every:
            return
        now = np.array([infos["host_pages_written"].sum(), infos["relocated_pages"].sum()])
        (host, relocated), self.before = now - self.before, now
        self.append((step * self.envs, 1 + relocated / max(host, 1)))
        seconds = time.process_time() - self.begun
        print(f"{step} steps, {seconds:.0f} s, WA {self[-1][1]:.3f}", flush=True)


class QNetwork(nn.Module):
    """Expected cost of a page in each stream. Here: the same weights score every stream, plus its number."""

    def __init__(self, page: int, stream: int, streams: int, hidden: int) -> None:
        super().__init__()
        self.page, self.streams = page, streams
        self.register_buffer("numbers", torch.eye(streams))
        self.layers = nn.Sequential(
            nn.Linear(page + stream + streams, hidden),
            *(nn.ReLU(), nn.Linear(hidden, hidden)),
            *(nn.ReLU(), nn.Linear(hidden, 1)),
        )

    def forward(self, rows: Tensor) -> Tensor:
        """Return costs (n, streams) of rows (n, page + streams * stream)."""
        of_page = rows[:, None, : self.page].expand(-1, self.streams, -1)
        of_streams = rows[:, self.page :].view(len(rows), self.streams, -1)
        numbers = self.numbers.expand(len(rows), -1, -1)
        return self.layers(torch.cat([of_page, of_streams, numbers], dim=2)).squeeze(2)

    @torch.no_grad()
    def cheapest(self, rows: np.ndarray) -> np.ndarray:
        """Return the streams (n,) with the least cost."""
        return self(torch.as_tensor(rows, dtype=torch.float32)).argmin(dim=1).numpy()


def train(args: Args) -> tuple[QNetwork, Curve]:
    """Train; return the network and the learning curve."""
    torch.manual_seed(args.seed)
    # Here: a single endless episode, in the states that the network itself causes.
    envs = make(args, args.num_envs, horizon=1 << 24, credit=args.price)
    space = envs.single_observation_space
    widths = space["context"].shape[0], space["candidates"].shape[1]
    network, target = (QNetwork(*widths, args.streams, args.hidden) for _ in range(2))
    curve = Curve(args)
    learn(args, envs, network, target, seen, curve.note)
    return network, curve


def learn(
    args: Any,
    envs: gym.vector.VectorEnv,
    network: Any,
    target: nn.Module,
    seen: Callable[[dict[str, np.ndarray]], np.ndarray],
    note: Callable[[int, dict[str, Any]], None],
) -> None:
    """Train `network`, whose copy is `target`, on what `seen` makes of observations; `note` every step."""
    rng = np.random.default_rng(args.seed)
    target.load_state_dict(network.state_dict())
    optimizer = torch.optim.Adam(network.parameters(), lr=args.learning_rate)
    observation, infos = envs.reset(seed=1000 * args.seed)
    rows = seen(observation)
    buffer, updates = CreditBuffer(args.buffer_size, rows.shape[1:]), 0
    for step in range(1, args.total_steps + 1):
        # 1. Take a decision in every environment; the share of random decisions falls to `epsilon`.
        share = max(args.epsilon, 1 - step / (args.decay * args.total_steps))
        actions = network.cheapest(rows)
        drawn = rng.random(args.num_envs) < share
        actions[drawn] = rng.integers(envs.single_action_space.n, size=drawn.sum())
        buffer.note(infos, rows, actions)
        observation, _, _, _, infos = envs.step(actions)
        # 2. Here: join known costs of earlier decisions, and the next decisions on their pages.
        buffer.join(infos)
        rows = seen(observation)
        # 3. Learn from decisions whose cost is known.
        if len(buffer) >= args.learning_starts and step % args.train_every == 0:
            updates += 1
            optimizer.param_groups[0]["lr"] = args.learning_rate * (1 - step / args.total_steps)
            update(network, target, optimizer, buffer.sample(args.batch_size, rng), args.gamma)
            if updates % args.target_every == 0:
                target.load_state_dict(network.state_dict())
        note(step, infos)


def update(network: nn.Module, target: nn.Module, optimizer: Any, batch: Transitions, gamma: float) -> None:
    """Move estimated costs of decisions to their own cost plus the estimate for the page's next decision."""
    with torch.no_grad():
        following = target(torch.as_tensor(batch.following)).min(dim=1).values.clamp(min=0)
        # Here: an invalid page among long-lived pages may wait very long for its erase; clip such outliers.
        costs = torch.as_tensor(batch.costs).clamp(max=5)
        wanted = costs + gamma * following * torch.as_tensor(~batch.done)
    taken = torch.as_tensor(batch.actions)[:, None]
    expected = network(torch.as_tensor(batch.seen)).gather(1, taken).squeeze(1)
    loss = nn.functional.mse_loss(expected, wanted)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def test(args: Args, networks: Sequence[QNetwork | None]) -> np.ndarray:
    """Return the write amplification of each network on each test seed; `None` means random streams."""
    options = {"horizon": args.test_pages, "warmup": args.test_pages, "autoreset_mode": "NextStep"}
    count = len(networks) * args.test_seeds
    envs = make(args, count, **options)
    rng = np.random.default_rng(0)
    seeds = range(101, 101 + args.test_seeds)
    observation, infos = envs.reset(seed=[*seeds] * len(networks))
    found = np.zeros(count)
    while not found.all():
        rows = np.split(seen(observation), len(networks))
        random = rng.integers(args.streams, size=(len(networks), args.test_seeds))
        own = zip(networks, rows, random, strict=True)
        actions = [drawn if network is None else network.cheapest(some) for network, some, drawn in own]
        observation, _, _, over, infos = envs.step(np.concatenate(actions))
        for i in np.flatnonzero(over & (found == 0)):
            found[i] = infos["metrics"]["write_amplification"][i]
    return found.reshape(len(networks), -1)


def test_placement(args: Args, placement: str) -> np.ndarray:
    """Return the write amplification of a placement, with its own number of streams, in the same episodes."""
    policy, found = f"cost_benefit(since_close=1)+{placement}", np.zeros(args.test_seeds)
    for i, seed in enumerate(range(101, 101 + args.test_seeds)):
        simulator = Simulator("demo-placement", ftl={"timing": "none"}, policy=policy, seed=seed)
        simulator.precondition(args.workload)
        lengths = {"host_pages": args.test_pages, "warmup": args.test_pages}
        found[i] = simulator.run(args.workload, seed=seed, **lengths)["write_amplification"]
    return found


def arguments(kind: type[Args], about: str | None) -> Any:
    """Read settings from the command line."""
    parser = argparse.ArgumentParser(description=about)
    for field in fields(kind):
        option = "--" + field.name.replace("_", "-")
        parser.add_argument(option, type=type(field.default), default=field.default)
    torch.set_num_threads(1)
    return kind(**vars(parser.parse_args()))


def compare(args: Args, name: str, network: QNetwork) -> None:
    """Print a table of a network, streams at random, and placements."""
    table = dict(zip((name, "random"), test(args, [network, None]), strict=True))
    table |= {placement: test_placement(args, placement) for placement in PLACEMENTS}
    for label, found in table.items():
        print(f"{label:20} {found.mean():.3f}  {np.round(found, 3)}")


def main() -> None:
    """Train and compare."""
    args = arguments(Args, __doc__)
    compare(args, "DQN", train(args)[0])


if __name__ == "__main__":
    main()

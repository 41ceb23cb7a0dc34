"""Learn from a Minari data set alone: behaviour cloning, and implicit Q-learning (Kostrikov et al., 2022).

Make a data set and train on it:

    ssdgym zoo dataset erase-victim/mixed-v0 -p cost_benefit -p greedy -a random_action
    python offline.py --dataset erase-victim/mixed-v0 --algorithm iql

Both algorithms apply the same weights to every candidate and exclude invalid candidates. The script prints
the returns of new episodes as Minari normalises them: 0 for random actions, 1 for the best heuristic.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import minari
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

import ssdgym  # noqa: F401  registers the environments

EXPECTILE, BETA = 0.8, 3.0  # expectile of Q values, and inverse temperature of the advantage weights
State = tuple[Tensor, Tensor, Tensor]  # candidates (n, K, F), context (n, G), mask (n, K)


def state_of(observations: dict[str, np.ndarray], rows: slice | None) -> State:
    """Return rows of observations as tensors."""
    candidates, context, mask = (
        torch.as_tensor(np.asarray(observations[key])[rows])
        for key in ("candidates", "context", "action_mask")
    )
    return candidates.float(), context.float(), mask.bool()


class Net(nn.Module):
    """A network that scores candidates, (n, K), by their features, the context and the candidates' mean."""

    def __init__(self, state: State, hidden: int = 64) -> None:
        super().__init__()
        rows = self._rows(state)[state[2]]
        self.register_buffer("mean", rows.mean(0))
        self.register_buffer("deviation", rows.std(0).clamp(min=1e-3))
        self.layers = nn.Sequential(
            nn.Linear(rows.shape[1], hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, 1),
        )

    @staticmethod
    def _rows(state: State) -> Tensor:
        candidates, context, mask = state
        around = (candidates * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        around = torch.cat([context, around], 1)[:, None].expand(-1, candidates.shape[1], -1)
        return torch.cat([candidates, around], 2)

    def forward(self, state: State) -> Tensor:
        """Return the scores."""
        rows = (self._rows(state) - self.mean) / self.deviation
        return self.layers(rows.clamp(-5, 5)).squeeze(2)

    def of_all(self, state: State) -> Tensor:
        """Return the mean score of the valid candidates (n,), a value of the state."""
        return (self(state) * state[2]).sum(1) / state[2].sum(1)

    def log_policy(self, state: State) -> Tensor:
        """Return the logarithms of the probabilities of candidates (n, K), about -1e9 if they are invalid."""
        return self(state).masked_fill(~state[2], -1e9).log_softmax(1)


def batches(dataset: minari.MinariDataset, best: float, steps: int, size: int) -> Iterator[tuple]:
    """Yield batches (states, next states, actions, standardised rewards) of the best episodes."""
    episodes = sorted(dataset.iterate_episodes(), key=lambda episode: -episode.rewards.sum())
    episodes = episodes[: max(round(best * len(episodes)), 1)]
    parts = [
        [torch.cat(part) for part in zip(*(state_of(e.observations, rows) for e in episodes), strict=True)]
        for rows in (slice(0, -1), slice(1, None))
    ]
    actions = torch.as_tensor(np.concatenate([e.actions for e in episodes])).long()
    rewards = torch.as_tensor(np.concatenate([e.rewards for e in episodes])).float()
    rewards = (rewards - rewards.mean()) / rewards.std()
    for _ in range(steps):
        chosen = torch.randint(len(actions), (size,))
        now, after = (tuple(part[chosen] for part in state) for state in parts)
        yield now, after, actions[chosen, None], rewards[chosen]


def train(dataset: minari.MinariDataset, args: argparse.Namespace) -> Net:
    """Return the trained policy."""
    torch.manual_seed(args.seed)
    draws = batches(dataset, args.best, args.steps, 256)
    first = next(draws)[0]
    policy, q, target, value = (Net(first) for _ in range(4))
    target.load_state_dict(q.state_dict())
    optimizer = torch.optim.Adam([*policy.parameters(), *q.parameters(), *value.parameters()], 1e-3)
    for now, after, action, reward in draws:
        loss, weight = torch.zeros(()), torch.ones(len(action))
        if args.algorithm == "iql":
            with torch.no_grad():
                held = target(now).gather(1, action).squeeze(1)
                goal = reward + args.gamma * value.of_all(
                    after
                )  # all episodes are truncated, none is terminated
            ahead = held - value.of_all(now)
            weight = (BETA * ahead.detach()).exp().clamp(max=100)
            expectile = torch.where(ahead > 0, EXPECTILE, 1 - EXPECTILE)
            loss = (expectile * ahead.square()).mean()
            loss += functional.smooth_l1_loss(q(now).gather(1, action).squeeze(1), goal)
        chosen = policy.log_policy(now).gather(1, action).squeeze(1)
        loss = loss - (weight * chosen).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(target.parameters(), q.parameters(), strict=True):
                slow.lerp_(fast, 0.005)
    return policy


def play(dataset: minari.MinariDataset, policy: Net, episodes: int, seed: int) -> np.ndarray:
    """Return the normalised scores of new episodes of the data set's environment."""
    env = dataset.recover_environment()
    returns = np.zeros(episodes)
    for k in range(episodes):
        observation, _ = env.reset(seed=seed + k)
        over = False
        while not over:
            with torch.inference_mode():
                action = policy.log_policy(state_of(observation, None)).argmax()
            observation, reward, _, over, _ = env.step(int(action))
            returns[k] += reward
    return minari.get_normalized_score(dataset, returns)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--dataset", required=True, help="id of a data set that ssdgym zoo dataset wrote")
    parser.add_argument("--algorithm", choices=("bc", "iql"), default="iql")
    parser.add_argument("--steps", type=int, default=4000, help="gradient steps")
    parser.add_argument("--best", type=float, default=1.0, help="share of the episodes, by return")
    parser.add_argument("--gamma", type=float, default=0.99)
    parser.add_argument("--episodes", type=int, default=8, help="played at the end")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.set_num_threads(1)
    dataset = minari.load_dataset(args.dataset)
    scores = play(dataset, train(dataset, args), args.episodes, 70_000)
    print(f"{args.algorithm}: normalised score {scores.mean():.3f} +- {scores.std():.3f}")

"""Masked PPO in one file, in the style of CleanRL: learn what to erase, from scratch.

Train with `python ppo_cleanrl.py --workload zipf99 --out agent.safetensors`; in the same folder,
`ssdgym evaluate --agent "ppo_cleanrl:load(path=agent.safetensors)" --agent random_action
--env-arg "features=[default, log_update_rate, log_neighbour_rate]"` measures the agent.

Comments that begin with "Here" name what learning in this environment needs. The page "Learning with ssdgym"
has the reasons and the results.
"""

from __future__ import annotations

import argparse
import csv
import time
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.distributions import Categorical

import ssdgym  # noqa: F401  registers the environments

#: Observed features. Here: the update rate of a candidate's pages says whether waiting reclaims more pages.
FEATURES = ("default", "log_update_rate", "log_neighbour_rate")


@dataclass
class Args:
    """The settings of a run; each is an option of the command line."""

    env_id: str = "ssdgym/EraseVictim-v0"
    workload: str = ""  # empty: the environment's default, zipf99 for EraseVictim-v0
    timing: str = ""  # empty: the device's default; "none" simulates no time and suffices for EraseVictim-v0
    horizon: int = 65_536  # host pages of an episode; long, so that the agent sees the states it causes
    seed: int = 1
    cpu_seconds: float = 100.0  # CPU time of the process after which training ends
    total_timesteps: int = 0  # above 0: training ends after so many decisions, and repeats exactly
    num_envs: int = 64
    num_steps: int = 256  # decisions per environment between updates
    update_epochs: int = 2
    minibatch_size: int = 1024
    learning_rate: float = 3e-3  # at the start; it falls to zero
    gamma: float = 0.998  # Here: the cost of a choice appears hundreds of decisions later
    gae_lambda: float = 0.98
    clip_coef: float = 0.2
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5
    hidden: int = 32
    out: str = "agent.safetensors"


_TYPES = (torch.float32, torch.float32, torch.bool)  # dtypes of candidates, context and mask


class Scale(nn.Module):
    """Standardise features by the mean and deviation observed before learning began.

    Here: features of candidates differ little in absolute numbers, so unscaled features slow learning down.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("deviation", torch.ones(width))

    def fit(self, rows: Tensor) -> None:
        """Take mean and deviation of rows (n, width)."""
        self.mean.copy_(rows.mean(0))
        self.deviation.copy_(rows.std(0).clamp(min=1e-3))

    def forward(self, values: Tensor) -> Tensor:
        """Return values (..., width), scaled."""
        return ((values - self.mean) / self.deviation).clamp(-5, 5)


class SetNetwork(nn.Module):
    """A network that scores any number of candidates, and estimates the value of the state.

    Here: the same weights score every candidate, so the network learns which features a good candidate has.
    A flat network would learn the positions at which good candidates often are.
    """

    def __init__(self, features: int, context: int, hidden: int) -> None:
        super().__init__()
        self.scale_candidates, self.scale_context = Scale(features), Scale(context)
        self.candidate = _layer(features, hidden)
        self.shared = _layer(context + 2 * features, hidden)
        self.score = nn.Sequential(nn.Tanh(), _layer(hidden, hidden), nn.Tanh(), _layer(hidden, 1, 0.01))
        self.embed = _layer(features, hidden)
        self.critic = nn.Sequential(_layer(context + 2 * hidden, hidden), nn.Tanh(), _layer(hidden, 1, 1.0))

    def forward(self, candidates: Tensor, context: Tensor, mask: Tensor) -> tuple[Categorical, Tensor]:
        """Return the distribution over the candidates of n decisions, and their values (n,)."""
        candidates, context = self.scale_candidates(candidates), self.scale_context(context)
        around = torch.cat([context, _pool(candidates, mask)], dim=-1)
        hidden = self.candidate(candidates) + self.shared(around).unsqueeze(-2)
        scores = self.score(hidden).squeeze(-1).masked_fill(~mask, -1e9)  # invalid candidates are never drawn
        embedded = torch.tanh(self.embed(candidates))
        value = self.critic(torch.cat([context, _pool(embedded, mask)], dim=-1)).squeeze(-1)
        return Categorical(logits=scores), value


def _layer(inputs: int, outputs: int, gain: float = 2**0.5) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer


def _pool(values: Tensor, mask: Tensor) -> Tensor:
    """Return mean and maximum over the valid candidates, which do not depend on their order."""
    valid = mask.unsqueeze(-1)
    mean = (values * valid).sum(-2) / valid.sum(-2)
    return torch.cat([mean, values.masked_fill(~valid, -10.0).amax(-2)], dim=-1)


def tensors(observation: dict[str, np.ndarray]) -> tuple[Tensor, Tensor, Tensor]:
    """Return an observation as tensors: candidates, context and mask."""
    return (
        torch.tensor(observation["candidates"]),
        torch.tensor(observation["context"]),
        torch.tensor(observation["action_mask"]).bool(),
    )


class LearnedAgent:
    """The agent that `ssdgym evaluate --agent` runs: it takes the candidate with the highest score."""

    def __init__(self, network: SetNetwork) -> None:
        self.network = network.eval()

    def act(self, observation: dict[str, np.ndarray], mask: np.ndarray, rng: object) -> np.ndarray:
        """Return the actions int64 (n,)."""
        with torch.inference_mode():
            distribution, _ = self.network(*tensors(observation))
        return distribution.logits.argmax(-1).numpy()


def load(path: str) -> LearnedAgent:
    """Load the agent that `train` saved."""
    weights = load_file(path)
    hidden, features = weights["candidate.weight"].shape
    network = SetNetwork(features, len(weights["scale_context.mean"]), hidden)
    network.load_state_dict(weights)
    return LearnedAgent(network)


def arguments(args: Args) -> dict[str, Any]:
    """Return the arguments of the environment; empty settings keep its defaults."""
    timing = args.timing or ("none" if args.env_id == Args.env_id else "")
    given = {"workload": args.workload, "ftl": timing and {"timing": timing}, "horizon": args.horizon}
    return {name: value for name, value in given.items() if value}


def train(args: Args) -> Path:
    """Train, write the weights and a table of the updates; return the file of the weights."""
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)  # the network is small: more threads would only wait for each other
    envs = gym.make_vec(
        args.env_id,
        num_envs=args.num_envs,
        vectorization_mode="vector_entry_point",
        autoreset_mode="SameStep",
        features=FEATURES if args.env_id == Args.env_id else "default",
        **arguments(args),
    )
    observation, info = envs.reset(seed=1000 * args.seed)
    candidates = envs.single_observation_space["candidates"].shape
    context = envs.single_observation_space["context"].shape
    network = SetNetwork(candidates[1], context[0], args.hidden)
    optimizer = torch.optim.Adam(network.parameters(), lr=args.learning_rate, eps=1e-5)

    T, N = args.num_steps, args.num_envs
    shapes = (candidates, context, candidates[:1])
    seen = tuple(torch.zeros(T, N, *s, dtype=d) for s, d in zip(shapes, _TYPES, strict=True))
    actions, logprobs, values = torch.zeros(T, N, dtype=torch.int64), torch.zeros(T, N), torch.zeros(T, N)
    rewards, overs, ended_values = torch.zeros(T, N), torch.zeros(T, N), torch.zeros(T, N)
    mean_reward = deviation = 0.0
    rows: list[dict[str, float]] = []
    began, steps = time.process_time(), 0

    def done() -> float:
        """Return the share of the budget that is used, from 0 to 1."""
        if args.total_timesteps:
            return steps / args.total_timesteps
        return (time.process_time() - began) / args.cpu_seconds

    while done() < 1:
        optimizer.param_groups[0]["lr"] = args.learning_rate * (1 - done())
        if not steps:
            network.scale_candidates.fit(tensors(observation)[0][tensors(observation)[2]])
            network.scale_context.fit(tensors(observation)[1])
        before = info
        for t in range(T):
            now = tensors(observation)
            for kept, part in zip(seen, now, strict=True):
                kept[t] = part
            with torch.no_grad():
                distribution, values[t] = network(*now)
                actions[t] = distribution.sample()
                logprobs[t] = distribution.log_prob(actions[t])
            observation, reward, terminated, truncated, info = envs.step(actions[t].numpy())
            rewards[t], overs[t] = torch.tensor(reward), torch.tensor(terminated | truncated)
            if truncated.any():  # bootstrap: a truncated episode continues in the critic's estimate
                ended = np.flatnonzero(truncated)
                last = {key: np.stack([info["final_obs"][i][key] for i in ended]) for key in observation}
                with torch.no_grad():
                    ended_values[t, ended] = network(*tensors(last))[1]
        steps += T * N

        # Here: rewards are about 0 for an agent as good as greedy. A better agent raises all rewards, and
        # over a thousand decisions this rise hides the effect of single choices. So subtract their running
        # mean (average-reward learning), which also makes plain rewards learnable.
        if not deviation:
            mean_reward, deviation = rewards.mean().item(), rewards.std().item() + 1e-8
        mean_reward += 0.1 * (rewards.mean().item() - mean_reward)
        centred = (rewards - mean_reward) / deviation + args.gamma * ended_values * overs
        with torch.no_grad():
            _, next_value = network(*tensors(observation))
        advantages, last = torch.zeros(T, N), torch.zeros(N)
        for t in reversed(range(T)):
            delta = centred[t] + args.gamma * next_value * (1 - overs[t]) - values[t]
            last = delta + args.gamma * args.gae_lambda * (1 - overs[t]) * last
            advantages[t], next_value = last, values[t]

        batch = [part.flatten(0, 1) for part in (*seen, actions, logprobs, advantages, advantages + values)]
        for _ in range(args.update_epochs):
            for chosen in torch.randperm(T * N).split(args.minibatch_size):
                *inputs, action, old_logprob, advantage, target = (part[chosen] for part in batch)
                distribution, value = network(*inputs)
                ratio = (distribution.log_prob(action) - old_logprob).exp()
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                clipped = ratio.clamp(1 - args.clip_coef, 1 + args.clip_coef)
                loss = -torch.min(ratio * advantage, clipped * advantage).mean()
                loss += args.vf_coef * 0.5 * (value - target).square().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(network.parameters(), args.max_grad_norm)
                optimizer.step()

        rows.append(_row(time.process_time() - began, steps, rewards, info, before, distribution))
        print(" ".join(f"{name} {value:.6g}" for name, value in rows[-1].items()), flush=True)
    envs.close()
    return _save(network, rows, Path(args.out))


def _row(seconds, steps, rewards, info, before, distribution) -> dict[str, float]:
    """Return the row of a rollout; its write amplification is that of the sampled actions."""
    host, relocated = (info[name] - before[name] for name in ("host_pages_written", "relocated_pages"))
    return {
        "cpu_seconds": round(seconds, 2),
        "decisions": steps,
        "reward_mean": rewards.mean().item(),
        # counters restart with each episode, so a rollout in which an episode ends has no value
        "write_amplification": 1 + relocated.sum() / host.sum() if host.min() > 0 else float("nan"),
        "entropy": distribution.entropy().mean().item(),
    }


def _save(network: SetNetwork, rows: list[dict[str, float]], path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    save_file(network.state_dict(), path)
    with path.with_suffix(".csv").open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    return path


if __name__ == "__main__":
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    for field in fields(Args):
        option = f"--{field.name.replace('_', '-')}"
        parser.add_argument(option, type=type(field.default), default=field.default)
    print(train(Args(**vars(parser.parse_args()))))
